"""Each archived resource has an address: `/w/<collection>/<timestamp>id_/<url>`, and its body comes unrewritten.

The answer is the capture nearest to the timestamp, by the rules of replay: revisits are resolved, `Range` and HEAD
are answered from the whole, and a redirect leads to the address of its target. Without the collection, all
collections are asked, and the nearest capture answers; when none has the URL, the first collection with a similar URL
answers. An address without captures is answered with 404, and one that access rules block with 451: in JSON, or as a
page for a browser that asks for one. Nothing is fetched from the live web.
"""

from __future__ import annotations

import asyncio
import hashlib
import html
import json
import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from admin.serving.request_bodies import BODY_SECONDS
from admin.viewing.archived_answer import ArchivedAnswer, archived_answer, plain_answer, redirect_target
from admin.viewing.player_requests import UNTOLD, PlayerVisits, archived_fields
from archive.dates import Micros, parse_date
from archive.names.name_rules import NAME_PATTERN
from archive.storage.storage import StorageError
from archive.warc.reading.member_reader import WarcError
from archive.warc.records.request_query import MAX_BODY, MAX_QUERY, asked_query
from dedupdb.captures.schema import CapturesError
from proxy.protocol.byte_range import parse_ranges
from proxy.protocol.http1 import BadMessage, ResponseHead, parse_response
from proxy.replay.answers import Memento
from proxy.replay.matching.visits import PageLoad
from proxy.replay.matching.wanted import WantedCapture
from proxy.replay.memento import PayloadElsewhere, RecordDamaged

log = logging.getLogger(__name__)

type Scope = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
type Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

PREFIX: Final = "/w/"
MOST_COLLECTIONS: Final = 200
"""The most collections that are asked when the address names none."""
_THREADS: Final = 8
_SIMILAR_SECONDS: Final = 2.0
"""Time for which collections are asked for a similar URL, when the address names no collection."""
_MOST_BODY: Final = 16 * 1024 * 1024
_LONGEST: Final = 60_000
_MOST_REDIRECTS: Final = 10
_ADDRESS: Final = re.compile(
    r"(?:(?P<collection>[^/]{1,64})/)?(?P<timestamp>[0-9]{0,17})(?:id_)?/(?P<url>https?:/{1,2}[^/].*)", re.ASCII | re.I
)
_RAW_PAGE_POLICY: Final = (
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; font-src data:; "
)
"""The policy of a resource that a browser opens by itself: no script runs, and nothing is asked of another server."""
_PDF: Final = re.compile(rb"\s*application/pdf\s*(?:;.*)?", re.I | re.S)


class ResourceArchive(Protocol):
    """The endpoint needs this part of `proxy.replay.memento.Archive`."""

    def find(self, wanted: WantedCapture) -> Memento | None:
        """Return the nearest capture that can answer; None when there is none."""


class NearestDates(Protocol):
    """The function returns which of some collections have a capture of a URL, the nearest to a date first."""

    def __call__(self, names: Sequence[str], url: str, method: str, date: Micros | None) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class ResourceAddress:
    """A resource address is an address in its parts. An empty timestamp stands for the newest capture."""

    collection: str | None
    timestamp: str
    url: str

    @property
    def date(self) -> Micros | None:
        """Return the moment. Raises ValueError for digits that are no date."""
        return parse_date(self.timestamp) if self.timestamp else None


def read_address(text: str) -> ResourceAddress | None:
    """Return the parts of what follows `/w/`; None when the text is no such address."""
    found = _ADDRESS.fullmatch(text)
    if found is None or len(text) > _LONGEST:
        return None
    if found["collection"] is not None and not re.fullmatch(NAME_PATTERN, found["collection"]):
        return None
    scheme, _, rest = found["url"].partition(":")
    return ResourceAddress(found["collection"], found["timestamp"], f"{scheme.lower()}://{rest.lstrip('/')}")


