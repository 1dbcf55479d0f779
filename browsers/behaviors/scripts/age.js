// Tools that answer a plain question for the reader's age. The caller gives the words of labels.
tools => {
  'use strict';
  const BUTTONS = 'button, a[href], input[type=button], input[type=submit], [role=button], [onclick]';
  const FIELDS = 'select, input';
  const SECRET = 'input[type=password], input[type=email], input[type=tel], input[type=file]';
  const MOST_FIELDS = 6;
  const MOST_BUTTONS = 60;
  const MOST_LABEL = 60;
  const YEAR = new RegExp(tools.words.year, 'i');
  const GROWN_UP = 1980;
  const used = new WeakSet();

  const tell = field => {
    for (const type of ['input', 'change']) field.dispatchEvent(new Event(type, {bubbles: true, composed: true}));
  };
  const nameOf = field => `${field.name} ${field.id} ${field.getAttribute('placeholder') || ''} ${field.getAttribute('aria-label') || ''} `
    + [...(field.labels || [])].map(label => label.textContent).join(' ').slice(0, 200);
  const choose = field => {
    const values = [...field.options].filter(option => option.value && !option.disabled);
    const year = values.find(option => option.text.trim() === String(GROWN_UP))
      || values.filter(option => /^19[5-8]\d$/.test(option.text.trim())).pop();
    field.value = (year || values[0])?.value ?? field.value;
  };
  const set = (field, value) => {
    // Frameworks watch the property of the element, so that the property of the prototype must be set.
    const descriptor = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value');
    descriptor.set.call(field, value);
  };

  const answer = (field, count) => {
    if (field.localName === 'select') choose(field);
    else if (field.type === 'date') set(field, `${GROWN_UP}-01-01`);
    else if (field.type === 'checkbox') {
      if (!field.checked) field.click();
      return;
    } else set(field, YEAR.test(nameOf(field)) || count === 1 ? String(GROWN_UP) : '01');
    tell(field);
  };

  const MOST_ELEMENTS = 1500;
  const MOST_LINKS = 40;
  /* Return the text in which a page asks for the age: that of a window over the page, or of a short page. Return also
     whether it is a window, and whether there is something to answer with. */
  tools.questionText = (most, yes, no) => {
    const over = tools.windowOver();
    if (over) return [over.innerText.slice(0, most + 1), true, true];
    const body = document.body;
    const isLong = !body || body.getElementsByTagName('*').length > MOST_ELEMENTS
      || body.querySelectorAll('a[href]').length > MOST_LINKS;
    if (isLong) return ['', false, false];
    const canAnswer = fieldsOf(body).length > 0 || buttonsOf(body).some(saysYes(yes, no));
    return [`${document.title}\n${body.innerText}`.slice(0, most + 1), false, canAnswer];
  };

  const fieldsOf = root => [...root.querySelectorAll(FIELDS)].filter(field => !field.disabled
    && (field.localName === 'select' || /^(text|number|date|checkbox|radio)$/.test(field.type))
    && (tools.isVisible(field) || [...(field.labels || [])].some(tools.isVisible))).slice(0, MOST_FIELDS);
  const buttonsOf = root => [...root.querySelectorAll(BUTTONS)].slice(0, MOST_BUTTONS).filter(button => {
    const isAway = button.localName === 'a' && /^https?:$/.test(button.protocol) && button.origin !== location.origin;
    return !isAway && tools.isVisible(button) && tools.isUsable(button);
  });
  const saysYes = (yes, no) => {
    const [isYes, isNo] = [new RegExp(yes, 'iu'), new RegExp(no, 'iu')];
    return element => {
      const label = tools.label(element) || element.textContent.trim() || element.value || '';
      return label.length <= MOST_LABEL && isYes.test(label) && !isNo.test(label);
    };
  };

  /* Answer the question in the window over the page, or in the whole page. Return the place of the button behind the
     answer, or null. Each button is offered once. */
  tools.ageButton = (yes, no, isWhole) => {
    const root = tools.windowOver() || (isWhole ? document.body : null);
    if (!root || [...root.querySelectorAll(SECRET)].some(tools.isVisible)) return null;
    const shown = fieldsOf(root);
    const written = shown.filter(field => !/^(checkbox|radio)$/.test(field.type));
    const isYes = saysYes(yes, no);
    for (const field of shown) {
      if (used.has(field)) continue;
      used.add(field);
      if (field.type !== 'radio') answer(field, written.length);
      else if ([...(field.labels || []), field].some(isYes)) field.click();
    }
    const buttons = buttonsOf(root).filter(button => !used.has(button));
    const fit = buttons.filter(isYes);
    // The only button behind fields needs no telling word.
    const isAlone = shown.length > 0 && buttons.length === 1 && !new RegExp(no, 'iu').test(tools.label(buttons[0]));
    const button = fit[0] || (isAlone ? buttons[0] : null);
    if (!button) return null;
    used.add(button);
    const place = tools.place(button);
    if (!place.isOnTop) { button.click(); return {...place, isClicked: true}; }
    return {...place, isClicked: false};
  };
}
