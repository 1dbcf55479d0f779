// Tools that close what the behaviours have left open: dialogs, popovers, menus and other windows over the page.
tools => {
  'use strict';
  const MOST_MENUS = 10;

  const matches = (element, selector) => {
    try { return element.matches(selector); } catch { return false; /* The browser does not know the selector. */ }
  };
  const dialogs = () => [...document.querySelectorAll('dialog[open]')].filter(each => matches(each, ':modal'));
  const popovers = () => [...document.querySelectorAll('[popover]')].filter(each => matches(each, ':popover-open'));
  const menus = () => [...document.querySelectorAll('[aria-haspopup][aria-expanded=true]')].filter(tools.isVisible).slice(0, MOST_MENUS);

  /* Return whether something lies over the page or a menu is open. */
  tools.hasLeftovers = () => dialogs().length > 0 || popovers().length > 0 || menus().length > 0 || tools.windowOver() !== null;

  /* Close what has an interface for this, and menus by their own controls. */
  tools.closeLeftovers = () => {
    for (const each of popovers()) each.hidePopover();
    for (const each of dialogs()) each.close();
    for (const each of menus()) if (!tools.windowOver()) each.click();
  };
}
