// Tools that find what reacts to a mouse over it.
tools => {
  'use strict';
  const {page, familyOf, hears, numberOf, styleRules} = tools;
  const MOST_HOVERS = 80;
  const MOST_RULES = 5000;
  const HOVERS = ['mouseenter', 'mouseover', 'mousemove', 'pointerenter', 'pointerover', 'pointermove'];
  const BUBBLING = ['mouseover', 'mousemove', 'pointerover', 'pointermove'];
  const MOST_DELEGATED = 40;
  const MOST_SELECTORS = 100;
  const MOST_HOVERED_LINKS = 20;
  // Parts of the page that a listener of an outer element is usually for.
  const HOVERED = 'li,figure,article,[role=menuitem],[role=tab],[aria-haspopup],[class*=menu],[class*=nav-],'
    + '[class*=dropdown],[class*=submenu],[class*=tooltip],[class*=hover],[class*=card],[class*=thumb],[class*=preview]';

  /* Return what reacts to a mouse over it. */
  tools.hoverable = () => {
    const found = new Map();
    const add = element => {
      if (found.size < MOST_HOVERS && !found.has(element) && element instanceof Element && tools.isVisible(element)) {
        const isTrack = hears(element, ['mousemove', 'pointermove']) && element.getBoundingClientRect().width >= 100;
        found.set(element, {number: numberOf(element), family: familyOf(element), isTrack});
      }
    };
    // One listener of an outer element may serve parts of it, which have no listeners of their own.
    let delegated = 0;
    let links = 0;
    const addDelegated = outer => {
      for (const element of outer.querySelectorAll('a[href]')) {
        if (links >= MOST_HOVERED_LINKS) break;
        if (found.has(element) || !/^https?:$/.test(element.protocol)) continue;
        links += 1;
        add(element);
      }
      for (const element of outer.querySelectorAll(HOVERED + ',[data-tooltip],[data-tip],[data-hover],[data-menu],[data-preview]')) {
        if (delegated >= MOST_DELEGATED) return;
        if (element.querySelector(HOVERED) || found.has(element)) continue;
        delegated += 1;
        add(element);
      }
    };
    const basesOf = rules => {
      const bases = new Set();
      for (const rule of rules.filter(each => each.selectorText.includes(':hover'))) {
        for (const part of rule.selectorText.split(',')) {
          const [base, after] = part.split(/:hover/);
          const shows = /\S/.test((after || '').replace(/^[^\s>+~]*/, '')) || rule.style.backgroundImage
            || rule.style.content || rule.cssText.includes('url(');
          if (shows && base.trim() && bases.size < MOST_SELECTORS) bases.add(base.trim());
        }
      }
      return bases;
    };
    const roots = [document];
    for (const element of tools.elements()) {
      const root = page.rootOf(element);
      if (root) roots.push(root);
      if (hears(element, HOVERS) || element.hasAttribute('aria-haspopup')) add(element);
      if (hears(element, BUBBLING)) addDelegated(element);
    }
    const isGlobal = BUBBLING.some(type => page.global.has(type) || [window, document, document.documentElement,
      document.body].some(each => typeof each?.['on' + type] === 'function'));
    if (isGlobal) addDelegated(document);
    const budget = {left: MOST_RULES};
    for (const root of roots.slice(0, 50)) {
      for (const base of basesOf(styleRules(root, budget))) {
        try {
          let count = 0;
          for (const element of root.querySelectorAll(base)) {
            if (++count > 10) break;
            add(element);
          }
        } catch { /* The first part of the selector is no selector. */ }
      }
    }
    return [...found.values()];
  };
}
