"""Values of a page become JSON by a function of ours.

`JSON.stringify` asks each list and object for `toJSON`. Old libraries such as Prototype give all lists one that returns
a text, and then no list would leave the page.
"""

from __future__ import annotations

from typing import Final

TO_JSON: Final = r"""(value => {
  const {isArray} = Array, {keys} = Object, {stringify} = JSON;
  const write = value => {
    if (typeof value !== 'object' || value === null) return stringify(value);
    let all = '';
    if (isArray(value)) {
      for (let at = 0; at < value.length; at++) all += (at ? ',' : '') + (write(value[at]) ?? 'null');
      return '[' + all + ']';
    }
    const names = keys(value);
    for (let at = 0; at < names.length; at++) {
      const text = write(value[names[at]]);
      if (text !== undefined) all += (all ? ',' : '') + stringify(names[at]) + ':' + text;
    }
    return '{' + all + '}';
  };
  return write(value);
})"""
"""The JavaScript function returns the JSON of a value; `undefined` for what has none, such as a function."""
