"""A ghost notes the errors of a page: uncaught exceptions, rejected promises, and what scripts write by console.error.

A script in each document listens and counts. The page can't see it, and a flood of errors costs no message to us: the
errors are asked for once, at the end of the visit. An exception in a script of another origin, which that origin does
not share, has the text `Script error.` and no place, as for the page itself. A document that a script opens anew by
`document.open` loses the account of its exceptions, as it loses its own listeners.
"""

from __future__ import annotations

import secrets
from asyncio import timeout
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import islice
from typing import Any, Final

from browsers.engines.interface import BrowserWindow, EngineError, InitScript, World

MAX_ERRORS: Final = 100
"""Largest number of different errors of a page."""
MAX_ERROR_TEXT: Final = 500
"""Largest number of characters of the text of an error, and of its place."""
_MOST_FRAMES: Final = 50
_FRAME_SECONDS: Final = 3.0
_MOST_COUNTED: Final = 1_000_000_000
_UNIT, _RECORD = "\x1f", "\x1e"
_QUESTION: Final = f"g{secrets.token_hex(12)}"
"""The name of the event that asks for the errors. No page can guess it."""
_SCRIPT: Final = r"""
((question, most, longest) => {
  const {apply, getOwnPropertyDescriptor} = Reflect;
  const {slice} = String.prototype;
  const text = String;
  const answer = EventTarget.prototype.dispatchEvent;
  const Answer = CustomEvent;
  const isError = Error.isError || (value => value instanceof Error);
  const getter = (type, name) => getOwnPropertyDescriptor(type.prototype, name).get;
  const [message, file, line] = ['message', 'filename', 'lineno'].map(name => getter(ErrorEvent, name));
  const reason = getter(PromiseRejectionEvent, 'reason');
  const counts = Object.create(null);
  let different = 0;
  const short = value => apply(slice, value, [0, longest]);
  const said = value => {
    if (typeof value !== 'object' && typeof value !== 'function') return text(value);
    if (value === null || !isError(value)) return '[object]';
    const own = getOwnPropertyDescriptor(value, 'message');
    return own && typeof own.value === 'string' ? own.value : '[error]';
  };
  const note = (what, where) => {
    const key = short(what) + '\x1f' + short(where);
    if (key in counts) counts[key]++;
    else if (different < most) { different++; counts[key] = 1; }
  };
  addEventListener('error', event => {
    if (!event.isTrusted || !(event instanceof ErrorEvent)) return;
    const at = apply(file, event, []);
    note(text(apply(message, event, [])), at ? at + ':' + apply(line, event, []) : '');
  }, true);
  addEventListener('unhandledrejection', event => {
    if (event.isTrusted) note('Uncaught (in promise) ' + said(apply(reason, event, [])), '');
  }, true);
  console.error = new Proxy(console.error, {apply: (target, self, values) => {
    let line = '';
    for (let at = 0; at < values.length && at < 10 && line.length < longest; at++)
      line += (at ? ' ' : '') + short(said(values[at]));
    note(line, '');
    return apply(target, self, values);
  }});
  addEventListener(question, () => {
    let all = '';
    for (const key in counts) all += counts[key] + '\x1f' + key + '\x1e';
    apply(answer, window, [new Answer(question + 'a', {detail: all})]);
  });
})(QUESTION, MOST, LONGEST);
"""
_ASK_SCRIPT: Final = """
([question, most]) => {
  let all = '';
  const take = event => { if (typeof event.detail === 'string') all += event.detail.slice(0, most - all.length); };
  addEventListener(question + 'a', take);
  dispatchEvent(new Event(question));
  removeEventListener(question + 'a', take);
  return all;
}
"""


@cache
def errors_script() -> InitScript:
    """Return the script that counts the errors of a document from its beginning."""
    source = _SCRIPT.replace("QUESTION", repr(_QUESTION)).replace("MOST", str(MAX_ERRORS))
    return InitScript(source.replace("LONGEST", str(MAX_ERROR_TEXT)), World.PAGE)


async def page_errors(window: BrowserWindow) -> list[dict[str, Any]]:
    """Return the different errors of the present documents of all frames, at most `MAX_ERRORS`, the first ones first.

    | key | value |
    |---|---|
    | `text` | the beginning of the message |
    | `at` | URL and line of the script; absent when they are not known |
    | `count` | how often there was this error |

    Raises EngineError when the main frame can't be asked.
    """
    found: list[dict[str, Any]] = []
    bounds = [_QUESTION, MAX_ERRORS * (2 * MAX_ERROR_TEXT + 20)]
    for frame in window.frames[:_MOST_FRAMES]:
        try:
            async with timeout(_FRAME_SECONDS):
                found += _read(str(await frame.evaluate(_ASK_SCRIPT, bounds)))
        except (EngineError, TimeoutError):
            if frame.is_main:
                raise
            continue  # the frame went away, or it never had a document
        if len(found) >= MAX_ERRORS:
            break
    return found[:MAX_ERRORS]


def errors_of(found: Iterable[object]) -> list[dict[str, Any]]:
    """Return the entries that have the form of an error, at most `MAX_ERRORS`. Others are left out."""
    errors = []
    for each in islice(found, MAX_ERRORS):
        if not isinstance(each, Mapping):
            continue
        text, at, count = each.get("text"), each.get("at", ""), each.get("count", 1)
        if isinstance(text, str) and isinstance(at, str) and isinstance(count, int) and count > 0:
            place = {"at": at[:MAX_ERROR_TEXT]} if at else {}
            errors.append({"text": text[:MAX_ERROR_TEXT], **place, "count": min(count, _MOST_COUNTED)})
    return errors


def _read(told: str) -> list[dict[str, Any]]:
    """Return the errors that the script of a document tells."""
    entries = (each.split(_UNIT) for each in told.split(_RECORD))
    return errors_of(
        {"count": int(count[:12]), "text": text, "at": at}
        for count, text, at in (entry for entry in entries if len(entry) == 3)
        if count.isascii() and count.isdigit()
    )
