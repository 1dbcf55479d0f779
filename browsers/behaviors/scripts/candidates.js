// Tools that find what a person would touch, and that touch it.
tools => {
  'use strict';
  const page = tools.page;
  const MOST_CANDIDATES = 400;
  const MOST_HOVERS = 80;
  const MOST_RULES = 5000;
  const MOST_POINTERS = 3000;
  const DRAG_MOVES = 12;
  const DRAG_MS = 16;

  // No control with one of these words is touched: it buys, sends, deletes, or ends a session.
  const FORBIDDEN = new RegExp([
    'log ?-?out', 'sign ?-?out', 'sign ?-?off', 'log ?-?in\\b', 'sign ?-?in\\b', 'sign ?-?up', '^register\\b(?! of)', 'delete',
    'remove', 'erase', 'buy', 'purchase', 'checkout', 'check out', 'order now', 'place order', 'add to (cart|basket|bag)',
    'pay\\b', 'pay now', 'donate', 'subscribe', 'unfollow', '^report$', '^report (this|as|an?|abuse|comment|post|user|content|problem|error|bug|issue|spam)\\b', 'send\\b', 'submit', 'post comment', 'publish',
    'upload', '^print\\b', '^share\\b', 'share (this|on|via|with)\\b', 'cancel account', 'close account', 'deactivate', 'confirm order', 'reject all',
    'abmelden', 'ausloggen', 'anmelden', 'einloggen', 'registrieren', 'löschen', 'entfernen', 'kaufen', 'bestellen',
    'in den warenkorb', 'bezahlen', 'spenden', 'abonnieren', 'absenden', 'drucken', '(?<!\\p{L})teilen\\b',
    'log ud', 'log ind', 'slet\\b', 'fjern', 'køb', 'bestil', 'læg i kurv', 'betal\\b', 'tilmeld', 'udskriv',
    'logga ut', 'logga in', 'radera', 'ta bort', 'köp\\b', 'beställ', 'logg ut', 'logg inn', 'slett', 'kjøp',
    'déconnexion', 'se déconnecter', 'connexion', 'supprimer', 'effacer', 'acheter', 'commander', 'payer',
    'ajouter au panier', 's’abonner', "s'abonner", 'envoyer', 'imprimer', 'partager',
    'cerrar sesión', 'iniciar sesión', 'eliminar', 'borrar', 'comprar', 'pagar', 'añadir al carrito', 'suscribir',
    'enviar', 'imprimir', 'compartir', 'esci\\b', 'accedi', 'elimina', 'cancella', 'acquista', 'paga\\b',
    'aggiungi al carrello', 'invia', 'stampa', 'condividi', 'sair\\b', 'excluir', 'apagar', 'adicionar ao carrinho',
    'uitloggen', 'inloggen', 'verwijder', 'kopen', 'bestellen', 'betalen', 'verzenden', 'wyloguj', 'zaloguj', 'usuń',
    '(?<!\\p{L})kup\\b', 'kup teraz', 'zapłać', 'wyślij', 'odhlásit', 'přihlásit', 'smazat', 'koupit', 'kirjaudu', 'poista', '(?<!\\p{L})osta\\b',
    'выйти', 'войти', 'удалить', 'купить', 'оплатить', 'отправить', '退出', '登出', '登录', '登入', '删除', '刪除', '购买',
    '購買', '付款', '提交', 'ログアウト', 'ログイン', '削除', '購入', '送信', '로그아웃', '로그인', '삭제', '구매', '결제',
    'çıkış', 'giriş yap', '(?<!\\p{L})sil\\b', 'satın al', 'تسجيل الخروج', 'حذف', 'شراء',
  ].join('|'), 'iu');
  const FORBIDDEN_NAME = /log-?_?out|sign-?_?out|delete|remove|check-?out|purchase|buy|unsubscribe|add-?to-?(cart|basket)/i;
  const MORE = new RegExp([
    'more', 'next', 'older', 'load', 'continue', '›', '»', '→', '>$', 'mehr', 'weiter', 'nächste', 'ältere', 'laden',
    'mere', 'næste', 'flere', 'mer\\b', 'fler', 'nästa', 'neste', 'plus', 'suivant', 'davantage', 'afficher', 'más',
    'siguiente', 'cargar', 'altro', 'altri', 'successiv', 'carica', 'mais', 'próxim', 'carregar', 'meer', 'volgende',
    'więcej', 'następn', 'další', 'více', 'lisää', 'seuraava', 'ещё', 'еще', 'далее', 'следующ', 'показать', '更多', '下一',
    '加载', '載入', 'もっと', '次', '더 보기', '더보기', '다음', 'daha', 'sonraki', 'المزيد', 'التالي',
  ].join('|'), 'i');
  // Controls of one pair lead to both directions: the earlier and the later month, the smaller and the larger map.
  const BACK = new RegExp('^\\W*(' + [
    'prev(ious)?', 'earlier', 'newer', 'left', 'up', 'zoom ?out', 'smaller', 'decrease', 'vorherige\\w*', 'vorige\\w*', 'früher\\w*', 'links',
    'verkleinern', 'précédent\\w*', 'antérieur\\w*', 'gauche', 'dézoomer', 'anterior(es)?', 'previo', 'izquierda', 'alejar', 'reducir',
    'precedent[ei]', 'sinistra', 'riduci', 'esquerda', 'diminuir', 'eerdere?', 'uitzoomen', 'forrige', 'tidligere', 'zoom ud', 'föregående',
    'tidigare', 'zooma ut', 'edellinen', 'loitonna', 'poprzedni\\w*', 'wstecz', 'pomniejsz', 'předchozí', 'oddálit', 'предыдущ\\p{L}*', 'назад',
    'уменьшить', 'önceki', 'uzaklaştır', 'السابق', '上一\\p{L}*', '前(の|へ)?\\p{L}*', '縮小', '缩小', '이전', '축소',
  ].join('|') + ')(?!\\p{L})|^[‹«←◀◂❮<−–-]$', 'iu');
  const FORTH = new RegExp('^\\W*(' + [
    'next', 'later', 'older', 'right', 'down', 'forward', 'zoom ?in', 'larger', 'increase', 'nächste\\w*', 'später\\w*', 'rechts', 'vergrößern',
    'suivant\\w*', 'droite', 'zoomer', 'siguientes?', 'derecha', 'acercar', 'ampliar', 'successiv[ao]', 'destra', 'ingrandisci', 'próxim[ao]',
    'seguinte', 'direita', 'aumentar', 'volgende', 'latere', 'inzoomen', 'næste', 'senere', 'zoom ind', 'nästa', 'senare', 'zooma in', 'neste',
    'seuraava', 'lähennä', 'następn\\w*', 'dalej', 'powiększ', 'další', 'přiblížit', 'следующ\\p{L}*', 'вперед', 'вперёд', 'увеличить', 'sonraki',
    'yakınlaştır', 'التالي', '下一\\p{L}*', '次(の|へ)?\\p{L}*', '拡大', '放大', '다음', '확대',
  ].join('|') + ')(?!\\p{L})|^[›»→▶▸❯>+]$', 'iu');
  const BACK_NAME = /(^|[\s_-])(prev(ious)?|left|backward|zoom-?_?out|minus|decrement|smaller)([\s_-]|$)/i;
  const FORTH_NAME = /(^|[\s_-])(next|right|forward|zoom-?_?in|plus|increment|larger)([\s_-]|$)/i;
  const MOST_PAIRED = 60;
  const MOST_LEVELS = 5;
  // What closes a window is touched after the other controls in it.
  const CLOSE = new RegExp('^(close|dismiss|hide|back|×|✕|✖|schließen|zurück|luk|stäng|lukk|fermer|cerrar|chiudi|fechar|sluiten|'
    + 'zamknij|zavřít|sulje|закрыть|关闭|關閉|閉じる|닫기|kapat|إغلاق)', 'i');
  const CLOSE_NAME = /(^|[-_\s])(close|closer|dismiss|backdrop|shut)([-_\s]|$)/i;
  const RESET = /^(reset|clear|cancel|undo|zurücksetzen|löschen|abbrechen|annuler|effacer|cancelar|borrar|annulla|nulstil|rensa)/i;
  const APPLY = /^(ok|okay|apply|done|go|show|search|filter|update|view|refresh|find|anwenden|übernehmen|anzeigen|suchen|fertig|anvend|vis|använd|visa|appliquer|afficher|valider|aplicar|mostrar|buscar|applica|mostra|toepassen|tonen|zastosuj|pokaż|použít|zobrazit|käytä|näytä|применить|показать|应用|確定|确定|適用|적용|확인|uygula|göster|تطبيق)/i;
  const isCloser = (element, label) => {
    if (CLOSE.test(label) || CLOSE_NAME.test(`${element.id} ${element.getAttribute('class') || ''}`)) return true;
    const box = element.getBoundingClientRect();
    return box.width >= innerWidth * 0.95 && box.height >= innerHeight * 0.95 && element.querySelector('button, [role=button], a[href]') !== null;
  };
  const CLICKS = ['click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'touchstart', 'touchend'];
  const HOVERS = ['mouseenter', 'mouseover', 'mousemove', 'pointerenter', 'pointerover', 'pointermove'];
  const BUBBLING = ['mouseover', 'mousemove', 'pointerover', 'pointermove'];
  const MOST_DELEGATED = 40;
  const MOST_REVEALED = 60;
  const MOST_SELECTORS = 100;
  const MOST_HOVERED_LINKS = 20;
  // Parts of the page that a listener of an outer element is usually for.
  const HOVERED = 'li,figure,article,[role=menuitem],[role=tab],[aria-haspopup],[class*=menu],[class*=nav-],'
    + '[class*=dropdown],[class*=submenu],[class*=tooltip],[class*=hover],[class*=card],[class*=thumb],[class*=preview]';
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

  // A control that opens something is harmless, and so is a long text, such as a question about deleting.
  const isForbidden = (element, label, kind = 'button') => kind !== 'toggle'
    && ((label.split(' ').length <= 5 && FORBIDDEN.test(label)) || FORBIDDEN_NAME.test(names(element)));
  const fragmentOf = element => {
    const url = new URL(element.href, location.href);
    return url.href.split('#')[0] === location.href.split('#')[0] && url.hash ? url.hash : '';
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
    || hasTargetRules();
  let targetRules = null;
  const hasTargetRules = () => {
    targetRules ??= styleRules(document).some(rule => rule.selectorText.includes(':target'));
    return targetRules;
  };
  /* Return the style rules of a document or a shadow root, also those within others. `budget` bounds all calls with it. */
  const styleRules = (root, budget = {left: MOST_RULES}) => {
    const found = [];
    const read = (rules, depth) => {
      for (const rule of rules) {
        if (--budget.left < 0) return;
        if (rule.selectorText && rule.style) found.push(rule);
        if (rule.cssRules && depth < 5) read(rule.cssRules, depth + 1);
      }
    };
    for (const sheet of [...root.styleSheets, ...(root.adoptedStyleSheets || [])]) {
      try { read(sheet.cssRules, 0); } catch { /* A sheet of another origin can't be read. */ }
    }
    return found;
  };
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
      if (!tools.isVisible(element) && !isRevealed(element, shownLater ??= revealed())) continue;
      const label = tools.label(element);
      if (inPostForm(element) && kind !== 'toggle' && !isPageLink(element, label)) continue;
      if (isForbidden(element, label, kind)) continue;
      elements.push(element);
      found.push({
        label, heading: kind === 'choice' ? 0 : headingOf(element, label), pair: '',
        number: numberOf(element), key: numbered(element, keyOf(element, label)), family: familyOf(element), kind,
        isArea: isArea(element, kind), isCloser: isCloser(element, label),
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

  const CONTROLS = 'a, button, input, select, textarea, label, summary, video, audio, iframe, [role=button], [role=link],'
    + ' [role=tab], [onclick]';
  /* Return the control within an element that a click on `hit` would touch, or null. */
  const innerControl = (element, hit) => {
    for (let node = hit; node && node !== element; node = tools.parent(node)) if (node.matches(CONTROLS)) return node;
    return null;
  };

  let aimed = [];  // the control that is about to be clicked, and the elements around it
  // Style rules show some controls only while the mouse is over what is around them. Such a control is clicked hidden.
  let rulesOf = -1;
  let revealing = [];
  const revealed = () => {
    if (rulesOf !== document.styleSheets.length) {
      rulesOf = document.styleSheets.length;
      revealing = styleRules(document)
        .filter(rule => ['visibility', 'display', 'opacity', 'pointerEvents'].some(name => rule.style[name]))
        .flatMap(rule => rule.selectorText.split(',').filter(each => /:hover\s*[\s>+~]\s*\S/.test(each)))
        .map(each => each.replaceAll(':hover', '').trim()).filter(Boolean).slice(0, MOST_SELECTORS);
    }
    const found = new Set();
    for (const selector of revealing) {
      try {
        for (const element of document.querySelectorAll(selector)) if (found.size < MOST_REVEALED) found.add(element);
      } catch { /* The rest of the selector is no selector. */ }
    }
    return found;
  };
  const isRevealed = (element, all) => {
    if (!all.size || !element.matches('button, [role=button]') || element.closest('[hidden], [inert], template')) return false;
    for (let node = element, i = 0; node && i < 4; i++, node = tools.parent(node)) if (all.has(node)) return true;
    return false;
  };

  /* Return the point to click on, or null when the control is gone. */
  tools.aim = number => {
    const element = elementOf(number);
    if (!element || !tools.isUsable(element)) return null;
    aimed = [];
    for (let node = element; node && aimed.length < 6; node = tools.parent(node)) aimed.push(new WeakRef(node));
    if (!tools.isVisible(element)) {
      return isRevealed(element, revealed()) ? {x: 0, y: 0, isOnTop: false, state: stateOf(element)} : null;
    }
    const place = tools.place(element);
    const inner = place.isOnTop ? innerControl(element, tools.at(place.x, place.y)) : null;
    const isHarmful = inner && (isSubmit(inner) || inPostForm(inner) || isForbidden(inner, tools.label(inner)));
    return {...place, isOnTop: place.isOnTop && !isHarmful, state: stateOf(element)};
  };
  // The state of a control that opens and closes something is in its attributes, or in those of the elements around it.
  const stateOf = element => {
    const parts = [];
    for (let node = element, i = 0; node && i < 3; i++, node = tools.parent(node)) {
      parts.push(...['class', 'aria-expanded', 'aria-selected', 'aria-pressed', 'open'].map(name => node.getAttribute(name)));
    }
    // The word of a control changes with its state, such as "show" and "hide", but a number in it does not tell a state.
    parts.push(tools.label(element).replace(/\d+/g, ''));
    return parts.join('|').slice(0, 2000);
  };
  /* Return whether a control is there, and has another state than before it was touched. */
  tools.hasTurned = (number, state) => {
    const element = elementOf(number);
    return element !== null && stateOf(element) !== state;
  };

  /* Return a point at the side of a large box; null when the box is gone, or another control lies there. */
  tools.aimAside = (number, share) => {
    const element = elementOf(number);
    if (!element || !tools.isVisible(element) || !tools.isUsable(element)) return null;
    const {y} = tools.place(element);
    const box = element.getBoundingClientRect();
    const x = Math.min(Math.max(box.left + box.width * share, 0), innerWidth - 1);
    const hit = tools.at(x, y);
    return hit && tools.contains(element, hit) && !innerControl(element, hit) ? {x, y, isOnTop: true} : null;
  };

  /* Return whether something has come over the window since this was asked for the last time. */
  let over = null;
  tools.hasNewOverlay = () => {
    let node = tools.at(innerWidth / 2, innerHeight / 2);
    while (node && node !== document.body && getComputedStyle(node).position !== 'fixed') node = tools.parent(node);
    const isLarge = node && node !== document.body && node.getBoundingClientRect().width >= innerWidth * 0.6;
    const before = over?.deref();
    over = isLarge ? new WeakRef(node) : null;
    return Boolean(isLarge) && node !== before;
  };

  /* Click without the mouse, since something lies over the control. */
  tools.push = number => {
    const element = elementOf(number);
    if (!element) return;
    for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup']) {
      const Kind = type.startsWith('pointer') ? PointerEvent : MouseEvent;
      element.dispatchEvent(new Kind(type, {bubbles: true, composed: true, cancelable: true, button: 0}));
    }
    if (typeof element.click === 'function') element.click();
    else element.dispatchEvent(new MouseEvent('click', {bubbles: true, composed: true, cancelable: true}));
  };

  const MOST_BUTTONS = 3;
  const MOST_AROUND = 3;
  /* Return the button that stands behind a field or a choice and acts on the value, or null. */
  tools.buttonOf = (field, around = tools.parent(field)) => {
    for (let i = 0; around && around !== document.body && i < MOST_AROUND; i++, around = tools.parent(around)) {
      const all = [...around.querySelectorAll('button, input[type=button], [role=button]')];
      const own = all.filter(each => !field.isConnected || field.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
      const fit = own.filter(each => !isSubmit(each) && !each.matches(TOGGLES) && !inPostForm(each) && tools.isVisible(each)
        && tools.isUsable(each) && each !== field && !RESET.test(tools.label(each)) && !isCloser(each, tools.label(each))
        && !isForbidden(each, tools.label(each)));
      const found = fit.find(each => APPLY.test(tools.label(each)));
      if (found) return found;
      if (all.length > MOST_BUTTONS) return null;
      if (fit.length) return fit[0];
    }
    return null;
  };
  const CHOICES = 'li, label, [role^=menuitem], [role=option], [role=checkbox], [role=radio], [role=switch], input[type=checkbox], input[type=radio]';
  /* Return the place of the button that a choice waits for, such as OK in a list of filters, or null. */
  tools.applyPlace = () => {
    const around = aimed.map(reference => reference.deref()).filter(Boolean);
    const [choice] = around;
    if (!choice?.matches(CHOICES)) return null;
    const start = around.slice(1).find(each => each.isConnected);
    const button = start ? tools.buttonOf(choice, start) : null;
    return button && APPLY.test(tools.label(button)) ? tools.place(button) : null;
  };

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
