"""Scripts that look at a page: what is at a point, what is selected, and which fields take passwords."""

from __future__ import annotations

from typing import Final

WORLD: Final = "ghostfleet"
PASSWORD_BINDING: Final = "ghostfleetPasswordField"

AT_POINT: Final = """
([x, y]) => {
  let found = document.elementFromPoint(x, y), left = 0, top = 0;
  for (let depth = 0; found && depth < 10; depth++) {
    if (found.shadowRoot) {
      const inner = found.shadowRoot.elementFromPoint(x - left, y - top);
      if (!inner || inner === found) break;
      found = inner;
    } else if (found.localName === 'iframe' && found.contentDocument) {
      const box = found.getBoundingClientRect();
      left += box.left + found.clientLeft;
      top += box.top + found.clientTop;
      found = found.contentDocument.elementFromPoint(x - left, y - top);
    } else break;
  }
  const field = found && found.closest('select, input');
  if (!field || field.disabled || field.readOnly) return null;
  const box = field.getBoundingClientRect();
  const place = {x: box.left + left, y: box.top + top, width: box.width, height: box.height};
  if (field.localName === 'select' && field.size < 2 && !field.multiple) {
    globalThis.__ghostfleetPicked = field;
    const options = [...field.options].slice(0, 2000).map(each =>
      ({text: each.label || each.text, isOff: each.disabled || each.parentElement.disabled === true}));
    return {kind: 'select', options, value: field.selectedIndex, ...place};
  }
  if (['date', 'time', 'month', 'week', 'datetime-local', 'color'].includes(field.type)) {
    globalThis.__ghostfleetPicked = field;
    return {kind: field.type, value: field.value, min: field.min, max: field.max, ...place};
  }
  return null;
}
"""
"""Returns the field at a point for whose choice a browser opens a window of its own; null for any other."""

PICK: Final = """
([value]) => {
  const field = globalThis.__ghostfleetPicked;
  if (!field || !field.isConnected) return false;
  field.focus();
  const own = field.ownerDocument.defaultView;
  if (field.localName === 'select') field.selectedIndex = Number(value);
  else Object.getOwnPropertyDescriptor(own.HTMLInputElement.prototype, 'value').set.call(field, String(value));
  for (const name of ['input', 'change']) field.dispatchEvent(new own.Event(name, {bubbles: true, composed: true}));
  return true;
}
"""
"""Takes the choice for the field that `AT_POINT` found last."""

SELECTED: Final = """
() => {
  let view = window;
  for (let depth = 0; depth < 10; depth++) {
    const active = view.document.activeElement;
    if (active && active.localName === 'iframe' && active.contentWindow && active.contentDocument)
      view = active.contentWindow;
    else if (active && typeof active.selectionStart === 'number' && active.type !== 'password')
      return active.value.slice(active.selectionStart, active.selectionEnd);
    else break;
  }
  return String(view.getSelection());
}
"""
"""Returns the selected text. The text of a password field is never given away."""

PASSWORD_FIELDS: Final = f"""
addEventListener('focusin', event => {{
  const field = event.composedPath()[0];
  if (field && field.localName === 'input' && field.type === 'password')
    for (const name of [field.name, field.id]) if (name) {PASSWORD_BINDING}(String(name).slice(0, 200));
}}, true);
"""
"""Tells the names of fields for passwords before anything is typed into them."""
