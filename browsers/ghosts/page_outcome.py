"""This module finds the result of a ghost's visit: the site's status and links, its failure, or our own. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Final

from archive import crawl_log
from archive.url import UrlError, canonical
from browsers.engines.traffic import PageRequest
from browsers.ghosts.page import PageSnapshot
from browsers.ghosts.page_records import PageVisit
from browsers.ghosts.render import MAX_FRAMES
from browsers.links import html
from browsers.links.collector import LinkCollector
from browsers.links.documents import media_type
from browsers.links.headers import REDIRECTS
from browsers.page_quality.missing_page import look_of
from browsers.proxying import outcomes
from browsers.proxying.control_client import SessionCounts
from browsers.visit import FleetUnavailable, FoundLink, GhostTrouble, PageLook, Visit

OURS: Final = {
    "ERR_PROXY_CONNECTION_FAILED": "proxy-unreachable",
    "ERR_CERT_AUTHORITY_INVALID": "proxy-not-trusted",
    "ERR_PROXY_AUTH_REQUESTED": "session-lost",
}
"""Chromium's errors that concern the proxy and not the site."""
SITES: Final = {
    "ERR_TIMED_OUT": (crawl_log.TIMEOUT, "timeout"),
    "ERR_CONNECTION_TIMED_OUT": (crawl_log.TIMEOUT, "timeout"),
    "ERR_EMPTY_RESPONSE": (crawl_log.LOST, "lost"),
    "ERR_CONNECTION_CLOSED": (crawl_log.LOST, "lost"),
    "ERR_CONNECTION_RESET": (crawl_log.LOST, "lost"),
    "ERR_INCOMPLETE_CHUNKED_ENCODING": (crawl_log.LOST, "short"),
    "ERR_CONTENT_LENGTH_MISMATCH": (crawl_log.LOST, "short"),
    "ERR_TUNNEL_CONNECTION_FAILED": (crawl_log.CONNECT, "refused"),
    "ERR_UNSAFE_PORT": (crawl_log.BAD_URL, "unfetchable"),
    "ERR_INVALID_HTTP_RESPONSE": (crawl_log.BAD_URL, "unreadable"),
    "ERR_INVALID_RESPONSE": (crawl_log.BAD_URL, "unreadable"),
    "ERR_RESPONSE_HEADERS_TOO_BIG": (crawl_log.BAD_URL, "unreadable"),
    "ERR_CONTENT_DECODING_FAILED": (crawl_log.BAD_URL, "unreadable"),
}
"""Chromium's errors with the codes that Heritrix has for them."""
_FOLLOWED: Final = frozenset({"a/@href", "area/@href"})
_PAGES: Final = html.TYPES - {"image/svg+xml"}
_READ: Final = frozenset({"document", "image", "imageset", "stylesheet", "script", "font", "media", "texttrack"})
"""Kinds of requests whose answers the browser showed, ran or dropped, so that nobody else has to read them."""


def found_links(
    url: str, snapshot: PageSnapshot, fetched: frozenset[str] = frozenset(), unsearched: Iterable[str] = ()
) -> LinkCollector:
    """Return the links of the final DOM of all frames, and embeds of the DOM that the browser did not fetch.

    Embeds that the visit fetched are left out, since they are captured. Documents of `unsearched` frames are embeds.
    """
    found = LinkCollector(snapshot.final_url or url)
    for address, context in snapshot.links:
        found.add(address, "L", context)
    embedded = LinkCollector(snapshot.final_url or url)
    if snapshot.dom is not None:
        html.collect(embedded, snapshot.dom)
    for link in embedded.links:
        if link.hop != "E" or link.url not in fetched:
            found.add(link.url, link.hop, link.context)
    for address in unsearched:
        found.add(address, "E", "iframe/@src")
    found.dropped += embedded.dropped
    return found


