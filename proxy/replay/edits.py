"""Small changes of a payload on its way to the client. The record is never changed.

Replay changes nothing by default but the name of a JSONP function, and the values that a page has made up and that the
answer repeats, when a page asks with others than it did when it was recorded. Such an answer says so in
`Ghostfleet-Replay`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from proxy.replay.matching.echoes import Echo, repeated
from proxy.replay.matching.similar import Callback

type Edit = Callable[[bytes], bytes | None]
"""An edit takes the content without its coding, and gives the changed content; None when it changes nothing."""

MAX_EDITED: Final = 8_388_608
"""Bytes of a payload that is changed at most; a longer one is sent as it is."""
_BEFORE_CALL: Final = 512
"""Bytes at the beginning of a script in which the call of the function stands."""


def callback_edit(callback: Callback) -> Edit:
    """Return the edit that calls the function by the name that is asked for."""
    recorded, asked = callback.recorded.encode("utf-8", "replace"), callback.asked.encode("utf-8", "replace")
    name = re.compile(rb"(?<![\w$.])" + re.escape(recorded) + rb"(?![\w$])")

    def edit(content: bytes) -> bytes | None:
        call = re.compile(rb"(?<![\w$.])" + re.escape(recorded) + rb"\s*\(").search(content, 0, _BEFORE_CALL)
        if call is None:
            return None
        return name.sub(lambda _: asked, content[: call.end()]) + content[call.end() :]

    return edit


def repeating_edit(callback: Callback | None, echoes: Sequence[Echo]) -> Edit | None:
    """Return the edit that calls the function that is asked for, and repeats the values that are asked with."""
    if not echoes:
        return callback_edit(callback) if callback is not None else None
    call = callback_edit(callback) if callback is not None else None

    def edit(content: bytes) -> bytes | None:
        called = call(content) if call is not None else None
        changed = repeated(called if called is not None else content, echoes)
        return changed if changed is not None else called

    return edit
