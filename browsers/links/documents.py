"""This module finds the URLs to which a document points. Pure.

Hop letters and contexts are those of Heritrix: `a/@href`, `img/@srcset`, `style/text()`, `header:link`. A document has
at most `collector.MAX_LINKS` links; an annotation counts the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from browsers.links import css, decoding, headers, html, manifests, sitemaps
from browsers.links.collector import LinkCollector
from browsers.visit import FoundLink


@dataclass(frozen=True, slots=True)
class Links:
    """A document has links, and annotations for crawl.log."""

    links: tuple[FoundLink, ...] = ()
    annotations: tuple[str, ...] = ()


def media_type(content_type: str) -> str:
    """Return the type without parameters, in lower case: `Text/HTML; charset=x` is `text/html`."""
    return content_type.partition(";")[0].strip().lower()


def may_have_links(url: str, response: Mapping[str, str]) -> bool:
    """Return whether the body of this response may have links. `response` has lower-case names."""
    kind = media_type(response.get("content-type", ""))
    return kind in html.TYPES | sitemaps.TYPES | manifests.TYPES | {
        "",
        "text/css",
        "text/plain",
    } or sitemaps.has_sitemap_name(url)


def links_of(
    url: str, status: int, response: Mapping[str, str], body: bytes, *, forms: bool = False, limit: int = 1 << 24
) -> Links:
    """Return the links of a response: of its headers, and of its body.

    The body may be HTML, CSS, XML, robots.txt, a sitemap or a manifest. `response` has lower-case header names. `body`
    has its content coding and no transfer coding. At most `limit` bytes of the decoded body are searched. With `forms`,
    the links of GET forms are added.
    """
    found = LinkCollector(url)
    headers.collect(found, status, response)
    if not body:
        return Links(found.links, found.annotations)
    unpacked = decoding.decode(body, response.get("content-encoding", ""), limit)
    problems = _search(found, url, response.get("content-type", ""), unpacked.data, forms=forms, limit=limit)
    notes = (unpacked.problem, *problems)
    return Links(found.links, (*found.annotations, *(f"body-{note}" for note in notes if note)))


def _search(
    found: LinkCollector, url: str, content_type: str, data: bytes, *, forms: bool, limit: int
) -> tuple[str, ...]:
    """Search the body by its kind, which follows from its media type, its URL and its first bytes."""
    kind = media_type(content_type)
    if sitemaps.is_robots(url):
        sitemaps.collect_robots(found, decoding.text_of(data, "utf-8"))
    elif kind == "text/css":
        found.encoding = decoding.encoding_of(data, headers.charset(content_type), "css")
        css.collect(found, decoding.text_of(data, found.encoding), "css")
    elif kind in manifests.APP_TYPES:
        manifests.collect_app(found, decoding.text_of(data, "utf-8"))
    elif kind in manifests.PLAYLIST_TYPES:
        manifests.collect_playlist(found, decoding.text_of(data, "utf-8"))
    elif sitemaps.is_sitemap(url, kind, data):
        unzipped = decoding.gunzip(data, limit)
        sitemaps.collect(found, unzipped.data)
        return (unzipped.problem,) if unzipped.problem else ()
    elif kind in html.TYPES or (not kind and data.lstrip()[:1] == b"<"):
        found.encoding = decoding.encoding_of(data, headers.charset(content_type))
        html.collect(found, decoding.text_of(data, found.encoding), forms=forms)
    return ()
