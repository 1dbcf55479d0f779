// Tools that use the controls of forms that ask for a document. A form that sends something is never touched.
tools => {
  'use strict';
  const MOST_CONTROLS = 30;
  const MOST_OPTIONS = 12;
  const PRIVATE = /password|passwd|e-?mail|phone|card|address|iban|comment|message|csrf|amount|price|qty|quantity|payment/i;
  const ACTIONS = /log-?_?(in|out)|sign-?_?(in|out|up)|register|delete|remove|checkout|cart|basket|buy|pay|order|subscribe|unsubscribe/i;
  const controls = [];
  const used = new WeakMap();  // control -> its options when it was used

  const isSafe = form => {
    if (!form) return true;
    if ((form.getAttribute('method') || 'get').toLowerCase() !== 'get') return false;
    if (ACTIONS.test(`${form.getAttribute('action') || ''} ${form.id} ${form.getAttribute('class') || ''}`)) return false;
    return [...form.elements].slice(0, 100).every(control => !/^(password|email|tel|file)$/.test(control.type)
      && !PRIVATE.test(`${control.name || ''} ${control.id || ''}`));
  };
  const change = element => {
    element.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
    element.dispatchEvent(new Event('change', {bubbles: true}));
  };
  // React and others watch the property of the element, so that the property of the prototype must be set.
  const set = (element, name, value) => {
    const prototype = Object.getPrototypeOf(element);
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
    if (descriptor?.set) descriptor.set.call(element, value);
    else element[name] = value;
  };

  // A date is the last and the first that may be chosen, and the neighbours of the present one.
  const dateValues = element => {
    const near = document.createElement('input');
    near.type = element.type;
    const values = [element.max, element.min];
    for (const steps of [-1, 1]) {
      near.value = element.value || element.max;
      if (!near.value) continue;
      steps < 0 ? near.stepDown() : near.stepUp();
      if ((!element.min || near.value >= element.min) && (!element.max || near.value <= element.max)) values.push(near.value);
    }
    return [...new Set(values)].filter(value => value && value !== element.value);
  };
  // The ends of a slider come first; a slider without effect there is given up.
  const rangeValues = element => {
    const number = (text, other) => text === '' || Number.isNaN(Number(text)) ? other : Number(text);
    const [min, max] = [number(element.min, 0), number(element.max, 100)];
    const steps = Math.floor((max - min) / (Math.max(number(element.step, 1), 0) || 1));
    const parts = steps <= MOST_OPTIONS ? Math.max(steps, 1) : 4;
    return [max, min, ...Array.from({length: parts - 1}, (_, at) => min + (max - min) * (at + 1) / parts)];
  };

  // A field with small arrows steps through the numbers behind its own, such as the pages of a book.
  const numberValues = element => {
    const near = document.createElement('input');
    near.type = 'number';
    for (const name of ['min', 'max', 'step']) near[name] = element[name] === 'any' ? '' : element[name];
    near.value = element.value || element.min || '0';
    const values = [];
    for (let before = near.value; values.length < MOST_OPTIONS; before = near.value) {
      near.stepUp();
      if (near.value === before) break;
      values.push(near.value);
    }
    return values;
  };

  const present = new WeakSet();
  /* Remember the controls that are shown now: `controls(true)` leaves them for later. */
  tools.noteControls = () => {
    for (const element of tools.elements()) {
      if (/^(select|input)$/.test(element.localName) && tools.isVisible(element)) present.add(element);
    }
  };

  /* Return how many values each new select, slider, number or search box has to try. */
  tools.controls = (isShownLater = false) => {
    const fresh = [];
    for (const element of tools.elements()) {
      if (controls.length >= MOST_CONTROLS) break;
      if (!['select', 'input'].includes(element.localName) || !tools.isUsable(element)) continue;
      if (isShownLater && present.has(element)) continue;
      const options = element.localName === 'select' ? [...element.options].slice(0, 50).map(option => option.value).join('|') : '';
      if (used.get(element) === options) continue;
      if (!isSafe(element.form) || !tools.isVisible(element)) continue;
      let turns = 0;
      let isText = false;
      if (element.localName === 'select') turns = Math.min(element.options.length, MOST_OPTIONS);
      else if (element.type === 'range') turns = rangeValues(element).length;
      else if (/^(date|month|week)$/.test(element.type)) turns = dateValues(element).length;
      else if (element.type === 'color') turns = 0;
      else if (element.type === 'number') {
        turns = PRIVATE.test(`${element.name} ${element.id} ${element.getAttribute('aria-label')}`) ? 0 : numberValues(element).length;
      } else if (/^(search|text)$/.test(element.type)) {
        const isSearch = element.type === 'search' || element.getAttribute('role') === 'combobox' || element.list
          || element.getAttribute('role') === 'searchbox' || /search|such|query|\bq\b|suggest|filter/i.test(`${element.name} ${element.id} ${element.placeholder}`)
          || tools.page.heard(element)?.has('input') || tools.page.heard(element)?.has('keyup');
        isText = isSearch && !PRIVATE.test(`${element.name} ${element.id}`);
        turns = isText ? 1 : 0;
      }
      if (!turns) continue;
      used.set(element, options);
      controls.push({element, value: element.value});
      fresh.push({number: controls.length - 1, turns, isText});
    }
    return fresh;
  };

  /* Choose the value of this turn. Return whether there was another value to choose. */
  tools.choose = (number, turn) => {
    const {element, value} = controls[number];
    if (!element.isConnected) return false;
    if (element.localName === 'select') {
      const option = element.options[turn];
      if (!option || option.disabled || option.value === value) return false;
      if (element.multiple) for (const each of element.options) each.selected = each === option;
      else set(element, 'value', option.value);
    } else if (element.type === 'range') set(element, 'value', String(rangeValues(element)[turn]));
    else if (element.type === 'number') {
      const near = numberValues(element);
      if (!near.length) return false;
      set(element, 'value', near[0]);
    } else set(element, 'value', dateValues(element)[turn]);
    change(element);
    return true;
  };

  /* Return the place of the button that acts on the value of a control, or null. */
  tools.buttonPlace = number => {
    const button = controls[number].element.isConnected ? tools.buttonOf(controls[number].element) : null;
    return button ? tools.place(button) : null;
  };

  /* Put the focus on a search box. Return whether it took the focus. */
  tools.focus = number => {
    const {element} = controls[number];
    if (!element.isConnected) return false;
    element.scrollIntoView({block: 'center', behavior: 'instant'});
    element.focus();
    return element.getRootNode().activeElement === element;
  };

  /* Give a control its first value back. */
  tools.restore = number => {
    const {element, value} = controls[number];
    if (!element.isConnected || element.value === value) return;
    set(element, 'value', value);
    change(element);
  };

  const MOST_SUBMITTED = 4;
  const MOST_FIELDS = 200;
  const submitted = new WeakSet();
  let count = 0;
  let next = null;

  /* Return whether there is another form that asks for a document. */
  tools.nextForm = () => {
    next = null;
    for (const form of count < MOST_SUBMITTED ? tools.elements() : []) {
      if (form.localName !== 'form' || submitted.has(form) || !isSafe(form) || !tools.isVisible(form)) continue;
      next = form;
      break;
    }
    return next !== null;
  };
  tools.submit = () => {
    if (!next?.isConnected) return;
    if (!submitted.has(next)) count += 1;
    submitted.add(next);
    const groups = new Set();
    const own = [...next.elements].slice(0, MOST_FIELDS);
    for (const control of own) {
      if (control.disabled) continue;
      if (/^(search|text)$/.test(control.type) && !control.value) set(control, 'value', 'a');
      if (control.type === 'checkbox' && control.required && !control.checked) control.click();
      if (control.type !== 'radio' || groups.has(control.name)) continue;
      groups.add(control.name);
      const group = own.filter(each => each.type === 'radio' && each.name === control.name);
      if (!control.checked && !group.some(each => each.defaultChecked)) control.click();  // a person takes the first
    }
    // The document of the answer is shown in a window of its own, unless a script answers.
    const target = next.getAttribute('target');
    next.target = '_blank';
    try {
      next.requestSubmit();
    } finally {
      if (target === null) next.removeAttribute('target');
      else next.target = target;
    }
  };

  /* Return the addresses that the GET forms of the document ask for, with each option of their selects. */
  tools.formAddresses = () => {
    const found = new Set();
    for (const element of tools.elements()) {
      if (found.size >= 100) break;
      if (element.localName !== 'form' || !isSafe(element) || (element.target && element.target !== '_self')) continue;
      const address = () => {
        try {
          const url = new URL(element.getAttribute('action') || location.href, document.baseURI);
          const submit = [...element.elements].find(each => each.type === 'submit' && each.name);
          url.search = new URLSearchParams(new FormData(element, submit && !submit.disabled ? submit : undefined)).toString();
          url.hash = '';
          if (/^https?:$/.test(url.protocol) && url.href.length < 4096) found.add(url.href);
        } catch { /* The action is no address, or a file is in the form. */ }
      };
      address();
      for (const control of [...element.elements].slice(0, 30)) {
        if (control.localName !== 'select' || !control.name) continue;
        const before = control.selectedIndex;
        for (let i = 0; i < Math.min(control.options.length, MOST_OPTIONS); i++) {
          control.selectedIndex = i;
          address();
        }
        control.selectedIndex = before;
      }
      for (const control of [...element.elements].slice(0, 60)) {
        if (!/^(radio|checkbox)$/.test(control.type) || !control.name || control.checked || control.disabled) continue;
        const group = [...element.elements].filter(each => each.type === 'radio' && each.name === control.name && each.checked);
        control.checked = true;
        address();
        control.checked = false;
        for (const each of group) each.checked = true;
      }
    }
    return [...found];
  };
}
