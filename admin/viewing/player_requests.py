"""The player's worker asks for archived resources in its own name; this module tells what the archived page asked.

The worker sends the headers of the page's request. The page's address stands in `X-Proxy-Referer`, since a browser lets
no script set `Referer`. Cookies and the page's origin can't be sent, and `Sec-Fetch-*` tell of the worker. A request
for a document begins a page visit, and requests from that page belong to the visit, so that a URL that a page asks for
twice gets its first and then its second capture. Other programs that ask have no visits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proxy.protocol.http1 import FieldLines, RequestHead
from proxy.replay.matching.visits import PageLoad, PageLoads, is_document

UNTOLD: Final = frozenset(("cookie", "origin"))
"""Header fields of the page's request that the player can't send."""
_OF_THE_WORKER: Final = frozenset((b"cookie", b"host", b"origin", b"referer", b"x-proxy-referer", b"x-proxy-cookie"))
_REFERRER: Final = b"x-proxy-referer"
_WORKER_FETCHES: Final = b"empty"


def archived_fields(headers: Mapping[bytes, bytes]) -> FieldLines:
    """Return the header fields of the request as the archived page made it, as far as they are known."""
    kept = {
        name: value
        for name, value in headers.items()
        if name not in _OF_THE_WORKER and not name.startswith(b"sec-fetch-")
    }
    if (page := headers.get(_REFERRER)) is not None:
        kept[b"referer"] = page
    return tuple((name, value, b"%b: %b\r\n" % (name, value)) for name, value in kept.items())


class PlayerVisits:
    """This memory keeps the pages that the players of all readers show. It is used on the event loop's thread."""

    def __init__(self) -> None:
        self._loads = PageLoads()

    def of(
        self, reader: str, method: str, headers: Mapping[bytes, bytes], url: str
    ) -> tuple[PageLoad | None, PageLoad | None]:
        """Return the visit to which a request belongs, and the visit that it begins; None for other programs.

        `reader` names an address and what it looks at. A document belongs to no visit: the reader chose its date.
        """
        if headers.get(b"sec-fetch-dest") != _WORKER_FETCHES:
            return None, None
        head = RequestHead(method, url, 1, archived_fields(headers))
        if not is_document(head) and _REFERRER not in headers:
            return None, None
        visit, page = self._loads.of(reader, head, url)
        return (None, page) if page is not None else (visit, None)
