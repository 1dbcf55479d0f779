"""A `Warcprox-Meta` header may be set by the browser's controller or by a script on the page. This module tells one
from the other.

A crawler that steers a browser, as brozzler does, lets it put `Warcprox-Meta` on every request, and what scripts fetch
is among these. A script could put one of its own on what it fetches. Browsers tell the two apart with headers that
scripts can't set (Fetch standard, "forbidden request-header"): `Sec-Fetch-Dest` is `empty` for what scripts fetch,
and names what is loaded otherwise; `Origin` is on every request by a script but GET and HEAD to its own origin.

So a value from what may be a script counts only if the same client has sent the same value on a request that no script
can have made: a CONNECT, or one whose `Sec-Fetch-Dest` names what is loaded. A request without any of these headers
proves nothing, because a script's GET over plain http has none: its value counts for that request and for no other. A
client is an address and a session; what one client vouches for does not count for another. The values are remembered
in a table that all processes of the home share, since a page's requests go to any of them.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
from pathlib import Path
from typing import Final

from proxy.protocol.http1 import RequestHead

log = logging.getLogger(__name__)

_SLOTS: Final = 65_536
_WIDTH: Final = 16
_SIZE: Final = _SLOTS * _WIDTH


def may_be_script(head: RequestHead) -> bool:
    """Return whether a page's script may have made this request.

    Browsers don't send Sec-Fetch-Dest over plain http: there a GET by a script can't be told from others.
    """
    made_for = head.get(b"sec-fetch-dest")
    return made_for == b"empty" if made_for is not None else head.get(b"origin") is not None


def is_by_browser(head: RequestHead) -> bool:
    """Return whether a browser marks the request as its own. A script can't leave these marks out."""
    return head.get(b"origin") is not None or head.get(b"sec-fetch-dest") is not None


def is_beyond_scripts(head: RequestHead) -> bool:
    """Return whether no page's script can have made this request or have chosen its headers."""
    return head.method == "CONNECT" or head.get(b"sec-fetch-dest") not in (None, b"empty")


class MetaTrust:
    """The table has the values of `Warcprox-Meta` that came on requests no script can have made."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` is the file of the table that the processes share; without a path the table is this process's own."""
        self._path = path
        self._table: mmap.mmap | None = None

    def is_trusted(self, head: RequestHead, value: bytes, client: str) -> bool:
        """Return whether the value may be obeyed, and remember it when the request proves it.

        `client` is the address and the session of the client.
        """
        is_proof = is_beyond_scripts(head)
        if not is_proof and not may_be_script(head):
            return True
        mark = hashlib.blake2b(client.encode() + b"\0", digest_size=_WIDTH)
        mark.update(value)
        digest = mark.digest()
        table = self._open()
        at = int.from_bytes(digest[:2]) * _WIDTH
        if is_proof:
            table[at : at + _WIDTH] = digest
        return table[at : at + _WIDTH] == digest

    def _open(self) -> mmap.mmap:
        if self._table is None:
            try:
                self._table = _shared(self._path) if self._path is not None else mmap.mmap(-1, _SIZE)
            except OSError as error:
                log.warning("the trusted values of Warcprox-Meta are not shared with other processes: %s", error)
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