def links_out(links: Iterable[FoundLink]) -> Iterator[str]:
    """Yield the URLs of the links that a reader can follow."""
    return (link.url for link in links if link.hop == "L" and link.context in _FOLLOWED)


def fetched_urls(page_visit: PageVisit) -> frozenset[str]:
    """Return the other URLs that this visit captured whole, in canonical form.

    A document of a frame is included when it was searched for links. One that a script or a prefetch requested, or that
    another window showed, is not included, since it was not searched. Neither is a redirect to one. A document in place
    of a picture or another part, as with an error, is included.
    """
    snapshot, asked = page_visit.snapshot, page_visit.asked
    found = _canonical(
        address
        for address, answer in asked.items()
        if answer.is_whole and not _is_of_frame(answer) and (answer.kind in _READ or not _leads_on(answer))
    )
    searched = _frame_documents(asked).intersection(_canonical(snapshot.searched_frames))
    return searched.union(found).difference(_canonical(snapshot.unsearched_frames), [page_visit.order.url])


def unsearched_frames(page_visit: PageVisit) -> tuple[str, ...]:
    """Return the URLs of frames that were not searched for links, and are to be visited by themselves.

    When no frame at all was searched, as on a page that hangs, nobody knows which frames are left, and the documents of
    all frames are taken, up to MAX_FRAMES. Otherwise documents that left their frames are not taken: pages remove many
    frames whose URLs are new at each visit, such as those that renew a login.
    """
    snapshot = page_visit.snapshot
    if snapshot.searched_frames:
        return tuple(snapshot.unsearched_frames)
    main = {each.request.url for each in page_visit.exchanges if each.request.is_main}
    main |= {page_visit.order.url, snapshot.main.url if snapshot.main is not None else ""}
    left = _frame_documents(page_visit.asked).difference(_canonical((*main, *snapshot.unsearched_frames)))
    return (*snapshot.unsearched_frames, *sorted(left)[:MAX_FRAMES])


def _frame_documents(asked: Mapping[str, PageRequest]) -> frozenset[str]:
    """Return the canonical URLs of the documents in frames that were captured whole."""
    return frozenset(_canonical(url for url, answer in asked.items() if answer.is_whole and _is_of_frame(answer)))


def _is_of_frame(answer: PageRequest) -> bool:
    """Return whether the answer is a document of a frame, the main frame included, that may have links."""
    return answer.kind == "document" and answer.mime in _PAGES and answer.status not in REDIRECTS


def _leads_on(answer: PageRequest) -> bool:
    """Return whether the answer may lead to links that the browser does not report."""
    return answer.mime in _PAGES or answer.status in REDIRECTS


def _canonical(addresses: Iterable[str]) -> Iterator[str]:
    for address in addresses:
        try:
            yield canonical(address)
        except UrlError:
            continue  # the browser accepts a URL that our parser refuses; it is archived nevertheless


def visit_of(
    page_visit: PageVisit,
    found: LinkCollector,
    report: SessionCounts | None,
    duration_ms: int,
    *,
    has_look: bool = False,
) -> Visit:
    """Return the result of the visit. `report` is the proxy's; None when captures are not written yet.

    With `has_look`, the result has the look of the page.

    Raises FleetUnavailable when the page is missing or incomplete by our fault.
    """
    if report is not None and report.not_kept:
        raise FleetUnavailable(outcomes.NOT_KEPT, may_be_the_page=True)
    snapshot = page_visit.snapshot
    look = page_look(page_visit.order.url, snapshot) if has_look else None
    own = (*snapshot.notes, *(() if report is not None else ("captures-in-flight",)))
    notes = (*dict.fromkeys(own), *troubles(snapshot))
    size = report.bytes if report is not None else 0
    failure = _failure(page_visit, report)
    if failure is not None:
        code, reason = failure
        return Visit(code, duration_ms, size, annotations=notes, error=reason, look=look)
    status, headers = _answer(page_visit)
    unsearched = unsearched_frames(page_visit)
    return Visit(
        code=status,
        duration_ms=duration_ms,
        bytes=size,
        content_type=media_type(headers.get("content-type", "")),
        links=found.links,
        annotations=(
            *notes,
            *found.annotations,
            *((f"frames-unsearched:{len(unsearched)}",) if unsearched else ()),
            *(("not-rendered",) if snapshot.failure else ()),
            *(flaw.annotation for flaw in page_visit.flaws),
        ),
        retry_after=outcomes.retry_after(headers),
        fetched=tuple(sorted(fetched_urls(page_visit))),
        look=look,
        digest=_text_digest(snapshot),
        stages=snapshot.times.seconds(),
    )


