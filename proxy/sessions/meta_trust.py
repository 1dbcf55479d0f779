"""Commands that a browser sends: whether whoever steers the browser gave them, or a page's script.

A crawler that steers a browser, as brozzler does, lets it put `Warcprox-Meta` on every request, and what scripts fetch
is among these. A script could put one of its own on what it fetches. Browsers tell the two apart with headers that
scripts can't set (Fetch standard, "forbidden request-header"): `Sec-Fetch-Dest` is `empty` for what scripts fetch,
and names what is loaded otherwise; `Origin` is on every request by a script but GET and HEAD to its own origin.

So a value from what may be a script counts only if the same value was on a request that no script can have made. The
values are remembered in a table that all processes of the home share, since a page's requests go to any of them.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
from pathlib import Path
from typing import Final

from proxy.http1 import RequestHead

log = logging.getLogger(__name__)

_SLOTS: Final = 65_536
_WIDTH: Final = 16
_SIZE: Final = _SLOTS * _WIDTH


def may_be_script(head: RequestHead) -> bool:
    """Whether a page's script may have made this request.

    Browsers don't send Sec-Fetch-Dest over plain http: there a GET by a script can't be told from others.
    """
    made_for = head.get(b"sec-fetch-dest")
    return made_for == b"empty" if made_for is not None else head.get(b"origin") is not None


def is_by_browser(head: RequestHead) -> bool:
    """Whether a browser says that it sent this; a script that uses a method of its own can't avoid that."""
    return head.get(b"origin") is not None or head.get(b"sec-fetch-dest") is not None


class Vouched:
    """Values of `Warcprox-Meta` that came on requests no script can have made; new ones take the places of old ones."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is the table to share with other processes; without one it is this process's own."""
        self._path = path
        self._table: mmap.mmap | None = None

    def obeys(self, head: RequestHead, value: bytes) -> bool:
        """Whether to do as the value says."""
        digest = hashlib.blake2b(value, digest_size=_WIDTH).digest()
        table = self._open()
        at = int.from_bytes(digest[:2]) * _WIDTH
        if table[at : at + _WIDTH] == digest:
            return True
        if may_be_script(head):
            return False
        table[at : at + _WIDTH] = digest
        return True

    def _open(self) -> mmap.mmap:
        if self._table is None:
            try:
                self._table = _shared(self._path) if self._path is not None else mmap.mmap(-1, _SIZE)
            except OSError as error:
                log.warning("what browsers command is known to this process alone: %s", error)
                self._table = mmap.mmap(-1, _SIZE)
        return self._table


def _shared(path: Path) -> mmap.mmap:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.ftruncate(fd, _SIZE)
        return mmap.mmap(fd, _SIZE)
    finally:
        os.close(fd)
