// Tools that send events of double clicks, touches and keys, and those of a reader who looks away.
tools => {
  'use strict';
  const {page, CLICKS, elementOf, hears, isForbidden, numberOf} = tools;

  /* Send events that the mouse of this visit can't make, to what listens to them. Return how many were sent. */
  tools.gesture = () => {
    let sent = 0;
    const options = {bubbles: true, composed: true, cancelable: true};
    const send = (element, event) => { sent += 1; element.dispatchEvent(event); };
    const some = new Set(page.listening().slice(0, 500));
    for (const element of tools.elements(5000)) {
      if (element.hasAttribute('ondblclick') || element.hasAttribute('oncontextmenu') || element.ondblclick
        || element.oncontextmenu || element.ontouchstart) some.add(element);
    }
    if (page.global.has('dblclick') || page.global.has('contextmenu') || page.global.has('touchstart')) {
      some.add(document.body);
    }
    const on = (element, type) => (element === document.body && page.global.has(type)) || hears(element, [type]);
    for (const element of some) {
      if (sent >= 100) break;
      if (!element || !tools.isVisible(element) || isForbidden(element, tools.label(element))) continue;
      if (on(element, 'dblclick')) send(element, new MouseEvent('dblclick', {...options, detail: 2}));
      if (on(element, 'contextmenu')) send(element, new MouseEvent('contextmenu', {...options, button: 2}));
      if (on(element, 'touchstart') || on(element, 'touchend') || on(element, 'touchmove')) {
        const box = element.getBoundingClientRect();
        const touch = x => new Touch({identifier: 1, target: element, clientX: x, clientY: box.top + box.height / 2});
        const [from, to] = [box.left + box.width * 0.8, box.left + box.width * 0.2];
        for (const [type, x] of [['touchstart', from], ['touchmove', to], ['touchend', to]]) {
          const touches = type === 'touchend' ? [] : [touch(x)];
          send(element, new TouchEvent(type, {...options, touches, targetTouches: touches, changedTouches: [touch(x)]}));
        }
      }
      if (on(element, 'dragstart')) send(element, new DragEvent('dragstart', options));
    }
    return sent;
  };

  /* Return the elements that can have the focus and listen to keys, but for fields, and whether each is a slider.
     The listener of a slider may be that of an outer element. */
  tools.keyed = () => {
    const found = [];
    const sliders = [...document.querySelectorAll('[role=slider], [role=scrollbar], [role=spinbutton]')].slice(0, 100);
    for (const element of new Set([...sliders, ...page.listening()])) {
      const isSlider = sliders.includes(element);
      if (!isSlider && !hears(element, ['keydown', 'keyup'])) continue;
      if (element.tabIndex < 0 || !tools.isVisible(element)) continue;
      if (element.matches('input, textarea, select, button, a, summary, [contenteditable]') && !isSlider) continue;
      if (tools.isUsable(element)) found.push([numberOf(element), isSlider]);
    }
    return found;
  };
  /* Give an element the focus, and return whether it is there. */
  tools.focusOn = number => {
    const element = elementOf(number);
    element?.focus({preventScroll: true});
    return Boolean(element);
  };

  /* Let the mouse leave the window at its upper edge. Return the number of events. */
  tools.leaveWindow = () => {
    const root = document.documentElement;
    const options = {composed: true, view: window, clientX: Math.floor(innerWidth / 2), clientY: -1, relatedTarget: null};
    for (const [type, bubbles, on] of [['pointerout', true, root], ['pointerleave', false, root], ['mouseout', true, root],
      ['mouseleave', false, document.body], ['mouseleave', false, root], ['mouseleave', false, document]]) {
      const Kind = type.startsWith('pointer') ? PointerEvent : MouseEvent;
      on?.dispatchEvent(new Kind(type, {...options, bubbles}));
    }
    return 1;
  };

  /* Return whether the page listens to one of these events anywhere. */
  tools.listens = types => types.some(type => page.global.has(type) || typeof window['on' + type] === 'function'
    || typeof document['on' + type] === 'function' || page.listening().slice(0, 500).some(element => hears(element, [type])));

  /* Return a point of the window where a click touches no control, or null. */
  tools.harmlessPoint = () => {
    for (const y of [0.5, 0.3, 0.7, 0.9, 0.1]) {
      for (const x of [0.5, 0.03, 0.97, 0.25, 0.75]) {
        const point = {x: Math.floor(innerWidth * x), y: Math.floor(innerHeight * y)};
        const hit = tools.at(point.x, point.y);
        if (!hit || hit.closest('a, button, input, select, textarea, label, summary, video, audio, iframe, [role], [onclick]')) continue;
        let node = hit;
        while (node && node !== document.body && !hears(node, CLICKS)) node = tools.parent(node);
        if ((!node || node === document.body) && getComputedStyle(hit).cursor !== 'pointer') return point;
      }
    }
    return null;
  };

  /* Let the page believe that its reader left it for a moment, when it listens for that. */
  tools.lookAway = async () => {
    if (!tools.listens(['visibilitychange', 'focus', 'blur'])) return 0;
    const tell = (state, type) => {
      Object.defineProperty(document, 'visibilityState', {value: state, configurable: true});
      Object.defineProperty(document, 'hidden', {value: state === 'hidden', configurable: true});
      document.dispatchEvent(new Event('visibilitychange', {bubbles: true}));
      window.dispatchEvent(new FocusEvent(type));
    };
    tell('hidden', 'blur');
    await page.sleep(50);
    tell('visible', 'focus');
    delete document.visibilityState;
    delete document.hidden;
    return 2;
  };
}