def page_look(url: str, snapshot: PageSnapshot) -> PageLook | None:
    """Return the look of a page before its behaviours; None for a document that is no page, or without a text."""
    return look_of(url, snapshot.title, snapshot.text) if snapshot.is_page and snapshot.text else None


def _text_digest(snapshot: PageSnapshot) -> str:
    """Return the digest of the page's visible text, or of its DOM when there is no text."""
    text = snapshot.text_final or snapshot.text or snapshot.dom
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() if text is not None else ""


def troubles(snapshot: PageSnapshot) -> tuple[GhostTrouble, ...]:
    """Return the problems of the page, the gravest first."""
    found = {
        GhostTrouble.OUT_OF_MEMORY: snapshot.out_of_memory,
        GhostTrouble.CRASH: snapshot.crashed and not snapshot.out_of_memory,
        GhostTrouble.HANG: snapshot.hangs,
        GhostTrouble.TIMEOUT: not snapshot.hangs
        and ("page-timeout" in snapshot.notes or "load-timeout" in snapshot.notes),
        GhostTrouble.NEVER_SETTLED: "never-settled" in snapshot.notes,
        GhostTrouble.MANY_WINDOWS: "many-windows" in snapshot.notes,
    }
    return tuple(trouble for trouble, is_there in found.items() if is_there)


def _failure(page_visit: PageVisit, report: SessionCounts | None) -> tuple[int, str] | None:
    """Return (code, word) when the site did not answer the URL. Raises FleetUnavailable for a failure on our side."""
    snapshot = page_visit.snapshot
    if snapshot.main is not None:
        return outcomes.proxy_error(snapshot.main.status, snapshot.main.headers) or _broken_off(
            page_visit, snapshot.main.url
        )
    if snapshot.failure in OURS:
        raise FleetUnavailable(OURS[snapshot.failure])
    if _redirect(page_visit) is not None:
        return None
    told = outcomes.worst_error(report.errors) if report is not None else None
    return told or _by_name(snapshot)


def _broken_off(page_visit: PageVisit, url: str) -> tuple[int, str] | None:
    """Return (code, word) when the document ended early. A download, which the browser itself stops, did not."""
    asked = page_visit.asked.get(url)
    name = asked.error.removeprefix("net::") if asked is not None and asked.error else ""
    return SITES.get(name)


def _by_name(snapshot: PageSnapshot) -> tuple[int, str]:
    if not snapshot.failure:
        return crawl_log.TIMEOUT, "timeout"
    return SITES.get(snapshot.failure, (crawl_log.RUNTIME, snapshot.failure.lower()))


def _answer(page_visit: PageVisit) -> tuple[int, dict[str, str]]:
    """Return status and headers of the final document, or of the last redirect."""
    main = page_visit.snapshot.main
    if main is not None:
        return main.status, dict(main.headers)
    return _redirect(page_visit) or 0, {}


def _redirect(page_visit: PageVisit) -> int | None:
    """Return the status of a redirect whose target was not reached. The URL itself was answered and is archived."""
    asked = page_visit.asked.get(page_visit.order.url)
    return asked.status if asked is not None and asked.status in range(300, 400) else None
