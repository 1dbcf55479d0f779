// Tools that run a behaviour class after Browsertrix's contract, with functions of our own under its names.
tools => {
  'use strict';
  const page = tools.page;
  const MOST_LINKS = 1000;
  const POLL_MS = 100;
  let active = null;

  const scrollIntoView = element => element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const waitUntil = async (test, interval = POLL_MS) => {
    while (active && !test()) await page.sleep(Math.max(10, interval));
  };
  const xpathNodes = function* (path, root) {
    const found = document.evaluate(path, root || document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
    for (let i = 0; i < found.snapshotLength; i++) yield found.snapshotItem(i);
  };
  const library = Object.freeze({
    sleep: ms => page.sleep(Math.min(Number(ms) || 0, 10000)),
    waitUntil,
    waitUntilNode: async (path, root = document, old = null, timeout = 1000, interval = POLL_MS) => {
      let node = null;
      const end = performance.now() + timeout;
      await waitUntil(() => {
        node = [...xpathNodes(path, root)][0] ?? null;
        return (node && node !== old) || performance.now() > end;
      }, interval);
      return node;
    },
    waitForNetworkIdle: () => page.sleep(500),
    scrollAndClick: async (element, interval = 500) => {
      scrollIntoView(element);
      element.click();
      await page.sleep(Math.min(interval, 10000));
    },
    xpathNode: (path, root) => [...xpathNodes(path, root)][0] ?? null,
    xpathNodes,
    xpathString: (path, root) => document.evaluate(path, root || document, null, XPathResult.STRING_TYPE).stringValue,
    iterChildElem: async function* (root, timeout = 1000) {
      let child = root?.firstElementChild;
      while (child && active) {
        yield child;
        if (!child.nextElementSibling) {
          const end = performance.now() + timeout;
          await waitUntil(() => child.nextElementSibling || performance.now() > end, POLL_MS);
        }
        child = child.nextElementSibling;
      }
    },
    iterChildMatches: async function* (path, root, timeout = 1000) {
      const seen = new Set();
      for (let end = performance.now() + timeout; active && performance.now() < end; await page.sleep(POLL_MS)) {
        for (const node of xpathNodes(path, root)) {
          if (seen.has(node)) continue;
          seen.add(node);
          end = performance.now() + timeout;
          yield node;
        }
      }
    },
    isInViewport: element => {
      const box = element.getBoundingClientRect();
      return box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
    },
    scrollToOffset: (element, offset = 0) => window.scrollBy({top: element.getBoundingClientRect().top - offset, behavior: 'instant'}),
    scrollIntoView,
    getState: (context, msg, counter) => {
      if (counter) context.state[counter] = (context.state[counter] || 0) + 1;
      return {state: context.state, msg};
    },
    addLink: url => { if (active && active.links.size < MOST_LINKS) active.links.add(new URL(url, document.baseURI).href); },
    assertContentValid: (test, reason) => { if (!test()) throw new Error(`the content is not valid: ${reason}`); },
    openWindow: url => window.open(url),
    doExternalFetch: async url => { await fetch(url, {mode: 'no-cors', credentials: 'include'}); return true; },
  });

  /* Make the class, and return whether it is for this page. */
  tools.startClass = async (expression, isMain) => {
    const Behavior = (0, eval)(expression);
    if (!isMain && !Behavior.runInIframe) return false;
    if (!Behavior.isMatch()) return false;
    const {state = {}, opts = {}} = Behavior.init?.() || {};
    const context = {Lib: library, state, opts, log: () => {}};
    active = {links: new Set(), steps: 0, isDone: false};
    const behavior = new Behavior();
    const mine = active;
    mine.end = (async () => {
      await behavior.awaitPageLoad?.(context);
      for await (const each of behavior.run(context)) {
        mine.steps += 1;
        void each;
        if (active !== mine) break;
      }
    })().then(() => { mine.isDone = true; });
    mine.end.catch(() => {});
    return true;
  };

  /* Wait for the class, at most `ms`, and return how far it is. An error of the class is raised here. */
  tools.runClass = async ms => {
    if (!active) return {steps: 0, links: [], isDone: true};
    await Promise.race([active.end, page.sleep(ms)]);
    return {steps: active.steps, links: [...active.links], isDone: active.isDone};
  };
  tools.stopClass = () => { active = null; };
}
