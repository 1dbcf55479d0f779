// Tools that scroll the document and the boxes in it.
tools => {
  'use strict';
  const MOST_BOXES = 30;
  const SMALLEST = 20;
  const MOST_WHEELED = 5;
  const MOST_FRAME_MS = 100;
  const MOST_DRAW_MS = 1000;
  const MOST_UNDRAWN = 2;
  const boxes = [];

  const overflows = style => /auto|scroll|overlay/.test(style);
  /* Return what scrolls the document: its root, or its body when the root is held. */
  const main = () => {
    const root = document.scrollingElement || document.documentElement;
    const body = document.body;
    if (!body || root === body || !/hidden|clip/.test(getComputedStyle(document.documentElement).overflowY)) return root;
    return body.scrollHeight > body.clientHeight + 2 && overflows(getComputedStyle(body).overflowY) ? body : root;
  };

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

  /* Put a box back to its beginning. Return whether it scrolls down and across. */
  tools.isGrid = number => {
    const box = boxes[number - 1];
    if (!box || !box.isConnected) return false;
    box.scrollTo({top: 0, left: 0, behavior: 'instant'});
    return box.scrollHeight - box.clientHeight > SMALLEST && box.scrollWidth - box.clientWidth > SMALLEST;
  };

  /* Return how many boxes were known, and how many are there now. */
  tools.newBoxes = () => [boxes.length, tools.boxes()];

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

  /* Return the document, for number 0, or a box; undefined for a box that is no longer in the document. */
  const boxOf = number => {
    const box = number === 0 ? main() : boxes[number - 1];
    return box?.isConnected ? box : undefined;
  };
  const positionOf = (number, isAcross) => {
    const box = boxOf(number);
    if (!box) return {top: 0, view: 0, height: 0};
    return isAcross ? {top: Math.abs(box.scrollLeft), view: box.clientWidth, height: box.scrollWidth}
      : {top: Math.abs(box.scrollTop), view: box.clientHeight, height: box.scrollHeight};
  };

  /* Wait until the browser has drawn a frame. Return false when this takes longer than `most` milliseconds. */
  const frame = most => Promise.race([
    new Promise(resolve => requestAnimationFrame(() => tools.page.sleep(0).then(() => resolve(true)))),
    tools.page.sleep(most).then(() => false),
  ]);
  let undrawn = 0;
  /* Wait until the browser has drawn the document. Only then it tells listeners of `scroll` and of what comes into view
     about a step, and on a busy machine this may be long after the step. A document that is not drawn, such as that of
     a hidden frame, is not waited for again and again. */
  const drawn = async () => {
    if (undrawn >= MOST_UNDRAWN || document.hidden || innerWidth === 0 || innerHeight === 0) return;
    undrawn = await frame(MOST_DRAW_MS) ? 0 : undrawn + 1;
  };

  /* Scroll one step, wait until it is drawn, and return the position. */
  tools.scrollStep = async (number, isAcross, isBack, isFine) => {
    tools.scroll(number, isAcross, isBack, isFine);
    await drawn();
    return positionOf(number, isAcross);
  };

  /* Scroll one step, and return the position. Number 0 is the document; `back` is up or to the beginning of a row.
     A fine step is a quarter of the box. */
  tools.scroll = (number, isAcross, isBack, isFine = false) => {
    const box = boxOf(number);
    if (!box) return positionOf(number, isAcross);
    if (number > 0) {
      const at = box.getBoundingClientRect();
      if (at.bottom < 0 || at.top > innerHeight) box.scrollIntoView({block: 'center', behavior: 'instant'});
    }
    const view = isAcross ? box.clientWidth : box.clientHeight;
    const part = tools.page.global.has('narrow') ? 0.3 : 0.75;
    const length = (isFine ? view / 4 : Math.max(view * part, Math.min(view, 100))) * (isBack ? -1 : 1);
    const before = box.scrollLeft;
    box.scrollBy({top: isAcross ? 0 : length, left: isAcross && before >= 0 ? length : 0, behavior: 'instant'});
    // A row that begins at its right end, such as one of Arabic text, has negative positions.
    if (isAcross && before <= 0 && box.scrollLeft === before) box.scrollBy({left: -length, behavior: 'instant'});
    return positionOf(number, isAcross);
  };

  /* Scroll the document through several views, and let the browser show each one, until the document reacts. */
  tools.scrollThrough = async most => {
    const before = tools.page.counts();
    let at = tools.scroll(0, false, false);
    for (let i = 1; i < most; i++) {
      await frame(MOST_FRAME_MS);
      const now = tools.page.counts();
      const hasReacted = now.changes !== before.changes || now.pending > 0 || main().scrollHeight !== at.height;
      if (hasReacted || at.top + at.view >= at.height - 2) break;
      at = tools.scroll(0, false, false);
    }
    return at;
  };

  /* Return the position of the document without scrolling. */
  tools.position = () => positionOf(0, false);

  /* Scroll the document to its beginning in one go, wait until this is drawn, and return the position. */
  tools.toTop = async () => {
    const box = main();
    if (box.scrollTop === 0) box.scrollTo({top: 1, behavior: 'instant'});
    box.scrollTo({top: 0, behavior: 'instant'});
    await drawn();
    return tools.position();
  };

  /* Return whether the document has no scroll bar, so that only scripts scroll it. */
  tools.hidesScrollBar = () => [document.documentElement, document.body].some(
    element => element && /hidden|clip/.test(getComputedStyle(element).overflowY));

  /* Send the event of a mouse wheel to pages that move their parts by themselves; number 0 is the page. */
  const wheeled = [];
  tools.wheel = (number = 0, isBack = false) => {
    const box = number === 0 ? null : wheeled[number - 1];
    if (box && (!box.isConnected || !tools.isVisible(box))) return 0;
    const on = box || document.elementFromPoint(innerWidth / 2, innerHeight / 2) || document.body;
    const deltaY = (box ? Math.max(50, Math.min(400, box.clientHeight * 0.75)) : 400) * (isBack ? -1 : 1);
    on.dispatchEvent(new WheelEvent('wheel', {deltaY, bubbles: true, composed: true, cancelable: true}));
    return 1;
  };
  /* Return the number of boxes that listen to the wheel. */
  tools.wheelBoxes = () => {
    for (const element of tools.page.listening()) {
      if (wheeled.length >= MOST_WHEELED) break;
      const isBox = tools.page.heard(element)?.has('wheel') && element.clientHeight > SMALLEST && tools.isVisible(element);
      if (isBox && !wheeled.includes(element)) wheeled.push(element);
    }
    return wheeled.length;
  };

  /* Return whether the page reacts to what comes into view. */
  tools.watchesView = () => tools.page.global.has('intersection') || tools.listens(['scroll']);

  /* Scroll the page to its middle. */
  tools.toMiddle = () => main().scrollTo({top: (main().scrollHeight - main().clientHeight) / 2, behavior: 'instant'});

  tools.scrollHome = () => {
    for (const box of [...boxes, main()]) if (box.isConnected) box.scrollTo({top: 0, left: 0, behavior: 'instant'});
    window.scrollTo({top: 0, left: 0, behavior: 'instant'});
  };
}
