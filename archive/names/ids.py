"""This module makes unique names for exchanges and records.

Each read of the system's random bytes releases the interpreter lock to another thread, which is expensive. So the bytes
of many names are read at once. The names are not secret.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Final

_NAMES: Final = 128
"""Names whose bytes are read at once."""
_BYTES: Final = 16

_ready: Final = deque[str]()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ready.clear)  # the parent uses them


def new_name() -> str:
    """Return 128 random bits as 32 hexadecimal digits."""
    while True:
        try:
            return _ready.popleft()  # one atomic step, so that threads can share them
        except IndexError:
            digits = os.urandom(_NAMES * _BYTES).hex()
            _ready.extend(digits[at : at + 2 * _BYTES] for at in range(0, len(digits), 2 * _BYTES))


def new_id() -> str:
    """Return a random UUID, version 4 (RFC 9562 section 5.4), without its urn: prefix."""
    text = new_name()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[int(text[16], 16) & 3]}{text[17:20]}-{text[20:]}"
