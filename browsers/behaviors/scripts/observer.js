// This script runs in each document before the page's own scripts. It observes timers, listeners and shadow roots, and
// it can stop the document from being left. Wrappers are proxies of the native functions, so that they look native.
(() => {
  'use strict';
  const KEY = Symbol.for('ghostfleet');
  if (window[KEY]) return;

  const LONGEST_MS = 5000;
  const MOST_TIMERS = 500;
  const MOST_SOURCES = 1000;
  const MOST_HEARD = 5000;
  const MOST_URLS = 500;
  const MOST_URL_LENGTH = 4096;
  const MOST_RUNS = 50;
  const MOST_DOWNLOADS = 5;
  const MOST_ANIMATIONS = 200;
  const MOST_ANIMATED_MS = 8000;
  const WORKER_MS = 2000;
  const MOST_WORKER_MS = 4000;
  const MOST_WORKERS = 20;
  const MOST_SPENT_MS = 4500;
  const SHORTEST_MS = 16;
  const INTERVAL_MS = 2000;
  const IDLE_MS = 300;

  const native = {
    setTimeout: window.setTimeout.bind(window),
    now: performance.now.bind(performance),
    toString: Function.prototype.toString,
    listen: EventTarget.prototype.addEventListener,
  };
  const apply = Reflect.apply;

  const wrap = (owner, name, handler) => {
    const original = owner[name];
    if (typeof original !== 'function') return;
    const wrapper = new Proxy(original, {apply: handler});
    try {
      Object.defineProperty(owner, name, {...Object.getOwnPropertyDescriptor(owner, name), value: wrapper});
    } catch { /* The property can't be redefined, so that the original stays. */ }
  };

  // Timers. A pending timer is worth a wait when it ends soon, and while the same code has not run again and again.
  const timers = new Map();  // kind and number -> {due, source, isRepeated}
  const sources = new Map();  // source -> {runs, spent}
  const background = new Set();
  let tasks = 0;
  let begun = 0;  // number of steps so far

  const sourceOf = (callback, wait) => {
    try {
      const text = apply(native.toString, callback, []);
      return `${wait}|${text.length}|${text.slice(0, 200)}`;
    } catch {
      return String(wait);
    }
  };
  const ran = (source, wait) => {
    const sum = sources.get(source) || {runs: 0, spent: 0};
    sum.runs += 1;
    sum.spent += Math.max(wait, SHORTEST_MS);
    if (sources.size < MOST_SOURCES || sources.has(source)) sources.set(source, sum);
    return sum.runs >= MOST_RUNS || sum.spent >= MOST_SPENT_MS;
  };
  const isTiring = source => {
    const sum = sources.get(source);
    return background.has(source) || (sum !== undefined && (sum.runs >= MOST_RUNS || sum.spent >= MOST_SPENT_MS));
  };
  const delayOf = value => {
    const wait = typeof value === 'object' ? 0 : Number(value);
    return wait > 0 ? wait : 0;
  };
  const watched = (kind, waitOf, longest, isRepeated) => (target, self, args) => {
    const callback = args[0];
    const wait = typeof callback === 'function' ? waitOf(args[1]) : Infinity;
    if (!(wait <= longest) || timers.size >= MOST_TIMERS) return apply(target, self, args);
    const source = sourceOf(callback, wait);
    if (isTiring(source)) return apply(target, self, args);
    let id;
    const wrapped = function (...given) {
      const isEnough = ran(source, wait);
      if (!isRepeated || isEnough) timers.delete(kind + id);
      else if (timers.has(kind + id)) timers.get(kind + id).due = native.now() + wait;
      return apply(callback, this, given);
    };
    id = apply(target, self, [wrapped, ...args.slice(1)]);
    timers.set(kind + id, {due: native.now() + wait, source, isRepeated, begun});
    return id;
  };
  const cancel = kind => (target, self, args) => {
    timers.delete(kind + args[0]);
    return apply(target, self, args);
  };
  wrap(window, 'setTimeout', watched('t', delayOf, LONGEST_MS, false));
  wrap(window, 'setInterval', watched('t', delayOf, INTERVAL_MS, true));
  wrap(window, 'requestIdleCallback', watched('i', () => IDLE_MS, IDLE_MS, false));
  if (window.Scheduler) {
    wrap(Scheduler.prototype, 'postTask', (target, self, args) => {
      const wait = delayOf(args[1]?.delay);
      const callback = args[0];
      const source = sourceOf(callback, wait);
      if (!(wait <= LONGEST_MS) || timers.size >= MOST_TIMERS || isTiring(source)) return apply(target, self, args);
      const id = 's' + ++tasks;
      timers.set(id, {due: native.now() + Math.max(wait, IDLE_MS), source, isRepeated: false});
      const done = () => {
        ran(source, wait);
        timers.delete(id);
      };
      const result = apply(target, self, args);
      result.then(done, done);
      return result;
    });
  }
  wrap(window, 'clearTimeout', cancel('t'));
  wrap(window, 'clearInterval', cancel('t'));
  wrap(window, 'cancelIdleCallback', cancel('i'));

  // Listeners tell which elements react to a person.
  const heard = new WeakMap();
  const listening = [];
  const global = new Set();
  const ENDS = ['animationend', 'transitionend'];
  const TYPES = new Set([
    'click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'dblclick', 'contextmenu', 'auxclick',
    'mouseenter', 'mouseover', 'mousemove', 'pointerenter', 'pointerover', 'pointermove', 'mouseleave', 'mouseout', 'pointerout', 'pointerleave',
    'touchstart', 'touchend', 'touchmove', 'focus', 'focusin', 'keydown', 'keyup', 'keypress', 'wheel', 'scroll',
    'input', 'change', 'toggle', 'dragstart', 'hashchange', 'popstate', 'visibilitychange', 'resize', 'deviceorientation',
    'pagehide', 'beforeunload', 'copy', 'blur', 'submit', 'navigate', 'ended', ...ENDS,
  ]);
  wrap(EventTarget.prototype, 'addEventListener', (target, self, args) => {
    const type = String(args[0]);
    const on = self ?? window;
    if (TYPES.has(type) && args[1]) {
      hasEnds ||= ENDS.includes(type);
      if (type === 'navigate' && on === window.navigation) global.add(type);
      else if (on === window || on === document || on === document.documentElement || on === document.body) {
        global.add(type);
      } else if (on instanceof Element) {
        const known = heard.get(on);
        if (known) known.add(type);
        else if (listening.length < MOST_HEARD) {
          heard.set(on, new Set([type]));
          listening.push(new WeakRef(on));
        }
      }
    }
    return apply(target, self, args);
  });

  // Pages that observe what comes into view are scrolled again when they have grown.
  wrap(IntersectionObserver.prototype, 'observe', (target, self, args) => {
    global.add('intersection');
    if (String(self.rootMargin).includes('-')) global.add('narrow');
    return apply(target, self, args);
  });

  // The end of an animation is a timer when something listens for it, until all these times together are too long.
  let hasEnds = false;
  for (const owner of [HTMLElement.prototype, SVGElement.prototype, Document.prototype, window]) {
    for (const type of ENDS) {
      const property = Object.getOwnPropertyDescriptor(owner, 'on' + type);
      if (!property?.set || !property.configurable) continue;
      const set = new Proxy(property.set, {apply: (target, self, args) => {
        hasEnds = true;
        return apply(target, self, args);
      }});
      Object.defineProperty(owner, 'on' + type, {...property, set});
    }
  }
  const hasEndAttribute = () => document.querySelector('[onanimationend], [ontransitionend]') !== null;
  let animated = 0;
  let spent = 0;
  const known = new WeakSet();
  wrap(Element.prototype, 'animate', (target, self, args) => {
    hasEnds = true;
    return apply(target, self, args);
  });
  const leftOf = animation => {
    if (animation.playState !== 'running') return 0;
    const end = animation.effect?.getComputedTiming().endTime;
    return (Number(end) - Number(animation.currentTime)) / (Math.abs(animation.playbackRate) || 1) + SHORTEST_MS;
  };
  // An element in a drawing may give another its address later, without a script and without a listener.
  const DRAWN = ['set', 'animate'];
  const drawn = () => DRAWN.flatMap(name => [...document.getElementsByTagNameNS('http://www.w3.org/2000/svg', name)]
    .slice(0, MOST_ANIMATIONS)).filter(each => /^(xlink:)?href$/.test(each.getAttribute('attributeName')));
  const leftOfDrawn = element => {
    try {
      const start = element.getStartTime();
      const length = element.localName === 'set' ? 0 : Math.min(element.getSimpleDuration(), LONGEST_MS / 1000);
      return (start + length - element.getCurrentTime()) * 1000 + SHORTEST_MS;
    } catch { return 0; /* The animation has no start or no end. */ }
  };
  const animations = () => {
    const now = native.now();
    hasEnds ||= hasEndAttribute();
    const moving = hasEnds ? document.getAnimations().slice(0, MOST_ANIMATIONS).map(each => [each, leftOf(each)]) : [];
    for (const [animation, left] of [...moving, ...drawn().map(each => [each, leftOfDrawn(each)])]) {
      if (known.has(animation) || !(left > 0 && left <= LONGEST_MS)) continue;
      known.add(animation);
      const longer = Math.max(0, now + left - Math.max(now, animated));
      if (spent + longer > MOST_ANIMATED_MS) continue;
      spent += longer;
      animated = Math.max(animated, now + left);
    }
    return Math.max(0, animated - now);
  };

  // A worker may have timers of its own. A worker that was told something is waited for until it says something, for a
  // moment, and until all these times together are too long: some workers never answer.
  const answering = new Map();  // worker -> time until which it is waited for
  let workerUntil = 0;
  let workerSpent = 0;
  const expectAnswer = worker => {
    const now = native.now();
    const longer = Math.max(0, now + WORKER_MS - Math.max(now, workerUntil));
    if (workerSpent + longer > MOST_WORKER_MS || (answering.size >= MOST_WORKERS && !answering.has(worker))) return;
    workerSpent += longer;
    workerUntil = Math.max(workerUntil, now + WORKER_MS);
    answering.set(worker, now + WORKER_MS);
  };
  const hearWorker = event => {
    answering.delete(event.currentTarget);
    if (answering.size === 0) {
      workerSpent -= Math.max(0, workerUntil - native.now());
      workerUntil = 0;
    }
  };
  if (window.Worker) {
    wrap(Worker.prototype, 'postMessage', (target, self, args) => {
      expectAnswer(self);
      return apply(target, self, args);
    });
    const NativeWorker = window.Worker;
    window.Worker = new Proxy(NativeWorker, {construct: (target, args, created) => {
      const worker = Reflect.construct(target, args, created);
      for (const type of ['message', 'error', 'messageerror']) apply(native.listen, worker, [type, hearWorker]);
      expectAnswer(worker);
      return worker;
    }});
    NativeWorker.prototype.constructor = window.Worker;
  }
  const workers = () => Math.max(0, ...[...answering.values()].map(until => until - native.now()));

  // Closed shadow roots are searched like open ones.
  const roots = new WeakMap();
  wrap(Element.prototype, 'attachShadow', (target, self, args) => {
    const root = apply(target, self, args);
    roots.set(self, root);
    return root;
  });

  // Addresses to which the document wanted to go, and the routes that it showed.
  const left = new Set();
  const routes = new Set();
  const note = (set, url) => {
    if (set.size < MOST_URLS && url.length <= MOST_URL_LENGTH && /^https?:/.test(url)) set.add(url);
  };
  const intercepted = new WeakSet();
  let prevented = 0;
  let downloads = 0;
  const guard = event => {
    const away = !event.destination.sameDocument && !event.hashChange && !intercepted.has(event);
    if (typeof event.downloadRequest === 'string') {  // the document stays
      note(left, event.destination.url);
      if (downloads++ < MOST_DOWNLOADS) return;
    }
    if (!away || event.navigationType === 'traverse' || !event.cancelable) return;
    event.preventDefault();
    prevented += 1;
    if (event.formData === null) note(left, event.destination.url);
  };
  if (window.navigation && window.NavigateEvent) {
    wrap(NavigateEvent.prototype, 'intercept', (target, self, args) => {
      intercepted.add(self);
      return apply(target, self, args);
    });
    navigation.addEventListener('currententrychange', () => note(routes, location.href));
  }

  let changes = 0;
  let added = 0;
  const count = records => {
    changes += records.length;
    for (const record of records) added += record.addedNodes.length;
  };
  const observer = new MutationObserver(count);
  const observed = new WeakSet();
  const pending = wantsRepeated => {
    const now = native.now();
    let last = 0;
    for (const {due, isRepeated} of timers.values()) {
      if (isRepeated === wantsRepeated) last = Math.max(last, due - now + 1);
    }
    return wantsRepeated ? last : Math.max(last, animations(), workers());
  };
  // An interval that a step has begun, such as that of a button "play".
  const isTicking = () => [...timers.values()].some(timer => timer.isRepeated && timer.begun === begun);
  const counts = () => {
    count(observer.takeRecords());
    return {
      changes, added, prevented, url: location.href, born: performance.timeOrigin, pending: pending(false),
      ticking: isTicking(),
    };
  };
  const sleep = ms => new Promise(resolve => native.setTimeout(resolve, ms));
  const observe = root => {
    if (observed.has(root)) return;
    observed.add(root);
    observer.observe(root, {
      subtree: true, childList: true,
      attributeFilter: [
        'class', 'style', 'hidden', 'open', 'src', 'srcset', 'disabled', 'aria-disabled', 'aria-expanded', 'aria-selected',
      ],
    });
  };

  /* Go back to an address that this document had before. Return whether there is one. */
  const goTo = async url => {
    if (location.href === url) return true;
    const entries = window.navigation ? navigation.entries() : [];
    const here = window.navigation?.currentEntry?.index ?? 0;
    const near = entries.filter(entry => entry.sameDocument && entry.url === url)
      .sort((one, other) => Math.abs(one.index - here) - Math.abs(other.index - here))[0];
    if (!near) return false;
    try {
      await Promise.race([navigation.traverseTo(near.key).finished, sleep(1000)]);
    } catch { /* The page stopped the traversal. */ }
    return location.href === url;
  };

  Object.defineProperty(window, KEY, {value: Object.freeze({
    /* Return the elements that have listeners. */
    listening: () => listening.map(reference => reference.deref()).filter(element => element && element.isConnected),
    heard: element => heard.get(element),
    global,
    rootOf: element => element.shadowRoot || roots.get(element) || null,
    /* Count the changes below a document or a shadow root from now on. */
    observe,
    /* Call the timers that have run before and are set again the background of the page, which nobody waits for. */
    rest: () => {
      for (const {source} of timers.values()) if (sources.has(source)) background.add(source);
      for (const [id, {source}] of timers) if (background.has(source)) timers.delete(id);
    },
    /* Return the milliseconds until the last timer, and the last turn of an interval; 0 when there is none. */
    pending: () => [pending(false), pending(true)],
    /* Return whether a script or an animation may act in the document. */
    isScripted: () => document.getAnimations().length > 0 || drawn().length > 0
      || document.querySelector('script, [onload], [onerror], [onpageshow], [onfocus], meta[http-equiv=refresh i]') !== null,
    /* Begin a step: wait for timers again, and return the counts so far. */
    begin: () => {
      sources.clear();
      begun += 1;
      observe(document);
      return counts();
    },
    /* Return what has happened in the document. A document with another `born` is another one. */
    counts,
    /* Return the counts after a pause. */
    pause: async ms => {
      await sleep(ms);
      return counts();
    },
    sleep,
    /* Keep the document from being left, or let it be left again. The guard comes after the page's listeners. */
    guard: isOn => {
      if (!window.navigation) return;
      navigation.removeEventListener('navigate', guard);
      if (isOn) apply(native.listen, navigation, ['navigate', guard]);
    },
    /* Return the addresses to which the document wanted to go. */
    left: () => [...left],
    /* Return the addresses that the document gave itself. */
    routes: () => [...routes],
    goTo,
  })});
})();