class ResourceEndpoint:
    """Answers requests below /w/. Records are read in threads, a piece at a time."""

    def __init__(
        self,
        archive: ResourceArchive,
        nearest: NearestDates,
        names: Callable[[], list[str]],
        *,
        takes_similar: bool = False,
        ancestors: str = "'self'",
        note_miss: Callable[[str, str, str], None] = lambda collection, url, page: None,
    ) -> None:
        """`names` returns the collections that are asked when an address names none.

        `note_miss` gets each URL that an archived page or its reader asks for in vain: the collection, the URL, and the
        page that asks, which is empty for a page.

        `ancestors` are the sources of a policy that may show a resource in a frame.

        With `takes_similar`, the capture of a URL that differs only in volatile parts is an answer.
        """
        self._takes_similar = takes_similar
        self._ancestors = ancestors
        self._note_miss = note_miss
        self._archive = archive
        self._nearest = nearest
        self._names = names
        self._visits = PlayerVisits()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="view")

    def close(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send, only: str | None) -> None:
        """Answer one request; `only` is the one collection that the browser may see, None for all."""
        root = str(scope.get("root_path", ""))
        raw = bytes(scope.get("raw_path") or scope["path"].encode()).decode("ascii", "replace")
        path = raw.removeprefix(root).removeprefix(PREFIX)
        query = scope.get("query_string", b"").decode("ascii", "replace")
        headers = {name.lower(): value for name, value in scope["headers"]}
        wants_html = b"text/html" in headers.get(b"accept", b"")
        address = read_address(f"{path}?{query}" if query else path)
        if address is None:
            await _refuse(send, scope["method"], 400, "the address is not /w/COLLECTION/TIMESTAMPid_/URL", wants_html)
            return
        if only is not None and address.collection not in (None, only):
            await _refuse(send, scope["method"], 403, "this link is for another collection", wants_html)
            return
        try:
            date = address.date
        except ValueError:
            await _refuse(send, scope["method"], 400, f"{address.timestamp} is no date", wants_html)
            return
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _body_of(receive)
        except TimeoutError:
            await _refuse(send, scope["method"], 408, "the body of the request did not come in time", wants_html)
            return
        if body is None:
            await _refuse(send, scope["method"], 413, "the body of the request is too large", wants_html)
            return
        method, kind = scope["method"].upper(), headers.get(b"content-type", b"").decode("latin-1")
        reader = f"{(scope.get('client') or ('',))[0]} {root} {address.collection}"
        visit, page = self._visits.of(reader, method, headers, address.url)
        query = asked_query(method, kind, (body,))
        is_cut = query is not None and len(query) >= MAX_QUERY
        sha256 = hashlib.sha256(body).hexdigest() if is_cut else None
        finding = _Finding(address, method, date, headers, only, query, sha256, self._takes_similar, visit, page)
        await self._answer(finding, f"{root}{PREFIX}", receive, send)

    async def _answer(self, finding: _Finding, prefix: str, receive: Receive, send: Send) -> None:
        loop, wants_html = asyncio.get_running_loop(), finding.wants_html
        url, method = finding.address.url, finding.method
        try:
            memento, url = await loop.run_in_executor(self._threads, self._find_behind_redirects, finding)
        except PayloadElsewhere as error:
            await _refuse(send, method, 404, str(error), wants_html)
            return
        except RecordDamaged as error:
            log.warning("viewing %s: %s", url, error)
            await _refuse(send, method, 502, "the archive has this URL, and its record can't be read", wants_html, url)
            return
        except (StorageError, CapturesError) as error:
            log.warning("viewing %s: %s", url, error)
            await _refuse(send, method, 503, "the archive can't be read at the moment", wants_html)
            return
        if memento is None:
            if (
                finding.is_of_a_player
                and method == "GET"
                and (collection := finding.address.collection or finding.only)
            ):
                self._note_miss(collection, url, finding.asking_page)
            await _refuse(send, method, 404, "the archive has no capture of this URL", wants_html, url)
            return
        try:
            head = parse_response(memento.head)
            if head.status == 451 and not memento.length and head.get(b"ghostfleet-replay") == b"blocked":
                await _refuse(send, method, 451, "readers may not see the content of this address", wants_html, url)
                return
            own = prefix if finding.address.collection is None else f"{prefix}{finding.address.collection}/"
            answer = archived_answer(head, url, own, finding.address.timestamp)
            await self._stream(answer, memento, finding.is_page, receive, send)
        except (OSError, WarcError, StorageError, BadMessage) as error:
            log.warning("viewing %s broke off: %s", url, error)
            raise ConnectionAbortedError(str(error)) from error
        finally:
            await loop.run_in_executor(self._threads, memento.close)

    async def _stream(
        self, answer: ArchivedAnswer, memento: Memento, is_page: bool, receive: Receive, send: Send
    ) -> None:
        loop = asyncio.get_running_loop()
        headers = [*answer.headers, *(self._page_headers(answer) if is_page else [])]
        left = asyncio.ensure_future(_disconnected(receive))
        try:
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            rest = memento.length
            while not left.done():
                piece = await loop.run_in_executor(self._threads, next, memento.pieces, None)
                if piece is None:
                    break
                rest -= len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            if rest and not left.done():
                raise OSError(f"the record has {rest} bytes less than the index says")
            await send({"type": "http.response.body", "body": b""})
        finally:
            left.cancel()
            with suppress(asyncio.CancelledError):
                await left

    def _page_headers(self, answer: ArchivedAnswer) -> list[tuple[bytes, bytes]]:
        """Return the headers of a resource that a browser opens by itself.

        Browsers show a PDF document by a viewer of their own, which does not run in a sandbox; the document has no part
        in this origin.
        """
        kinds = [value for name, value in answer.headers if name == b"content-type"]
        is_pdf = len(kinds) == 1 and _PDF.fullmatch(kinds[0]) is not None
        policy = f"{'' if is_pdf else _RAW_PAGE_POLICY}frame-ancestors {self._ancestors}"
        return [(b"content-security-policy", policy.encode("ascii")), (b"x-content-type-options", b"nosniff")]

    def _find_behind_redirects(self, finding: _Finding) -> tuple[Memento | None, str]:
        """Return the capture that answers, and its URL.

        A redirect that keeps a method other than GET is followed here. The player would ask for its target by GET.
        """
        url, memento = finding.address.url, self._find(finding)
        if finding.method in ("GET", "HEAD"):
            return memento, url
        for _ in range(_MOST_REDIRECTS):
            target = _kept_method_target(memento, url)
            if target is None:
                break
            behind = self._find(replace(finding, address=replace(finding.address, url=target)))
            if behind is None:
                break
            if memento is not None:
                memento.close()
            memento, url = behind, target
        return memento, url

    def _find(self, finding: _Finding) -> Memento | None:
        """Return the capture of the first collection that can answer, the nearest in time first."""
        address = finding.address
        chosen = address.collection or finding.only
        known = [chosen] if chosen else self._names()[:MOST_COLLECTIONS]
        names = known if len(known) == 1 else self._nearest(known, address.url, finding.method, finding.date)
        ends: float | None = None
        if not names and finding.takes_similar:  # no collection has this URL, but some may have one that is similar
            names, ends = known, time.monotonic() + _SIMILAR_SECONDS
        trouble: PayloadElsewhere | RecordDamaged | None = None
        for name in names:
            if ends is not None and time.monotonic() > ends:
                break
            try:
                memento = self._archive.find(finding.wanted(name))
            except (PayloadElsewhere, RecordDamaged) as error:
                trouble = trouble or error
                continue
            if memento is not None:
                return memento
        if trouble is not None:
            raise trouble
        return None


