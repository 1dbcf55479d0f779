"""The records that a ghost's visit leaves beside the captures, and the links it hands on. Pure.

| record | type | what |
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
from dataclasses import dataclass

from archive.dates import Micros, iso_date
from archive.jsontext import compact_json
from archive.url import UrlError, canonical
from browsers import html, render
from browsers.found import Found
from browsers.page import Look
from browsers.proxyclient import RecordType
from browsers.traffic import Asked
from browsers.visit import FoundLink, VisitOrder


@dataclass(frozen=True, slots=True)
class Derived:
    """A record to write beside a page's captures."""

    kind: RecordType
    uri: str
    content_type: str
    block: bytes


@dataclass(frozen=True, slots=True)
class Sighting:
    """A finished visit: the order, what was seen, and what the page asked for."""

    order: VisitOrder
    page_id: str
    began: Micros
    look: Look
    asked: Mapping[str, Asked]
    requests: int
    browser: str
    width: int
    height: int


def derived_records(sighting: Sighting, links: tuple[FoundLink, ...]) -> Iterator[Derived]:
    """The records of one visit, pageinfo last: when that is there, all are."""
    look, url = sighting.look, sighting.order.url
    if look.view is not None:
        yield Derived("resource", f"urn:view:{url}", "image/png", look.view)
        yield Derived("resource", f"urn:thumbnail:{url}", "image/jpeg", render.thumbnail(look.view))
    if look.whole is not None:
        yield Derived("resource", f"urn:fullPage:{url}", "image/png", look.whole)
    if look.text:
        yield Derived("resource", f"urn:text:{url}", "text/plain; charset=utf-8", _utf8(look.text))
    if look.dom is not None:
        yield Derived("resource", f"urn:dom:{url}", "text/html; charset=utf-8", _utf8(look.dom))
    if links:
        lines = "".join(f"outlink: {link.url} {link.hop} {link.context}\r\n" for link in links)
        yield Derived("metadata", url, "application/warc-fields", lines.encode())
    yield Derived(
        "resource", f"urn:pageinfo:{url}", "application/json", _utf8(compact_json(_page_info(sighting, links)))
    )


def found_links(url: str, look: Look, fetched: frozenset[str]) -> Found:
    """Links of the final DOM of all frames, and what the DOM embeds but the browser had no reason to fetch.

    What the visit fetched already is left out where it is an embed: it is captured, in this very visit.
    """
    found = Found(look.final_url or url)
    for address, context in look.links:
        found.add(address, "L", context)
    embedded = Found(look.final_url or url)
    if look.dom is not None:
        html.collect(embedded, look.dom)
    for link in embedded.links:
        if link.hop != "E" or link.url not in fetched:
            found.add(link.url, link.hop, link.context)
    found.dropped += embedded.dropped
    return found


def fetched_urls(url: str, asked: Mapping[str, Asked]) -> frozenset[str]:
    """URLs besides the page's own that this visit captured whole, in canonical form."""
    found = set()
    for address, answer in asked.items():
        if answer.is_whole:
            try:
                found.add(canonical(address))
            except UrlError:
                continue  # the browser takes what our own reading of URLs refuses; it is archived all the same
    found.discard(url)
    return frozenset(found)


def _page_info(sighting: Sighting, links: tuple[FoundLink, ...]) -> dict[str, object]:
    look = sighting.look
    urls = {
        url: {"status": asked.status, "mime": asked.mime, "type": asked.kind}
        | ({"error": asked.error} if asked.error else {})
        for url, asked in sighting.asked.items()
    }
    failed = sum(1 for asked in sighting.asked.values() if asked.error or asked.status >= 400)
    return {
        "pageid": sighting.page_id,
        "url": sighting.order.url,
        "finalUrl": look.final_url,
        "ts": iso_date(sighting.began),
        "title": look.title,
        "status": look.main.status if look.main else 0,
        "urls": urls,
        "counts": {"requests": sighting.requests, "urls": len(urls), "failed": failed, "links": len(links)},
        "scroll": {"steps": look.scroll.steps, "height": look.scroll.height, "ended": look.scroll.ended},
        "viewport": {"width": sighting.width, "height": sighting.height},
        "browser": sighting.browser,
        "notes": look.notes,
    }


def _utf8(text: str) -> bytes:
    """Pages may hold lone surrogates; those become question marks."""
    return text.encode("utf-8", "replace")
