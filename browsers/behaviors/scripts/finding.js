// Tools that find the element of a recorded step by its selectors, and use it.
tools => {
  'use strict';
  let found = null;

  const byText = (root, text) => [...root.querySelectorAll('*')]
    .filter(element => element.textContent.trim() === text && !['SCRIPT', 'STYLE'].includes(element.tagName)).pop() || null;
  const byName = (root, name, role) => [...root.querySelectorAll('*')].find(element => {
    const own = element.getAttribute('role') || {a: 'link', button: 'button', h1: 'heading', h2: 'heading'}[element.localName];
    if (role && own !== role && !(role === 'textbox' && element.matches('input, textarea'))) return false;
    const labels = [element.getAttribute('aria-label'), element.getAttribute('alt'), element.getAttribute('title'),
      element.getAttribute('placeholder'), ...[...(element.labels || [])].map(label => label.textContent.trim())];
    if (labels.includes(name)) return true;
    return element.matches('a, button, summary, label, [role], h1, h2, h3, option') && element.textContent.trim() === name;
  }) || null;
  const pierce = selector => {
    for (const element of tools.elements()) if (element.matches(selector)) return element;
    return null;
  };
  const one = (root, selector) => {
    try {
      if (selector.startsWith('aria/')) {
        const match = /^aria\/(.*?)(?:\[role="(.*)"\])?$/.exec(selector);
        return byName(root, match[1], match[2]);
      }
      if (selector.startsWith('xpath/')) {
        return document.evaluate(selector.slice(6).replace(/^\/\/\//, '//'), root, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
      }
      if (selector.startsWith('text/')) return byText(root, selector.slice(5));
      if (selector.startsWith('pierce/')) return pierce(selector.slice(7));
      return root.querySelector(selector);
    } catch { return null; }
  };

  /* Return the place of the first visible element of these selectors, or null. */
  tools.find = alternatives => {
    for (const way of alternatives) {
      let root = document;
      let element = null;
      for (const selector of way) {
        element = root ? one(root, selector) : null;
        root = element ? tools.page.rootOf(element) || element : null;
      }
      if (element && tools.isVisible(element)) {
        found = element;
        return tools.place(element);
      }
    }
    return null;
  };
  tools.holds = expression => Boolean((0, eval)(expression));
  tools.doubleClickFound = () => found.dispatchEvent(new MouseEvent('dblclick', {bubbles: true, composed: true, detail: 2}));
  tools.scrollFound = (x, y) => found.scrollTo({left: x, top: y, behavior: 'instant'});
  tools.scrollTo = (x, y) => window.scrollTo({left: x, top: y, behavior: 'instant'});
  tools.changeFound = value => {
    found.focus();
    const isBox = /^(checkbox|radio)$/.test(found.type || '');
    const name = isBox ? 'checked' : 'value';
    const descriptor = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(found), name);
    const wanted = isBox ? value === 'true' || value === 'on' : value;
    if (found.isContentEditable) found.textContent = value;
    else if (descriptor?.set) descriptor.set.call(found, wanted);
    found.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
    found.dispatchEvent(new Event('change', {bubbles: true}));
  };
}
