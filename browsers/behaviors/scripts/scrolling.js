// Tools that scroll the document and the boxes in it.
tools => {
  'use strict';
  const MOST_BOXES = 30;
  const SMALLEST = 20;
  const boxes = [];

  const main = () => document.scrollingElement || document.documentElement;
  const overflows = style => /auto|scroll|overlay/.test(style);

  /* Return the number of boxes that can be scrolled, the document not counted. The frame itself comes into view. */
  tools.boxes = () => {
    if (window !== window.top) document.documentElement.scrollIntoView({block: 'nearest', behavior: 'instant'});
    for (const element of tools.elements()) {
      if (boxes.length >= MOST_BOXES) break;
      const down = element.scrollHeight - element.clientHeight > SMALLEST && element.clientHeight > SMALLEST;
      const across = element.scrollWidth - element.clientWidth > SMALLEST && element.clientWidth > SMALLEST;
      if ((!down && !across) || element === main() || element === document.body || boxes.includes(element)) continue;
      const style = getComputedStyle(element);
      if ((down && overflows(style.overflowY)) || (across && overflows(style.overflowX))) boxes.push(element);
    }
    return boxes.length;
  };

  /* Return the width and the height of the frame's visible part, and the number of frames around the frame. */
  tools.room = () => {
    let depth = 0;
    for (let frame = window; frame !== frame.parent && depth < 100; frame = frame.parent) depth += 1;
    return [innerWidth, innerHeight, depth];
  };
  /* Bring the frame into view. */
  tools.show = () => {
    document.documentElement.scrollIntoView({block: 'nearest', behavior: 'instant'});
    return tools.room();
  };

  /* Scroll one step, and return the position. Number 0 is the document; `back` is up or to the beginning of a row.
     A fine step is a quarter of the box. */
  tools.scroll = (number, isAcross, isBack, isFine = false) => {
    const box = number === 0 ? main() : boxes[number - 1];
    if (!box || !box.isConnected) return {top: 0, view: 0, height: 0};
    if (number > 0) {
      const at = box.getBoundingClientRect();
      if (at.bottom < 0 || at.top > innerHeight) box.scrollIntoView({block: 'center', behavior: 'instant'});
    }
    const view = isAcross ? box.clientWidth : box.clientHeight;
    const length = (isFine ? view / 4 : Math.max(view * 0.75, Math.min(view, 100))) * (isBack ? -1 : 1);
    const before = box.scrollLeft;
    box.scrollBy({top: isAcross ? 0 : length, left: isAcross && before >= 0 ? length : 0, behavior: 'instant'});
    // A row that begins at its right end, such as one of Arabic text, has negative positions.
    if (isAcross && before <= 0 && box.scrollLeft === before) box.scrollBy({left: -length, behavior: 'instant'});
    return isAcross ? {top: Math.abs(box.scrollLeft), view, height: box.scrollWidth}
      : {top: Math.abs(box.scrollTop), view, height: box.scrollHeight};
  };

  /* Return the position of the document without scrolling. */
  tools.position = () => ({top: main().scrollTop, view: main().clientHeight, height: main().scrollHeight});

  /* Return whether the document has no scroll bar, so that only scripts scroll it. */
  tools.hidesScrollBar = () => [document.documentElement, document.body].some(
    element => element && /hidden|clip/.test(getComputedStyle(element).overflowY));

  /* Send the event of a mouse wheel to pages that move their parts by themselves. */
  tools.wheel = () => {
    const on = document.elementFromPoint(innerWidth / 2, innerHeight / 2) || document.body;
    on.dispatchEvent(new WheelEvent('wheel', {deltaY: 400, bubbles: true, composed: true, cancelable: true}));
    return 1;
  };

  /* Return whether the page reacts to what comes into view. */
  tools.watchesView = () => tools.page.global.has('intersection') || tools.listens(['scroll']);

  tools.scrollHome = () => {
    for (const box of boxes) if (box.isConnected) box.scrollTo({top: 0, left: 0, behavior: 'instant'});
    window.scrollTo({top: 0, left: 0, behavior: 'instant'});
  };
}
