"""Names that nobody else gives: of exchanges and of records.

Each reading of the system's random bytes lets go of the interpreter, and another thread takes it; three of them were a
fortieth of an exchange. So they are read for many names at once. They are no secrets.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Final

_NAMES: Final = 128
"""Read at once."""
_BYTES: Final = 16

_ready: Final = deque[str]()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ready.clear)  # the parent goes on to use them


def new_name() -> str:
    """128 random bits as 32 hexadecimal digits."""
    while True:
        try:
            return _ready.popleft()  # whole in one step, so that threads can share them
        except IndexError:
            digits = os.urandom(_NAMES * _BYTES).hex()
            _ready.extend(digits[at : at + 2 * _BYTES] for at in range(0, len(digits), 2 * _BYTES))


def new_id() -> str:
    """A random UUID, version 4 (RFC 9562 section 5.4), without its urn: prefix."""
    text = new_name()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[int(text[16], 16) & 3]}{text[17:20]}-{text[20:]}"
