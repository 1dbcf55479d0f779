"""Which URLs a document points to. Pure: bytes and headers in, links out.

Hop letters are Heritrix's, and so is the form of contexts: `a/@href`, `img/@srcset`, `style/text()`, `header:link`.
A document never yields more than `found.MAX_LINKS`; what was left out is counted in an annotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from browsers import css, decoding, headers, html, sitemaps
from browsers.found import Found
from browsers.visit import FoundLink


@dataclass(frozen=True, slots=True)
class Links:
    """A document's links, and notes for crawl.log."""

    links: tuple[FoundLink, ...] = ()
    annotations: tuple[str, ...] = ()


def media_type(content_type: str) -> str:
    """The type without parameters, in lower case: `Text/HTML; charset=x` is `text/html`."""
    return content_type.partition(";")[0].strip().lower()


def may_have_links(url: str, response: Mapping[str, str]) -> bool:
    """Whether the body of such a response is worth keeping for a search; `response` is looked up in lower case."""
    kind = media_type(response.get("content-type", ""))
    return kind in html.TYPES | sitemaps.TYPES | {"", "text/css", "text/plain"} or sitemaps.has_sitemap_name(url)


def links_of(
    url: str, status: int, response: Mapping[str, str], body: bytes, *, forms: bool = False, limit: int = 1 << 24
) -> Links:
    """Links of one response: of its headers, and of its body if that is HTML, CSS, XML, robots.txt or a sitemap.

    `response` has lower-case header names. `body` is as on the wire, transfer coding removed, content coding kept;
    no more than `limit` bytes of its unpacked form are searched. `forms` also follows forms that GET.
    """
    found = Found(url)
    headers.collect(found, status, response)
    if not body:
        return Links(found.links, found.annotations)
    unpacked = decoding.decode(body, response.get("content-encoding", ""), limit)
    problems = _search(found, url, response.get("content-type", ""), unpacked.data, forms=forms, limit=limit)
    notes = (unpacked.problem, *problems)
    return Links(found.links, (*found.annotations, *(f"body-{note}" for note in notes if note)))


def _search(found: Found, url: str, content_type: str, data: bytes, *, forms: bool, limit: int) -> tuple[str, ...]:
    """Searches by what the body is, which its type, its URL and its first bytes tell together."""
    kind = media_type(content_type)
    if sitemaps.is_robots(url):
        sitemaps.collect_robots(found, decoding.text_of(data, "utf-8"))
    elif kind == "text/css":
        found.encoding = decoding.encoding_of(data, headers.charset(content_type), "css")
        css.collect(found, decoding.text_of(data, found.encoding), "css")
    elif sitemaps.is_sitemap(url, kind, data):
        unzipped = decoding.gunzip(data, limit)
        sitemaps.collect(found, unzipped.data)
        return (unzipped.problem,) if unzipped.problem else ()
    elif kind in html.TYPES or (not kind and data.lstrip()[:1] == b"<"):
        found.encoding = decoding.encoding_of(data, headers.charset(content_type))
        html.collect(found, decoding.text_of(data, found.encoding), forms=forms)
    return ()
