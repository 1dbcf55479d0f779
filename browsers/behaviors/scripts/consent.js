// Tools that agree to cookies, by the interface of the consent platform or by the label of the button.
tools => {
  'use strict';
  const YES = new RegExp('^\\W*(' + [
    // English
    'accept( all)?( cookies| & close| and close| and continue)?', 'accept (all|recommended|additional) (cookies|settings)', 'allow( all)?( cookies)?',
    'i (agree|accept|consent|understand)', 'agree( (to|with) all)?', 'agree (and|&) (close|continue|proceed)', 'yes,? i(’|\')?m? ?(agree|happy|accept)', 'got it!?', 'ok(ay)?!?',
    'consent', 'continue to (the )?(site|website)', 'enable all', 'accept and continue', 'i am over (16|18|21)', 'yes,? i am (over )?(16|18|21).*', 'enter( site)?',
    // German
    'alle(s)? (cookies )?(akzeptieren|zulassen|annehmen|erlauben|bestätigen)', '(alle )?akzeptieren( und (schließen|weiter|fortfahren))?', 'zustimmen( und weiter)?',
    'allen? zustimmen', 'einverstanden', 'ich stimme zu', 'annehmen', 'verstanden', 'akzeptieren & schließen',
    // Danish, Norwegian, Swedish, Finnish, Icelandic
    'tillad alle?( cookies)?', 'accept[eé]r( alle?)?( cookies)?', 'godkend( alle)?( cookies)?', 'jeg accepterer', 'ok, jeg accepterer',
    'godta( alle)?( (cookies|informasjonskapsler))?', 'aksepter( alle)?( cookies)?', 'jeg (godtar|samtykker)', 'tillat alle',
    'godkänn( alla)?( (cookies|kakor))?', 'acceptera( alla)?( (cookies|kakor))?', 'jag (godkänner|accepterar)', 'tillåt alla( cookies)?',
    'hyväksy( kaikki)?( evästeet)?', 'salli kaikki( evästeet)?', 'samþykkja( allt| allar)?',
    // French, Italian, Spanish, Catalan, Portuguese, Romanian
    '(tout )?accepter( tout)?( et (fermer|continuer))?', 'accepter (et fermer|les cookies|tous les cookies)', 'j(’|\')accepte', 'autoriser( tous les cookies| tout)?', 'd(’|\')accord', 'ok pour moi',
    'accett[ao]( tutti?)?( i cookie)?( e (chiudi|continua))?', 'acconsento', 'consenti( tutti)?', 'ho capito',
    'acept(ar|o)( todo| todas?| todos?)?( las cookies)?( y (cerrar|continuar))?', 'permitir( todas?)?( las cookies)?', 'estoy de acuerdo', 'entendido', 'consentir',
    'accept(ar|o)( tot(es|s)?)?', 'aceitar( tudo| todos?)?( os cookies)?', 'concordo( e fechar)?', 'permitir todos?', 'entendi', 'accept(ă|a)( toate)?( cookie-urile)?', 'sunt de acord',
    // Dutch, Polish, Czech, Slovak, Slovene, Croatian, Hungarian, Estonian, Latvian, Lithuanian
    '(alle(s)? )?(cookies )?(accepteren|toestaan)( alle)?', 'accepteer( alle)?( cookies)?', 'ik ga akkoord', 'akkoord', 'ja,? ik accepteer.*',
    'akceptuj(ę|e)?( wszystkie| wszystko)?( pliki cookie)?', 'zgadzam się', 'zaakceptuj( wszystkie| wszystko)?', 'przejdź do serwisu', 'rozumiem',
    'přij(mout|ímám)( vše(chny)?)?( cookies)?', 'souhlasím', 'povolit vše', 'rozumím', 'prija[tť]( všetk[oy])?', 'súhlasím', 'sprejmi( vse)?', 'strinjam se', 'prihvati( sve)?', 'prihvaćam( sve)?', 'slažem se',
    'elfogad(om|ás)?( (az )?összes(et)?)?', 'összes elfogadása', 'mindet elfogadom', 'nõustun( kõigiga)?', 'luban kõik', 'piekrītu( visām?)?', 'sutinku( su visais)?', 'pri?imti visus',
    // Greek, Turkish, Russian, Ukrainian, Bulgarian, Serbian
    'αποδοχή( όλων)?', 'αποδέχομαι', 'συμφωνώ', 'kabul (et|ediyorum)', 'tümünü kabul et', 'принять( все)?( cookies)?', 'соглас(ен|на|иться)', 'принимаю', 'хорошо', 'понятно',
    'прийняти( все| всі)?', 'погоджуюсь', 'приемам( всички)?', 'съгласен( съм)?', 'прихвати( све)?', 'прихватам',
    // Arabic, Hebrew, Hindi, Chinese, Japanese, Korean, Vietnamese, Thai, Indonesian
    '(أوافق|موافق|قبول( الكل)?|أقبل)', 'אישור', 'אני מסכימ?/?ה?', 'קבל(ת)? הכל', 'स्वीकार( करें)?', '(全部|所有)?(接受|同意|允许|允許)(全部|所有|並繼續|并继续)?(cookie)?', '知道了', '我同意',
    '(すべて)?(同意|許可|承諾|受け入れる)(する|して続行)?', 'すべて(の cookie を)?(受け入れる|許可)', '동의(함|합니다)?', '모두 (동의|허용|수락)', '수락', 'đồng ý', 'chấp nhận( tất cả)?', 'ยอมรับ(ทั้งหมด)?', 'terima( semua)?', 'setuju',
  ].join('|') + ')\\W*$', 'iu');
  const ABOUT = /cookie|consent|gdpr|dsgvo|privacy|privat|datenschutz|ccpa|cmp|onetrust|didomi|qc-cmp|usercentrics|truste|evidon|klaro|tarteaucitron|axeptio|iubenda|sp_message|notice|banner|age-?(gate|verif)|overlay|modal|dialog|wall/i;
  const BUTTONS = 'button, a, input[type=button], input[type=submit], [role=button], [onclick]';
  const KNOWN = [
    '#onetrust-accept-btn-handler', '#didomi-notice-agree-button', '.didomi-continue-without-agreeing ~ button',
    '#CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll', '#CybotCookiebotDialogBodyButtonAccept', '#truste-consent-button',
    '.qc-cmp2-summary-buttons button[mode=primary]', '[data-testid=uc-accept-all-button]', '#accept-recommended-btn-handler',
    '.cc-allow', '.cc-accept-all', '.cc-dismiss', '.cm-btn-success', '#tarteaucitronPersonalize2', '.iubenda-cs-accept-btn',
    '#axeptio_btn_acceptAll', '.cmplz-accept', '#cookie_action_close_header', '.fc-cta-consent', '[data-cookiefirst-action=accept]',
    '#cmpwelcomebtnyes a', '.osano-cm-accept-all', '#ccc-notify-accept', '#wt-cli-accept-all-btn', '.moove-gdpr-infobar-allow-all',
    'button[title="Accept all"]', 'button[title="ACCEPT ALL"]', '.message-button[aria-label*="ccept"]',
  ];
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
  const CLOSE = new RegExp('^\\W*(' + [
    '[×✕✖✗╳⨯x]', 'close( this| dialog| modal| popup| window)?', 'dismiss', 'no,? thanks?( you)?', 'no thank you', 'not now', 'maybe later', 'skip( for now)?',
    'schließen', 'nein,? danke', 'später', 'jetzt nicht', 'luk', 'nej tak', 'stäng', 'nej tack', 'lukk', 'nei takk', 'sulje', 'ei kiitos',
    'fermer', 'non,? merci', 'plus tard', 'cerrar', 'no,? gracias', 'ahora no', 'chiudi', 'no,? grazie', 'fechar', 'não,? obrigado',
    'sluiten', 'nee,? bedankt', 'zamknij', 'nie,? dziękuję', 'zavřít', 'ne,? děkuji', 'bezárás', 'închide', 'kapat', 'закрыть', 'закрити',
    'κλείσιμο', 'إغلاق', 'סגור', '关闭', '關閉', '閉じる', '닫기', 'đóng', 'tutup',
  ].join('|') + ')?\\W*$', 'iu');
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
    for (const selector of KNOWN) {
      const element = document.querySelector(selector);
      const place = element && offer(element);
      if (place) return place;
    }
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
