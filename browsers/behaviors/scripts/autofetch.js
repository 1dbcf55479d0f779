// Tools that fetch what other windows, other densities and a longer stay would fetch.
tools => {
  'use strict';
  const MOST_MEDIA_SECONDS = 5;
  const MOST_URLS = 300;
  const MOST_URL_LENGTH = 4096;
  const MOST_RULES = 10000;
  const AT_ONCE = 6;
  const MOST_MANIFEST = 200000;
  const LONGEST_MS = 20000;
  const IMAGE = /\.(avif|webp|jpe?g|png|gif|svg|bmp|ico|jxl)([?#]|$)/i;
  const OTHER = /\.(mp4|webm|mp3|ogg|ogv|m4a|wav|vtt|woff2?|ttf|otf|css|m3u8|mpd|pdf)([?#]|$)/i;
  const asked = new Set();

  const queue = [];
  const want = (reference, base, kind) => {
    const text = (reference || '').trim();
    if (!text || /^(data|blob|javascript|about):/i.test(text) || asked.size >= MOST_URLS) return;
    let url;
    try { url = new URL(text, base || document.baseURI); } catch { return; }
    url.hash = '';
    if (!/^https?:$/.test(url.protocol) || url.href.length > MOST_URL_LENGTH || asked.has(url.href)) return;
    asked.add(url.href);
    queue.push([url.href, kind]);
  };
  // A candidate of srcset ends at white space, so that URLs with commas stay whole.
  const wantSet = (set, base) => {
    for (const match of (set || '').matchAll(/\s*([^\s,]\S*[^\s,])(?:\s+[\d.]+[wxh])*\s*(?:,|$)/g)) want(match[1], base, 'image');
  };
  const wantUrls = (text, base) => {
    for (const match of text.matchAll(/url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"'\s]*))\s*\)/g)) {
      want(match[1] ?? match[2] ?? match[3], base, 'any');
    }
  };
  const readRules = (rules, base, inMedia, budget, depth) => {
    for (const rule of rules) {
      if (--budget.left < 0 || depth > 8) return;
      const isMedia = rule instanceof CSSMediaRule;
      if (rule.cssRules && rule.cssRules.length) readRules(rule.cssRules, base, inMedia || isMedia, budget, depth + 1);
      const text = rule.style?.cssText || '';
      if (inMedia ? text.includes('url(') : text.includes('image-set(') || /:(hover|focus|active|target|checked)/.test(rule.selectorText || '')) {
        wantUrls(text, base);
      }
    }
  };
  // A manifest of a web application lists icons and pictures, which the browser does not fetch.
  const readManifest = async address => {
    const answer = await fetch(address);
    if (Number(answer.headers.get('content-length') || 0) > MOST_MANIFEST) return;
    const manifest = JSON.parse((await answer.text()).slice(0, MOST_MANIFEST));
    const lists = [manifest.icons, manifest.screenshots, ...(manifest.shortcuts || []).slice(0, 20).map(each => each.icons)];
    for (const image of lists.flat()) if (image?.src) want(String(image.src), answer.url, 'image');
    work();
  };
  const load = ([url, kind]) => {
    if (kind === 'image' || IMAGE.test(url)) {
      return new Promise(resolve => {
        const image = new Image();
        image.onload = image.onerror = resolve;
        image.src = url;
      });
    }
    return fetch(url, {mode: 'no-cors', credentials: 'include'}).catch(() => {});
  };

  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      await Promise.race([load(next), tools.page.sleep(LONGEST_MS)]);
    }
  };

  /* Make lazy images and frames load now, also those in closed carousels, which scrolling does not reach. */
  tools.makeEager = () => {
    let count = 0;
    for (const element of tools.elements()) {
      if ((element.localName === 'img' || element.localName === 'iframe') && element.getAttribute('loading') === 'lazy') {
        element.loading = 'eager';
        element.dataset.ghostfleetLazy = '';
        count += 1;
      }
    }
    return count;
  };
  tools.makeLazy = () => {
    for (const element of tools.elements()) {
      if ('ghostfleetLazy' in (element.dataset || {})) {
        element.loading = 'lazy';
        delete element.dataset.ghostfleetLazy;
      }
    }
  };

  /* Fetch the other sources of images, media and style rules. Return the number of URLs. */
  tools.autofetch = () => {
    for (const element of tools.elements()) {
      if (asked.size >= MOST_URLS) break;
      const name = element.localName;
      if (name === 'img' || name === 'source') {
        if (element.srcset) wantSet(element.getAttribute('srcset'));
        if (name === 'source' && element.parentElement?.localName === 'picture') want(element.getAttribute('src'), null, 'image');
      }
      if (name === 'link' && element.getAttribute('imagesrcset')) wantSet(element.getAttribute('imagesrcset'));
      if (name === 'video') want(element.getAttribute('poster'), null, 'image');
      if (name === 'track') want(element.getAttribute('src'), null, 'any');
      if (name === 'noscript' && element.textContent.length < 20000) {
        const inert = new DOMParser().parseFromString(element.textContent, 'text/html');
        for (const image of inert.querySelectorAll('img, source')) {
          want(image.getAttribute('src'), null, 'image');
          wantSet(image.getAttribute('srcset'));
        }
      }
      if (!element.attributes || name === 'script') continue;
      for (const attribute of element.attributes) {
        if (!attribute.name.startsWith('data-') || attribute.value.length > 20000) continue;
        const value = attribute.value.trim();
        if (/srcset/.test(attribute.name)) wantSet(value);
        else if (value.includes('url(')) wantUrls(value);
        else if (!/[\s<>{}"]/.test(value) && (IMAGE.test(value) || (OTHER.test(value) && /^(https?:|\/|\.)/.test(value)))) {
          want(value, null, IMAGE.test(value) ? 'image' : 'any');
        } else if (/^data-(src|original|lazy|lazy-src|image|img|bg|background|poster)$/.test(attribute.name)
            && /^(https?:\/\/|\.{0,2}\/)\S+$/.test(value)) want(value, null, 'image');
      }
    }
    const budget = {left: MOST_RULES};
    for (const sheet of document.styleSheets) {
      try {
        readRules(sheet.cssRules, sheet.href || document.baseURI, Boolean(sheet.media?.mediaText), budget, 0);
      } catch { /* A sheet of another origin can't be read. */ }
    }
    let count = queue.length;
    for (const link of document.querySelectorAll('link[rel~=manifest][href]')) {
      count += 1;
      readManifest(link.href).catch(() => { /* The manifest is none, or of another origin. */ });
      break;
    }
    for (let i = 0; i < AT_ONCE; i++) work();
    return count;
  };

  /* Play films and sounds without noise. Return their number. */
  tools.play = () => {
    let count = 0;
    for (const element of tools.elements()) {
      if (!(element instanceof HTMLMediaElement) || count >= 10) continue;
      element.muted = true;
      if (element.preload === 'none') element.preload = 'auto';
      element.play().catch(() => {});
      count += 1;
    }
    return count;
  };
  /* Return whether a film that plays still waits for its first data. */
  tools.isLoadingMedia = () => [...tools.elements()].some(element => element instanceof HTMLMediaElement
    && !element.error && element.networkState === HTMLMediaElement.NETWORK_LOADING && element.readyState < 3);
  /* Return the seconds until the last short film or sound ends for which the page waits, 0 for none. */
  tools.secondsOfMedia = () => {
    const left = [...tools.elements()].filter(element => element instanceof HTMLMediaElement && !element.paused && !element.ended
      && !element.loop && (typeof element.onended === 'function' || tools.page.heard(element)?.has('ended')))
      .map(element => (element.duration - element.currentTime) / (element.playbackRate || 1));
    return Math.max(0, ...left.filter(seconds => seconds <= MOST_MEDIA_SECONDS));
  };
  tools.stopMedia = () => {
    for (const element of tools.elements()) if (element instanceof HTMLMediaElement) element.pause();
  };
}
