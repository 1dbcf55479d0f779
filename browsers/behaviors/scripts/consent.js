// Tools that agree to cookies, by the interface of the consent platform or by the label of the button.
tools => {
  'use strict';
  const YES = new RegExp(`^\\W*(${tools.words.agree})\\W*$`, 'iu');
  const ABOUT = /cookie|consent|gdpr|dsgvo|privacy|privat|datenschutz|ccpa|cmp|onetrust|didomi|qc-cmp|usercentrics|truste|evidon|klaro|tarteaucitron|axeptio|iubenda|sp_message|notice|banner|age-?(gate|verif)|overlay|modal|dialog|wall/i;
  const BUTTONS = 'button, a, input[type=button], input[type=submit], [role=button], [onclick]';
  const PLATFORMS = [
    ['onetrust', () => window.OneTrust?.AllowAll],
    ['didomi', () => window.Didomi?.setUserAgreeToAll && (() => { window.Didomi.setUserAgreeToAll(); })],
    ['cookiebot', () => window.Cookiebot?.submitCustomConsent && (() => { window.Cookiebot.submitCustomConsent(true, true, true); })],
    ['usercentrics', () => window.__ucCmp?.acceptAllConsents || window.UC_UI?.acceptAllConsents && (() => {
      window.UC_UI.acceptAllConsents().then?.(() => window.UC_UI.closeCMP?.());
    })],
    ['klaro', () => window.klaro?.getManager && (() => {
      const manager = window.klaro.getManager();
      manager.changeAll(true);
      manager.saveAndApplyConsents();
    })],
    ['tarteaucitron', () => window.tarteaucitron?.userInterface?.respondAll && (() => { window.tarteaucitron.userInterface.respondAll(true); })],
    ['cookieconsent', () => window.CookieConsent?.acceptCategory && (() => {
      window.CookieConsent.acceptCategory('all');
      window.CookieConsent.hide?.();
    })],
    ['iubenda', () => window._iub?.cs?.api?.acceptAll || window._iub?.cs?.api?.consentGiven],
    ['osano', () => window.Osano?.cm?.acceptAll],
    ['complianz', () => window.cmplz_accept_all],
    ['axeptio', () => window.axeptioSDK?.acceptAll],
    ['cookiefirst', () => window.CookieFirst?.acceptAllCategories],
    ['consentmanager', () => typeof window.__cmp === 'function' && window.cmp_id && (() => { window.__cmp('setConsent', 1); })],
    ['cookieyes', () => window.performBannerAction && (() => { window.performBannerAction('accept_all'); })],
  ];
  // Labels and names of what closes a window over the page.
  const CLOSE = new RegExp(`^\\W*(x|${tools.words.close}|${tools.words.refuse})?\\W*$`, 'iu');
  const CLOSER = /(^|[\s_-])(close|closer|dismiss|schliessen|fermer)([\s_-]|$)/i;
  const OVER = /modal|popup|pop-up|overlay|newsletter|subscri|dialog|interstitial|promo|lightbox|splash|offer|age-?_?(gate|verif|check|wall)/i;
  const offered = new WeakSet();

  /* Tell the consent platform of the page that its reader agrees. Return its name, or an empty text. */
  tools.agreeByInterface = () => {
    for (const [name, find] of PLATFORMS) {
      let agree;
      try { agree = find(); } catch { continue; }
      if (typeof agree !== 'function') continue;
      try { agree.call(name === 'onetrust' ? window.OneTrust : name === 'osano' ? window.Osano.cm : undefined); } catch { continue; }
      return name;
    }
    return '';
  };

  const has = selector => {
    try {
      return selector.startsWith('xpath/')
        ? document.evaluate(selector.slice(6), document, null, XPathResult.BOOLEAN_TYPE).booleanValue
        : document.querySelector(selector) !== null;
    } catch { return false; }
  };

  /* Return whether the document has one of these selectors, one of these variables or all of these texts. */
  tools.hasSign = (selectors, globals, texts) => selectors.some(has)
    || globals.some(name => typeof window[name] !== 'undefined')
    || texts.length > 0 && texts.every(text => document.body?.textContent.includes(text));

  const isWall = element => {
    for (let node = element, i = 0; node && i < 12; i++, node = tools.parent(node)) {
      if (node === document.body || node === document.documentElement) return false;
      const text = `${node.id} ${node.getAttribute('class') || ''} ${node.getAttribute('aria-label') || ''} ${node.localName}`;
      if (ABOUT.test(text) || /^(alert)?dialog$/.test(node.getAttribute('role') || '') || node.localName === 'dialog') return true;
      const position = getComputedStyle(node).position;
      if (position === 'fixed' || position === 'sticky') return true;
    }
    return window !== window.top && /consent|cookie|privacy|cmp|message/i.test(location.href);
  };

  const offer = (element, isAgain = false) => {
    if ((offered.has(element) && !isAgain) || !tools.isVisible(element)) return null;
    offered.add(element);
    const place = tools.place(element);
    if (!place.isOnTop) { element.click(); return {...place, isClicked: true}; }
    return {...place, isClicked: false};
  };

  /* Return the window that lies over the middle of the page and keeps its reader from it, or null. */
  tools.windowOver = () => {
    const isLocked = [document.documentElement, document.body].some(
      element => element && /hidden|clip/.test(getComputedStyle(element).overflowY));
    for (const y of [0.5, 0.35, 0.65]) {
      for (let node = tools.at(innerWidth / 2, innerHeight * y); node; node = tools.parent(node)) {
        if (node === document.body || node === document.documentElement) break;
        const isDialog = node.getAttribute('aria-modal') === 'true' || node.matches('dialog[open], [role=dialog], [role=alertdialog]');
        if (getComputedStyle(node).position !== 'fixed' && !isDialog) continue;
        const text = `${node.id} ${node.getAttribute('class') || ''} ${node.localName}`;
        if (isDialog || OVER.test(text) || (isLocked && node.innerText.length < 2000)) return node;
      }
    }
    return null;
  };

  /* Return the place of what closes the window that lies over the page, or null. Each is offered once, or again. */
  tools.closeButton = (isAgain = false) => {
    const over = tools.windowOver();
    if (!over) return null;
    // The window and its backdrop may lie beside each other.
    const near = [over, ...(over.parentElement && over.parentElement !== document.body ? [] : document.querySelectorAll(
      'body > [role=dialog], body > [aria-modal=true], body > [class*=modal], body > [class*=popup]'))];
    for (const outer of near) {
      const closers = [...outer.querySelectorAll('*')].slice(0, 2000).filter(element => {
        if (element instanceof SVGElement || /^(input|select|textarea|form|script|style|h[1-6])$/.test(element.localName)) return false;
        if (element.localName === 'a' && /^(https?:|\/)/.test(element.getAttribute('href') || '')) return false;
        const name = `${element.id} ${element.getAttribute('class') || ''}`;
        const label = tools.label(element);
        if (label && label.length < 30 && CLOSE.test(label)) return true;
        return CLOSER.test(name) && label.length < 30 && element.querySelectorAll('*').length < 8;
      });
      for (const closer of closers) {
        const place = offer(closer, isAgain);
        if (place) return place;
      }
    }
    return null;
  };

  /* Return the place of the button that agrees, or null. Each button is offered once. */
  tools.agreeButton = () => {
    for (const element of tools.elements()) {
      if (!element.matches(BUTTONS)) continue;
      if (element.localName === 'a' && /^https?:/.test(element.getAttribute('href') || '')) continue;
      const label = tools.label(element);
      if (label && label.length < 50 && YES.test(label) && tools.isVisible(element) && isWall(element)) {
        const place = offer(element);
        if (place) return place;
      }
    }
    return null;
  };
}
