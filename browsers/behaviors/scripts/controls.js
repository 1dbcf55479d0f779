// Tools that know a control: whether it may be touched, what it listens to, its kind, its family and its number.
tools => {
  'use strict';
  const page = tools.page;
  // No control with one of these words is touched: it buys, sends, deletes, or ends a session.
  const FORBIDDEN = new RegExp(tools.words.forbidden, 'iu');
  const FORBIDDEN_NAME = /log-?_?out|sign-?_?out|delete|remove|check-?out|purchase|buy|unsubscribe|add-?to-?(cart|basket)/i;
  // What closes a window is touched after the other controls in it.
  const CLOSE = new RegExp(`^(${tools.words.close}|${tools.words.leave})`, 'i');
  const CLOSE_NAME = /(^|[-_\s])(close|closer|dismiss|backdrop|shut)([-_\s]|$)/i;
  const CLICKS = ['click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'touchstart', 'touchend'];
  const ROLES = new Set(['button', 'tab', 'switch', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'checkbox',
    'radio', 'treeitem', 'combobox', 'link']);
  const TOGGLES = '[aria-expanded],[aria-controls],[aria-haspopup],[data-toggle],[data-bs-toggle],[data-target],[data-tab],'
    + '[popovertarget],[commandfor]';

  const known = new Map();  // number -> element
  const numbers = new WeakMap();
  let last = 0;

  const hears = (element, types) => {
    const heard = page.heard(element);
    return types.some(type => heard?.has(type) || typeof element['on' + type] === 'function');
  };
  const inPostForm = element => {
    const form = element.form || element.closest('form');
    return Boolean(form) && (form.getAttribute('method') || '').toLowerCase() === 'post' && !isWholePage(form);
  };
  // Some frameworks of servers put the whole page into a form. Its submit buttons are left alone like others.
  const isWholePage = form => form.querySelector('nav, main, [name="__VIEWSTATE"]') !== null;
  const isSubmit = element => (element.localName === 'button' && element.type !== 'button' && Boolean(element.form))
    || (element.localName === 'input' && (element.type === 'submit' || element.type === 'image' || element.type === 'reset'));
  const names = element => `${element.id} ${element.getAttribute('class') || ''} ${element.getAttribute('name') || ''} `
    + (element.getAttribute('href') || '').slice(0, 500);

  /* Click on nothing in the windows of a consent platform, which has its answer. */
  let leftAlone = '';
  tools.leaveAlone = selectors => {
    leftAlone = selectors.filter(selector => {
      try { return document.querySelector(selector) || true; } catch { return false; /* The browser does not know the selector. */ }
    }).join();
  };
  const isLeftAlone = element => {
    for (let node = leftAlone && element; node; node = node.getRootNode().host) {
      const found = node.closest(leftAlone);
      if (found && found !== document.body && found !== document.documentElement) return true;
    }
    return false;
  };

  // A control that opens something is harmless, and so is a long text, such as a question about deleting.
  const isForbidden = (element, label, kind = 'button') => isLeftAlone(element) || kind !== 'toggle'
    && ((label.split(' ').length <= 5 && FORBIDDEN.test(label)) || FORBIDDEN_NAME.test(names(element)));
  const fragmentOf = element => {
    const url = new URL(element.href, location.href);
    return url.href.split('#')[0] === location.href.split('#')[0] && url.hash ? url.hash : '';
  };

  const isCloser = (element, label) => {
    if (CLOSE.test(label) || CLOSE_NAME.test(`${element.id} ${element.getAttribute('class') || ''}`)) return true;
    const box = element.getBoundingClientRect();
    return box.width >= innerWidth * 0.95 && box.height >= innerHeight * 0.95 && element.querySelector('button, [role=button], a[href]') !== null;
  };

  // The kind of a candidate decides its turn. Links come last, since they may change the route.
  const kindOf = (element, isPointer) => {
    const name = element.localName;
    const role = element.getAttribute('role');
    if (name === 'summary') return 'toggle';
    if (name === 'a' && element.hasAttribute('href') && element instanceof HTMLAnchorElement) {
      const href = element.getAttribute('href').trim();
      if (/^javascript:/i.test(href)) return 'button';
      if (!/^https?:/.test(element.protocol)) return null;
      if (element.hasAttribute('download')) return 'download';
      const fragment = href === '#' ? '#' : fragmentOf(element);
      if (role === 'tab' || element.matches(TOGGLES)) return 'toggle';
      const scripted = hears(element, CLICKS) || page.global.has('click') || ancestorHears(element)
        || page.global.has('navigate') || typeof window.navigation?.onnavigate === 'function';
      if (fragment && fragment !== '#') {
        const isPlace = document.getElementById(decodeURIComponentSafely(fragment.slice(1)));
        return isPlace && !scripted && !hearsFragments() ? null : 'hash';
      }
      if (href === '#' || href === '') return scripted ? 'button' : null;
      if (element.target && element.target !== '_self') {
        if ([...document.querySelectorAll('iframe[name]')].some(frame => frame.name === element.target)) return 'button';
        return element.target === '_blank' && element.origin === location.origin ? 'window' : null;
      }
      if (element.origin !== location.origin) return null;
      return scripted ? 'link' : null;
    }
    if (name === 'area') return hears(element, CLICKS) && element.getAttribute('href') !== null
      && (fragmentOf(element) || /^(#|javascript:)/.test(element.getAttribute('href').trim())) ? 'button' : null;
    if (isSubmit(element)) return null;
    if (role === 'tab' || element.matches(TOGGLES)) return 'toggle';
    if (name === 'button' || (name === 'input' && element.type === 'button')) return 'button';
    if (name === 'input') {
      if (/^(checkbox|radio)$/.test(element.type)) return 'choice';
      // A field that can't be typed in opens something, such as a calendar.
      const opens = element.readOnly && /^(text|search)$/.test(element.type);
      return opens && (hears(element, [...CLICKS, 'focus']) || ancestorHears(element)) ? 'toggle' : null;
    }
    if (name === 'label') {
      const isBox = element.control && /^(checkbox|radio)$/.test(element.control.type);
      return isBox && !tools.isVisible(element.control) ? 'choice' : null;
    }
    if (name === 'select' || name === 'textarea' || name === 'option' || name === 'html' || name === 'body') return null;
    if (ROLES.has(role) || hears(element, CLICKS)) return 'button';
    if (name === 'video' || name === 'audio') return null;
    return isPointer ? 'pointer' : null;
  };
  /* Return whether the document changes with its fragment: by a listener, or by style rules with :target. */
  const hearsFragments = () => page.global.has('hashchange') || typeof window.onhashchange === 'function'
    || tools.hasTargetRules();
  const ancestorHears = element => {
    let node = tools.parent(element);
    for (let i = 0; node && i < 30; i++, node = tools.parent(node)) if (hears(node, CLICKS)) return true;
    return false;
  };
  const decodeURIComponentSafely = text => {
    try { return decodeURIComponent(text); } catch { return text; }
  };

  // The state of a control is no part of its family.
  const STATE = new RegExp('(^|[-_])(active|current|selected|checked|open|opened|show|shown|visible|hidden|expanded|'
    + 'collapsed|closed|disabled|enabled|focus|hover|on|off)$', 'i');
  const classOf = element => (element.getAttribute('class') || '').split(/\s+/)
    .map(word => word.replace(/\d+/g, '')).filter(word => word && !STATE.test(word)).sort().slice(0, 6).join('.');
  const familyOf = element => {
    const parent = tools.parent(element);
    return [element.localName, element.getAttribute('role') || '', element.type || '', classOf(element),
      parent ? parent.localName + '.' + classOf(parent) : ''].join('|').slice(0, 300);
  };
  // A control without a text has a drawing or a picture as its label, or that on which it lies.
  const drawingOf = element => {
    const part = element.querySelector('path[d], use, img') || tools.parent(element)?.querySelector(':scope > img');
    return (part?.getAttribute('d') || part?.getAttribute('href') || part?.getAttribute('src') || '').slice(0, 100);
  };
  const keyOf = (element, label) => [element.localName, element.id, element.getAttribute('role') || '',
    label || drawingOf(element), (element.getAttribute('href') || '').slice(0, 200)].join('|').slice(0, 400);

  const numberOf = element => {
    let number = numbers.get(element);
    if (number === undefined) {
      number = ++last;
      numbers.set(element, number);
      known.set(number, new WeakRef(element));
    }
    return number;
  };
  const elementOf = number => {
    const element = known.get(number)?.deref();
    return element && element.isConnected ? element : null;
  };

  Object.assign(tools, {
    CLICKS, TOGGLES, elementOf, familyOf, hears, inPostForm, isCloser, isForbidden, isSubmit, keyOf, kindOf, names, numberOf,
  });
}