@dataclass(frozen=True, slots=True)
class _Finding:
    """A finding is one request for an archived resource."""

    address: ResourceAddress
    method: str
    date: Micros | None
    headers: dict[bytes, bytes]
    only: str | None
    query: str | None
    """The request's body as the index has it, by which requests to one URL are told apart."""
    body_sha256: str | None
    """The digest of a body of which `query` has the beginning alone; None for other bodies."""
    takes_similar: bool
    visit: PageLoad | None = None
    """The visit of the archived page that asks, as far as that is known."""
    page: PageLoad | None = None
    """The visit that the request begins; None for everything but documents."""

    @property
    def wants_html(self) -> bool:
        """Return whether a refusal is read by a person."""
        return b"text/html" in self.headers.get(b"accept", b"")

    @property
    def is_page(self) -> bool:
        """Return whether the answer may become a page or a part of one without the player.

        The player's worker fetches with the destination `empty`; a browser that tells no destination is one that may
        show the answer.
        """
        return self.headers.get(b"sec-fetch-dest", b"") != b"empty"

    @property
    def is_of_a_player(self) -> bool:
        """Return whether a page in the player asks, or the player for a page. Other programs ask for anything."""
        return self.visit is not None or self.page is not None

    @property
    def asking_page(self) -> str:
        """Return the URL of the archived page that asks; empty when the request is for a page."""
        asks = self.visit or (self.page.within if self.page is not None else None)
        return (asks.within or asks).url if asks is not None else ""

    def wanted(self, collection: str) -> WantedCapture:
        """Return what replay looks for in one collection."""
        return WantedCapture(
            collection=collection,
            url=self.address.url,
            method=self.method,
            date=self.date,
            ranges=parse_ranges(self.headers.get(b"range")),
            is_conditional=False,
            exchange=uuid.uuid4().hex,
            body=self.query,
            body_sha256=self.body_sha256,
            fields=archived_fields(self.headers),
            visit=self.visit,
            page=self.page,
            takes_similar=self.takes_similar,
            date_is_fixed=True,
            is_unchanged=True,
            untold=UNTOLD,
        )


