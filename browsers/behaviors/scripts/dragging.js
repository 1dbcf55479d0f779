// Tools that drag boxes with the mouse.
tools => {
  'use strict';
  const {page, elementOf, hears, isForbidden, numberOf} = tools;
  const DRAG_MOVES = 12;
  const DRAG_MS = 16;

  /* Return the boxes that react to a press. */
  tools.draggable = () => {
    const found = [];
    for (const element of tools.elements()) {
      if (!hears(element, ['pointerdown', 'mousedown']) || !tools.isVisible(element) || !tools.isUsable(element)) continue;
      const box = element.getBoundingClientRect();
      const isBox = box.width >= 100 && box.height >= 30 && !element.matches('button, a, input, select, textarea, label');
      if (isBox && !isForbidden(element, tools.label(element))) found.push(numberOf(element));
    }
    return found;
  };

  /* Drag a box from its right to its left side, or the other way. */
  tools.drag = async (number, isRight = false) => {
    const element = elementOf(number);
    if (!element || !tools.isVisible(element)) return;
    const place = tools.place(element);
    const box = element.getBoundingClientRect();
    const y = place.y;
    const sides = [Math.min(box.left + box.width * 0.85, innerWidth - 2), Math.max(box.left + box.width * 0.1, 1)];
    const [from, to] = isRight ? sides.reverse() : sides;
    const target = tools.at(from, y) || element;
    const on = tools.contains(element, target) ? target : element;
    const send = (type, x, pressed) => {
      const options = {bubbles: true, composed: true, cancelable: true, view: window, clientX: x, clientY: y, screenX: x,
        screenY: y, button: /move$/.test(type) ? -1 : 0, buttons: pressed};
      on.dispatchEvent(type.startsWith('pointer')
        ? new PointerEvent(type, {...options, pointerId: 1, pointerType: 'mouse', isPrimary: true})
        : new MouseEvent(type, {...options, button: 0}));
    };
    for (const type of ['pointerdown', 'mousedown']) send(type, from, 1);
    for (let i = 1; i <= DRAG_MOVES; i++) {
      await page.sleep(DRAG_MS);
      for (const type of ['pointermove', 'mousemove']) send(type, from + (to - from) * i / DRAG_MOVES, 1);
    }
    for (const type of ['pointerup', 'mouseup']) send(type, to, 0);
  };
}
