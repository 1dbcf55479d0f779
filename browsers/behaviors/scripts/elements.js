// Tools that the other scripts share: a bounded walk through the document with its shadow roots, and facts of elements.
tools => {
  'use strict';
  const page = window[Symbol.for('ghostfleet')];
  const MOST_ELEMENTS = 20000;
  const MOST_LABEL = 80;

  tools.page = page;

  /* Yield the elements of the document and of all its shadow roots. */
  tools.elements = function* (most = MOST_ELEMENTS) {
    let count = 0;
    const roots = [document];
    for (let i = 0; i < roots.length; i++) {
      page.observe(roots[i]);
      const walker = document.createTreeWalker(roots[i], NodeFilter.SHOW_ELEMENT);
      for (let element = walker.nextNode(); element; element = walker.nextNode()) {
        if (++count > most) return;
        const root = page.rootOf(element);
        if (root) roots.push(root);
        yield element;
      }
    }
  };

  // An area of an image map has no box of its own.
  const mapped = area => {
    const name = area.closest('map')?.name;
    return name ? [...document.images].find(image => image.useMap === `#${name}`) || null : null;
  };

  tools.isVisible = element => {
    if (element instanceof HTMLAreaElement) {
      const image = mapped(element);
      return image !== null && tools.isVisible(image);
    }
    if (!element.isConnected || element.checkVisibility?.({checkVisibilityCSS: true}) === false) return false;
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0;
  };

  tools.isUsable = element =>
    !element.disabled && element.getAttribute('aria-disabled') !== 'true' && !element.closest('[inert]');

  const short = text => text.slice(0, 2000).replace(/\s+/g, ' ').trim().slice(0, MOST_LABEL);

  tools.label = element => {
    for (const name of ['aria-label', 'value', 'title', 'alt']) {
      if (name === 'value' && element.localName !== 'input') continue;
      const text = element.getAttribute(name);
      if (name !== 'title' && name !== 'alt' && text) return short(text);
      if (text && !element.textContent.trim()) return short(text);
    }
    return short(element.textContent || '');
  };

  /* Return the parent, also across the border of a shadow root. */
  tools.parent = element => element.parentElement || (element.getRootNode() instanceof ShadowRoot
    ? element.getRootNode().host : null);

  tools.contains = (outer, inner) => {
    for (let node = inner; node; node = tools.parent(node)) if (node === outer) return true;
    return false;
  };

  tools.at = (x, y) => {
    let hit = document.elementFromPoint(x, y);
    for (let i = 0; hit && i < 50; i++) {
      const inner = page.rootOf(hit)?.elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return hit;
  };

  /* Bring an element into view. Return the point to click, and whether the element is on top there. */
  tools.place = element => {
    if (element instanceof HTMLAreaElement && mapped(element)) return {...tools.place(mapped(element)), isOnTop: false};
    element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const rectangles = element.getClientRects();
    const box = rectangles.length ? rectangles[0] : element.getBoundingClientRect();
    const x = Math.min(Math.max(box.left + box.width / 2, 0), innerWidth - 1);
    const y = Math.min(Math.max(box.top + box.height / 2, 0), innerHeight - 1);
    const hit = tools.at(x, y);
    return {x, y, isOnTop: hit !== null && (tools.contains(element, hit) || element.control === hit)};
  };

  /* Return the addresses of the links in the document, at most `most`. */
  tools.anchors = most => {
    const found = new Set();
    for (const element of tools.elements()) {
      if (found.size >= most) break;
      const isLink = element instanceof HTMLAnchorElement || element instanceof HTMLAreaElement;
      if (isLink && /^https?:/.test(element.protocol) && element.href.length < 4096) found.add(element.href);
    }
    return [...found];
  };
}