def _kept_method_target(memento: Memento | None, url: str) -> str | None:
    """Return where a capture redirects a request with its method and its body; None for other captures."""
    if memento is None:
        return None
    head: ResponseHead = parse_response(memento.head)
    return redirect_target(head, url) if head.status in (307, 308) else None


async def _body_of(receive: Receive) -> bytes | None:
    """Return the beginning of the request's body, which may choose a capture; None when the body is too large."""
    found, size = bytearray(), 0
    while True:
        message = await receive()
        piece = message.get("body", b"")
        size += len(piece)
        found += piece[: max(0, MAX_BODY - len(found))]
        if size > _MOST_BODY:
            return None
        if message["type"] != "http.request" or not message.get("more_body"):
            return bytes(found)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(send: Send, method: str, status: int, why: str, wants_html: bool, url: str = "") -> None:
    if wants_html:
        text = (
            f"<!doctype html><html lang=en><meta charset=utf-8><title>{why}</title>"
            "<style>body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:40em}</style>"
            f"<h1>{html.escape(why[:1].upper() + why[1:])}</h1><p>{html.escape(url)}</p>"
        )
        answer = plain_answer(status, text, "text/html")
    else:
        text = json.dumps({"message": why, "url": url} if url else {"message": why})
        why_none = b"blocked" if status == 451 else b"miss"
        answer = plain_answer(status, text, "application/json", [(b"ghostfleet-replay", why_none)])
    await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": "http.response.body", "body": text.encode() if method != "HEAD" else b""})


def nearest_first(dates: dict[str, Micros], wanted: Micros | None) -> list[str]:
    """Return the collections by the distance of their capture from a date; without one, the newest comes first."""
    if wanted is None:
        return sorted(dates, key=lambda name: -dates[name])
    return sorted(dates, key=lambda name: abs(dates[name] - wanted))
