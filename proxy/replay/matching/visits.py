"""Replay follows page visits: a URL that a page asks for twice gets its first and then its second capture.

A browser's request for a document begins a visit. The capture of the document gives the visit its date and, if it was
recorded in a session for one page, its page id. Requests whose Referer names the document, or its origin, belong to the
visit. Without a Referer a request belongs to the client's last visit. Of the captures of one URL those of the same page
id count, else those between the document's capture and its next one. They are answered in the order of their dates; the
last one is repeated. The captures of a repair stand in for those of the visit that it mends, and of no other visit. The
document of a frame that is loaded twice in one page is answered in this order, too. Ranges and HEAD requests do not
count, since players ask for parts of one response.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from archive.capture import Capture
from archive.dates import Micros
from archive.repairs import id_without_visit, is_repair
from proxy.protocol.http1 import RequestHead

_MOST_VISITS: Final = 2_000
"""Visits that are remembered, those of all clients together; the one used longest ago is forgotten."""
_MOST_URLS: Final = 5_000
"""URLs of one visit that are counted."""
_SHOWN: Final = range(200, 400)
"""The statuses with which a capture of a repair stands in for others. What a repair could not get shows nothing."""
_FRAMES: Final = frozenset((b"iframe", b"frame", b"embed", b"object", b"fencedframe"))

type Asked = tuple[str, ...]
"""The key tells the requests of a visit apart: the method, the URL, the body and the headers that choose."""


@dataclass(slots=True, eq=False)
class PageLoad:
    """A page load is one load of a document by one client. Threads may share it."""

    url: str
    within: PageLoad | None = None
    """The visit of the page in one of whose frames this document is; None for a page."""
    date: Micros | None = None
    """When the document was captured; None until its capture is chosen."""
    page_id: str | None = None
    job: str | None = None
    """The job that captured the document."""
    until: Micros | None = None
    """When the document was captured for the next time; None when it was not."""
    captured_url: str = ""
    """The URL of the document's capture; empty until the capture is chosen."""
    _counts: OrderedDict[Asked, int] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, document: Capture, others: Sequence[Capture]) -> None:
        """Note the document's capture; `others` are all known captures of it."""
        later = [other.date for other in others if other.date > document.date]
        self.date, self.page_id, self.until = document.date, document.page_id, min(later, default=None)
        self.job, self.captured_url = document.job, document.url

    def own(self, captures: Sequence[Capture]) -> list[Capture]:
        """Return the captures that were made in this visit of the document, in the order of their dates."""
        date = self.date
        if date is None:
            return []
        own: list[Capture] = []
        if self.page_id is not None:
            own = [capture for capture in captures if capture.page_id == self.page_id]
        is_named = bool(own)
        if not own:
            end = self.until
            own = [capture for capture in captures if capture.date >= date and (end is None or capture.date < end)]
        own.sort(key=lambda capture: capture.date)
        if self.page_id is not None and not is_named:
            return own  # a repair of this visit has its id
        page = self.within or self
        # A repair that captured the whole page mends no other visit by that.
        repairs = [each for each in own if _mends(each) and each.job != page.job]
        if not is_named:
            mine = (None, page.page_id or id_without_visit(page.captured_url))  # another id is that of another visit
            repairs = [each for each in repairs if each.page_id in mine]
        return [each for each in repairs if each.job == repairs[-1].job] if repairs else own

    def next_place(self, asked: Asked, *, counts: bool) -> int:
        """Return how often this was asked for before. The request is counted if it `counts`.

        A frame counts with its page when both have one page id, since the captures of that id are the page's.
        """
        if self.within is not None and self.page_id is not None and self.page_id == self.within.page_id:
            return self.within.next_place(asked, counts=counts)
        with self._lock:
            place = self._counts.get(asked, 0)
            if counts:
                self._counts[asked] = place + 1
                self._counts.move_to_end(asked)
                if len(self._counts) > _MOST_URLS:
                    self._counts.popitem(last=False)
            return place


class PageLoads:
    """This memory keeps the visits of all clients. It is used on the event loop's thread."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], PageLoad] = OrderedDict()

    def of(self, client: str, head: RequestHead, url: str) -> tuple[PageLoad | None, PageLoad | None]:
        """Return the visit to which a request belongs, and the visit that it begins.

        `client` names whoever loads pages one after the other: a session and an address.
        """
        if not is_document(head):
            return self._found(client, head.get(b"referer")), None
        kind = head.get(b"sec-fetch-dest")
        is_frame = kind is not None and kind.lower() in _FRAMES
        found = self._found(client, head.get(b"referer")) if is_frame or kind is None else None
        if kind is None and found is not None and found.url != _text(head.get(b"referer")):
            found = None  # a link, as far as can be told
        made = PageLoad(url, found and (found.within or found))
        self._note((client, url), made)
        if not is_frame:
            self._note((client, ""), made)
        self._note((client, _origin(url)), made)
        return found, made

    def _found(self, client: str, referrer: bytes | None) -> PageLoad | None:
        names = [""]
        if referrer is not None:
            url = _text(referrer)
            names = [url, _origin(url), ""]
        for name in names:
            if (found := self._known.get((client, name))) is not None:
                self._known.move_to_end((client, name))
                return found
        return None

    def _note(self, name: tuple[str, str], visit: PageLoad) -> None:
        self._known[name] = visit
        self._known.move_to_end(name)
        while len(self._known) > _MOST_VISITS:
            self._known.popitem(last=False)


def _mends(capture: Capture) -> bool:
    return is_repair(capture.job) and capture.status in _SHOWN


def is_document(head: RequestHead) -> bool:
    """Return whether a browser asks for a document, of a page or of a frame.

    Browsers say so by `Sec-Fetch-Mode` to secure origins, and to others by `Upgrade-Insecure-Requests` alone.
    """
    mode = head.get(b"sec-fetch-mode")
    if mode is not None:
        return mode.lower() == b"navigate"
    accepts = (head.get(b"accept") or b"").lower().startswith(b"text/html")
    return accepts and head.get(b"upgrade-insecure-requests") is not None


def _text(referrer: bytes | None) -> str:
    return (referrer or b"").decode("latin-1").partition("#")[0]


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}/"
