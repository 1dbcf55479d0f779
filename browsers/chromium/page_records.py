"""The records that a ghost's visit leaves beside the captures, and the links it hands on. Pure.

| record | type | content |
|---|---|---|
| `urn:view:<url>` | resource, image/png | the window after the page settled |
| `urn:thumbnail:<url>` | resource, image/jpeg | the same, 640 pixels wide |
| `urn:fullPage:<url>` | resource, image/png | the whole page after scrolling |
| `urn:text:<url>` | resource, text/plain | the text a reader sees |
| `urn:dom:<url>` | resource, text/html | the DOM after scrolling, serialised |
| `urn:pageinfo:<url>` | resource, application/json | what the page asked for, and how the visit went |
| `<url>` | metadata, application/warc-fields | the links found, a line each, as Heritrix writes them |

The first four and pageinfo bear the names that Browsertrix gave them, so that its viewers show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from archive.dates import Micros, iso_date
from archive.json_text import compact_json
from archive.url import UrlError, canonical
from browsers.chromium import render
from browsers.chromium.page import PageSnapshot
from browsers.links import html
from browsers.links.collector import LinkCollector
from browsers.proxy_client import RecordType
from browsers.traffic import PageRequest
from browsers.visit import FoundLink, VisitOrder


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A record is written beside the captures of a page."""

    kind: RecordType
    uri: str
    content_type: str
    block: bytes


@dataclass(frozen=True, slots=True)
class PageVisit:
    """A finished visit has the order, the snapshot, and the requests of the page."""

    order: VisitOrder
    page_id: str
    began: Micros
    snapshot: PageSnapshot
    asked: Mapping[str, PageRequest]
    requests: int
    browser: str
    width: int
    height: int


def derived_records(page_visit: PageVisit, links: tuple[FoundLink, ...]) -> Iterator[PageRecord]:
    """Yield the records of one visit, and pageinfo last, so that its presence shows that all are there."""
    snapshot, url = page_visit.snapshot, page_visit.order.url
    if snapshot.view is not None:
        yield PageRecord("resource", f"urn:view:{url}", "image/png", snapshot.view)
        yield PageRecord("resource", f"urn:thumbnail:{url}", "image/jpeg", render.thumbnail(snapshot.view))
    if snapshot.whole is not None:
        yield PageRecord("resource", f"urn:fullPage:{url}", "image/png", snapshot.whole)
    if snapshot.text:
        yield PageRecord("resource", f"urn:text:{url}", "text/plain; charset=utf-8", _utf8(snapshot.text))
    if snapshot.dom is not None:
        yield PageRecord("resource", f"urn:dom:{url}", "text/html; charset=utf-8", _utf8(snapshot.dom))
    if links:
        lines = "".join(f"outlink: {link.url} {link.hop} {link.context}\r\n" for link in links)
        yield PageRecord("metadata", url, "application/warc-fields", lines.encode())
    yield PageRecord(
        "resource", f"urn:pageinfo:{url}", "application/json", _utf8(compact_json(_page_info(page_visit, links)))
    )


def found_links(url: str, snapshot: PageSnapshot, fetched: frozenset[str]) -> LinkCollector:
    """Return the links of the final DOM of all frames, and embeds of the DOM that the browser did not fetch.

    Embeds that the visit fetched are left out, since they are captured.
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
    found.dropped += embedded.dropped
    return found


def fetched_urls(url: str, asked: Mapping[str, PageRequest]) -> frozenset[str]:
    """Return the other URLs that this visit captured whole, in canonical form.

    A document that a script or a prefetch requested is not included: the browser did not show it, so that it was not
    searched for links.
    """
    found = set()
    for address, answer in asked.items():
        if answer.is_whole and (answer.kind == "document" or answer.mime not in html.TYPES - {"image/svg+xml"}):
            try:
                found.add(canonical(address))
            except UrlError:
                continue  # the browser accepts a URL that our parser refuses; it is archived nevertheless
    found.discard(url)
    return frozenset(found)


def _page_info(page_visit: PageVisit, links: tuple[FoundLink, ...]) -> dict[str, object]:
    snapshot = page_visit.snapshot
    urls = {
        url: {"status": asked.status, "mime": asked.mime, "type": asked.kind}
        | ({"error": asked.error} if asked.error else {})
        for url, asked in page_visit.asked.items()
    }
    scroll = snapshot.behaviors.scroll
    failed = sum(1 for asked in page_visit.asked.values() if asked.error or asked.status >= 400)
    return {
        "pageid": page_visit.page_id,
        "url": page_visit.order.url,
        "finalUrl": snapshot.final_url,
        "ts": iso_date(page_visit.began),
        "title": snapshot.title,
        "status": snapshot.main.status if snapshot.main else 0,
        "urls": urls,
        "counts": {"requests": page_visit.requests, "urls": len(urls), "failed": failed, "links": len(links)},
        "scroll": {"steps": scroll.steps, "height": scroll.height, "ended": scroll.ended},
        "behaviors": [asdict(outcome) for outcome in snapshot.behaviors.outcomes],
        "viewport": {"width": page_visit.width, "height": page_visit.height},
        "browser": page_visit.browser,
        "notes": snapshot.notes,
    }


def _utf8(text: str) -> bytes:
    """Return the text as UTF-8. Lone surrogates of a page become question marks."""
    return text.encode("utf-8", "replace")
