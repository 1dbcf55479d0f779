// Tools that find what a person would click on, and which controls belong together.
tools => {
  'use strict';
  const {page, words, CLICKS, familyOf, hears, inPostForm, isForbidden, kindOf, names, numberOf} = tools;
  const MOST_CANDIDATES = 400;
  const MOST_POINTERS = 3000;
  const MOST_PAIRED = 60;
  const MOST_LEVELS = 5;
  const MORE = new RegExp(words.more, 'i');
  // Controls of one pair lead to both directions: the earlier and the later month, the smaller and the larger map.
  const BACK = new RegExp(`^\\W*(${words.back})(?!\\p{L})|^[‹«←◀◂❮<−–-]$`, 'iu');
  const FORTH = new RegExp(`^\\W*(${words.forth})(?!\\p{L})|^[›»→▶▸❯>+]$`, 'iu');
  const BACK_NAME = /(^|[\s_-])(prev(ious)?|left|backward|zoom-?_?out|minus|decrement|smaller)([\s_-]|$)/i;
  const FORTH_NAME = /(^|[\s_-])(next|right|forward|zoom-?_?in|plus|increment|larger)([\s_-]|$)/i;

  // Controls that look the same are numbered. An element keeps its number, also when others come before it. A new
  // element takes the number of one that has gone, since it may be the same control, drawn again.
  const holders = new Map();  // key -> the elements with this key
  const named = new WeakMap();  // element -> its key when it was numbered, and its number
  const numbered = (element, key) => {
    const before = named.get(element);
    if (before?.key === key) return `${key}|${before.at}`;
    if (!holders.has(key)) holders.set(key, []);
    const all = holders.get(key);
    const isFree = reference => {
      const holder = reference.deref();
      return !holder?.isConnected || named.get(holder).key !== key;
    };
    const free = all.findIndex(isFree);
    const at = free < 0 ? all.length : free;
    all[at] = new WeakRef(element);
    named.set(element, {key, at});
    return `${key}|${at}`;
  };

  // Some servers put the whole page into a form, so that links to the next pages of a table lie in it.
  const isPageLink = (element, label) => element.localName === 'a' && element.hasAttribute('href')
    && (/^\d{1,4}$/.test(label) || /^[›»→❯>]+$/.test(label) || MORE.test(label));

  const headingOf = (element, label) => {
    if (label.length > 30) return 0;
    if (BACK.test(label)) return -1;
    if (FORTH.test(label)) return 1;
    const name = `${element.id} ${element.getAttribute('class') || ''} ${element.getAttribute('name') || ''}`;
    return BACK_NAME.test(name) ? -1 : FORTH_NAME.test(name) ? 1 : 0;
  };
  /* Give the two controls of each pair one name: one that leads back, and the nearest one that leads forth. */
  const pair = (found, elements) => {
    // Two controls side by side without any text, and nothing else like them, lead to both directions.
    const beside = new Map();
    found.forEach((each, at) => {
      if (each.kind !== 'button' || each.heading || /\p{L}{2}/u.test(each.label)) return;
      const parent = tools.parent(elements[at]);
      beside.set(parent, [...(beside.get(parent) || []), each]);
    });
    for (const two of beside.values()) {
      if (two.length === 2 && two[0].family === two[1].family) [two[0].heading, two[1].heading] = [-1, 1];
    }
    const heading = found.map((each, at) => [each, elements[at]]).filter(([each]) => each.heading).slice(0, MOST_PAIRED);
    for (const [back, element] of heading) {
      if (back.heading > 0) continue;
      let around = tools.parent(element);
      for (let level = 0; around && level < MOST_LEVELS && !back.pair; level++, around = tools.parent(around)) {
        const other = heading.find(([each, near]) => each.heading > 0 && !each.pair && tools.contains(around, near));
        if (other) back.pair = other[0].pair = back.key;
      }
    }
  };

  /* Return what can be clicked. A key names the same control after the page has drawn it again. */
  tools.clickable = () => {
    const found = [];
    const elements = [];
    let delegates = page.global.has('click') || page.global.has('mousedown') || page.global.has('pointerdown')
      || page.listening().length > 0;
    let pointers = 0;
    let shownLater = null;
    // Animations of drawings begin by events of other elements, which need no listener.
    const begins = new Set([...document.querySelectorAll('[begin*=".click"], [begin*=".mouse"]')].slice(0, 100)
      .flatMap(each => [...each.getAttribute('begin').matchAll(/([\w-]+)\.(?:click|mouse)/g)].map(match => match[1])));
    for (const element of tools.elements()) {
      if (found.length >= MOST_CANDIDATES) break;
      let isPointer = begins.has(element.id);
      delegates ||= typeof element.onclick === 'function';  // an outer element comes before its parts
      if (delegates && pointers < MOST_POINTERS && !(element instanceof SVGElement && element.localName !== 'svg')) {
        pointers += 1;
        if (getComputedStyle(element).cursor === 'pointer') {
          const parent = tools.parent(element);
          isPointer = !parent || getComputedStyle(parent).cursor !== 'pointer';
        }
      }
      const kind = kindOf(element, isPointer);
      if (kind === null || !tools.isUsable(element)) continue;
      if (!tools.isVisible(element) && !tools.isRevealed(element, shownLater ??= tools.revealed())) continue;
      const label = tools.label(element);
      if (inPostForm(element) && kind !== 'toggle' && !isPageLink(element, label)) continue;
      if (isForbidden(element, label, kind)) continue;
      elements.push(element);
      found.push({
        label, heading: kind === 'choice' ? 0 : headingOf(element, label), pair: '',
        number: numberOf(element), key: numbered(element, tools.keyOf(element, label)), family: familyOf(element), kind,
        isArea: isArea(element, kind), isCloser: tools.isCloser(element, label),
        isMore: MORE.test(label) || /more|next/i.test(names(element)) && kind !== 'link',
      });
    }
    pair(found, elements);
    return found;
  };

  // A large box that hears clicks itself may act by their place, such as the leaves of a book.
  const isArea = (element, kind) => {
    if (kind !== 'button' || element.matches('a, button, input, label, summary') || !hears(element, CLICKS)) return false;
    const box = element.getBoundingClientRect();
    return box.width >= 200 && box.height >= 100;
  };
}
