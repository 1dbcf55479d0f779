// Tools that aim at a control and click on it, and that find the button behind a choice.
tools => {
  'use strict';
  const {elementOf, inPostForm, isCloser, isForbidden, isSubmit} = tools;
  const RESET = new RegExp(`^(${tools.words.reset})`, 'i');
  const APPLY = new RegExp(`^(${tools.words.apply})`, 'i');
  const CONTROLS = 'a, button, input, select, textarea, label, summary, video, audio, iframe, [role=button], [role=link],'
    + ' [role=tab], [onclick]';
  /* Return the control within an element that a click on `hit` would touch, or null. */
  const innerControl = (element, hit) => {
    for (let node = hit; node && node !== element; node = tools.parent(node)) if (node.matches(CONTROLS)) return node;
    return null;
  };

  let aimed = [];  // the control that is about to be clicked, and the elements around it

  /* Return the point to click on, or null when the control is gone. */
  tools.aim = number => {
    const element = elementOf(number);
    if (!element || !tools.isUsable(element)) return null;
    aimed = [];
    for (let node = element; node && aimed.length < 6; node = tools.parent(node)) aimed.push(new WeakRef(node));
    if (!tools.isVisible(element)) {
      return tools.isRevealed(element, tools.revealed()) ? {x: 0, y: 0, isOnTop: false, state: stateOf(element)} : null;
    }
    const place = tools.place(element);
    const inner = place.isOnTop ? innerControl(element, tools.at(place.x, place.y)) : null;
    const isHarmful = inner && (isSubmit(inner) || inPostForm(inner) || isForbidden(inner, tools.label(inner)));
    return {...place, isOnTop: place.isOnTop && !isHarmful, state: stateOf(element)};
  };
  // The state of a control that opens and closes something is in its attributes, or in those of the elements around it.
  const stateOf = element => {
    const parts = [];
    for (let node = element, i = 0; node && i < 3; i++, node = tools.parent(node)) {
      parts.push(...['class', 'aria-expanded', 'aria-selected', 'aria-pressed', 'open'].map(name => node.getAttribute(name)));
    }
    // The word of a control changes with its state, such as "show" and "hide", but a number in it does not tell a state.
    parts.push(tools.label(element).replace(/\d+/g, ''));
    return parts.join('|').slice(0, 2000);
  };
  /* Return whether a control is there, and has another state than before it was touched. */
  tools.hasTurned = (number, state) => {
    const element = elementOf(number);
    return element !== null && stateOf(element) !== state;
  };

  /* Return a point at the side of a large box; null when the box is gone, or another control lies there. */
  tools.aimAside = (number, share) => {
    const element = elementOf(number);
    if (!element || !tools.isVisible(element) || !tools.isUsable(element)) return null;
    const {y} = tools.place(element);
    const box = element.getBoundingClientRect();
    const x = Math.min(Math.max(box.left + box.width * share, 0), innerWidth - 1);
    const hit = tools.at(x, y);
    return hit && tools.contains(element, hit) && !innerControl(element, hit) ? {x, y, isOnTop: true} : null;
  };

  /* Return whether something has come over the window since this was asked for the last time. */
  let over = null;
  tools.hasNewOverlay = () => {
    let node = tools.at(innerWidth / 2, innerHeight / 2);
    while (node && node !== document.body && getComputedStyle(node).position !== 'fixed') node = tools.parent(node);
    const isLarge = node && node !== document.body && node.getBoundingClientRect().width >= innerWidth * 0.6;
    const before = over?.deref();
    over = isLarge ? new WeakRef(node) : null;
    return Boolean(isLarge) && node !== before;
  };

  /* Click without the mouse, since something lies over the control. */
  tools.push = number => {
    const element = elementOf(number);
    if (!element) return;
    for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup']) {
      const Kind = type.startsWith('pointer') ? PointerEvent : MouseEvent;
      element.dispatchEvent(new Kind(type, {bubbles: true, composed: true, cancelable: true, button: 0}));
    }
    if (typeof element.click === 'function') element.click();
    else element.dispatchEvent(new MouseEvent('click', {bubbles: true, composed: true, cancelable: true}));
  };

  const MOST_BUTTONS = 3;
  const MOST_AROUND = 3;
  /* Return the button that stands behind a field or a choice and acts on the value, or null. */
  tools.buttonOf = (field, around = tools.parent(field)) => {
    for (let i = 0; around && around !== document.body && i < MOST_AROUND; i++, around = tools.parent(around)) {
      const all = [...around.querySelectorAll('button, input[type=button], [role=button]')];
      const own = all.filter(each => !field.isConnected || field.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
      const fit = own.filter(each => !isSubmit(each) && !each.matches(tools.TOGGLES) && !inPostForm(each) && tools.isVisible(each)
        && tools.isUsable(each) && each !== field && !RESET.test(tools.label(each)) && !isCloser(each, tools.label(each))
        && !isForbidden(each, tools.label(each)));
      const found = fit.find(each => APPLY.test(tools.label(each)));
      if (found) return found;
      if (all.length > MOST_BUTTONS) return null;
      if (fit.length) return fit[0];
    }
    return null;
  };
  const CHOICES = 'li, label, [role^=menuitem], [role=option], [role=checkbox], [role=radio], [role=switch], input[type=checkbox], input[type=radio]';
  /* Return the place of the button that a choice waits for, such as OK in a list of filters, or null. */
  tools.applyPlace = () => {
    const around = aimed.map(reference => reference.deref()).filter(Boolean);
    const [choice] = around;
    if (!choice?.matches(CHOICES)) return null;
    const start = around.slice(1).find(each => each.isConnected);
    const button = start ? tools.buttonOf(choice, start) : null;
    return button && APPLY.test(tools.label(button)) ? tools.place(button) : null;
  };
}
