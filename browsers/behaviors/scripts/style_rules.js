// Tools that read the style rules of the page.
tools => {
  'use strict';
  const MOST_RULES = 5000;
  const MOST_REVEALED = 60;
  const MOST_SELECTORS = 100;

  /* Return the style rules of a document or a shadow root, also those within others. `budget` bounds all calls with it. */
  tools.styleRules = (root, budget = {left: MOST_RULES}) => {
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

  let targetRules = null;
  /* Return whether the document changes with its fragment by rules with :target. */
  tools.hasTargetRules = () => {
    targetRules ??= tools.styleRules(document).some(rule => rule.selectorText.includes(':target'));
    return targetRules;
  };

  // Style rules show some controls only while the mouse is over what is around them. Such a control is clicked hidden.
  let rulesOf = -1;
  let revealing = [];
  /* Return the elements that rules show while the mouse is over what is around them. */
  tools.revealed = () => {
    if (rulesOf !== document.styleSheets.length) {
      rulesOf = document.styleSheets.length;
      revealing = tools.styleRules(document)
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
  /* Return whether such a rule shows a control; `all` is from `revealed`. */
  tools.isRevealed = (element, all) => {
    if (!all.size || !element.matches('button, [role=button]') || element.closest('[hidden], [inert], template')) return false;
    for (let node = element, i = 0; node && i < 4; i++, node = tools.parent(node)) if (all.has(node)) return true;
    return false;
  };
}
