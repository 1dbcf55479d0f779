"""This module finds the URLs to which a document points. Pure, but for PDF, which a process of its own reads.

Hop letters and contexts are those of Heritrix: `a/@href`, `img/@srcset`, `style/text()`, `header:link`. A document has
at most `collector.MAX_LINKS` links; an annotation counts the others.

Texts that only look like URLs (`browsers.links.guesses`) are links with the hop X. As in Heritrix, those of a script or
of JSON that a page loads are relative to that page. A page to which a guess leads gives no guesses of its own: guesses
count neither as pages nor as depth, so a chain of them would go beyond the limits of a job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from archive.http.content_coding import decode, gunzip, is_gzip
from browsers.links import (
    css,
    dash,
    decoding,
    guesses,
    headers,
    html,
    json_data,
    kinds,
    manifests,
    pdf,
    sitemaps,
    xml,
)
from browsers.links.collector import LinkCollector
from browsers.links.kinds import DocumentKind
from browsers.visit import FoundLink

_KIND_OF_ENCODING: Final = {"text/css": "css"}


@dataclass(frozen=True, slots=True)
class Links:
    """A document has links, and annotations for crawl.log."""

    links: tuple[FoundLink, ...] = ()
    annotations: tuple[str, ...] = ()


def media_type(content_type: str) -> str:
    """Return the type without parameters, in lower case: `Text/HTML; charset=x` is `text/html`.

    The last type of a repeated Content-Type counts (Fetch Standard, "extract a MIME type").
    """
    named = [part.partition(";")[0].strip().lower() for part in content_type.split(",")]
    return next((name for name in reversed(named) if "/" in name and '"' not in name and name != "*/*"), named[0])


def may_have_links(url: str, response: Mapping[str, str], hop_path: str = "", *, guesses: bool = True) -> bool:
    """Return whether the body of this response may have links. `response` has lower-case names."""
    return kinds.may_have_links(url, media_type(response.get("content-type", "")), hop_path, guesses=guesses)


def links_of(
    url: str,
    status: int,
    response: Mapping[str, str],
    body: bytes,
    *,
    hop_path: str = "",
    via: str | None = None,
    guesses: bool = True,
    limit: int = 1 << 24,
) -> Links:
    """Return the links of a response: of its headers, and of its body.

    `response` has lower-case header names. `body` has its content coding and no transfer coding. At most `limit` bytes
    of the decoded body are searched. `hop_path` leads to the URL: a document that a robots.txt or an index names is
    read as a sitemap, whatever its name and type. `via` is the page that has the link to the URL. With `guesses`,
    texts that look like URLs are links. The body of a redirect has no links, since no browser shows it.
    """
    found = LinkCollector(url, takes_guesses=guesses)
    headers.collect(found, status, response)
    if not body or (status in headers.FOLLOWED and any(link.context == headers.LOCATION for link in found.links)):
        return Links(found.links, found.annotations)
    unpacked = decode(body, response.get("content-encoding", ""), limit)
    content_type = response.get("content-type", "")
    data, problems = unpacked.data, [unpacked.problem]
    if is_gzip(data) and media_type(content_type) not in html.TYPES:
        unzipped = gunzip(data, limit)
        data, problems = unzipped.data, [*problems, unzipped.problem]
    notes = {f"body-{problem}": None for problem in problems if problem}
    if kinds.is_pdf(url, media_type(content_type), data):
        if note := pdf.collect(found, data):
            notes[note] = None
    else:
        _search(found, url, content_type, data, hop_path, via)
    return Links(found.links, (*found.annotations, *notes))


def _search(found: LinkCollector, url: str, content_type: str, data: bytes, hop_path: str, via: str | None) -> None:
    """Search the body by its kind."""
    named = media_type(content_type)
    encoding = decoding.encoding_of(data, headers.charset(content_type), _KIND_OF_ENCODING.get(named, "html"))
    text = decoding.text_of(data, encoding)
    root = xml.root_of(text)
    match kinds.kind_of(url, named, data, text, root, hop_path):
        case DocumentKind.ROBOTS:
            sitemaps.collect_robots(found, text)
        case DocumentKind.LIST:
            xml.collect_instructions(found, text)
            sitemaps.collect(found, data, text, xml.local_name(root))
        case DocumentKind.LINES:
            sitemaps.collect_lines(found, text)
        case DocumentKind.STYLE:
            found.encoding = encoding
            css.collect(found, text, "css")
        case DocumentKind.APP:
            manifests.collect_app(found, text)
        case DocumentKind.PLAYLIST:
            manifests.collect_playlist(found, text)
        case DocumentKind.FILM:
            dash.collect(found, data)
        case DocumentKind.SCRIPT:
            found.base = _page_of(url, hop_path, via)
            guesses.collect(found, text, "js", own=url)
        case DocumentKind.JSON:
            found.base = _page_of(url, hop_path, via)
            found.guess_limit = found.limit
            json_data.collect(found, text)
        case DocumentKind.DESCRIPTION:
            json_data.collect_linked(found, text)
        case DocumentKind.PAGE:
            found.encoding = encoding
            found.takes_guesses = found.takes_guesses and not _is_guessed(hop_path)
            if named != "text/html":
                xml.collect_instructions(found, text)
            html.collect(found, text, is_xml=named != "text/html")
        case DocumentKind.XML:
            found.encoding = encoding
            found.takes_guesses = found.takes_guesses and not _is_guessed(hop_path)
            found.guess_limit = found.limit
            xml.collect(found, text, root)
        case DocumentKind.OTHER:
            pass


def _is_guessed(hop_path: str) -> bool:
    """Return whether a guess, with no link after it, leads to a document."""
    return "X" in re.split("[LMS]", hop_path)[-1]


def _page_of(url: str, hop_path: str, via: str | None) -> str:
    """Return the page that loads a script or JSON; the document itself when a reader opens it."""
    return via if via and hop_path.rstrip("R")[-1:] in ("E", "X") else url
