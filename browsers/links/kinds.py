"""The kind of a document decides how it is searched for links. Pure.

Pages are what a browser takes for pages: the media type decides, and the content only where there is none. All other
documents with links are known by their content, since servers name any type for them: a robots.txt, a sitemap, a feed,
a playlist, a style sheet, a web app manifest, a PDF, a DASH manifest. Scripts and JSON are known by their type or name.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from archive.http.content_coding import is_text
from browsers.links import dash, html, json_data, manifests, pdf, sitemaps, xml
from browsers.links.tags import Tag

_UNKNOWN: Final = frozenset(("", "unknown/unknown", "application/unknown", "*/*", "application/x-unknown-content-type"))
"""Media types that say nothing. Browsers look at the content then (WHATWG MIME Sniffing section 7)."""
_VAGUE: Final = _UNKNOWN | {"text/plain", "application/octet-stream", "binary/octet-stream", "application/x-download"}
"""Media types that servers name for files that they don't know."""
_JSON: Final = frozenset(("application/json", "text/json", *_VAGUE))
_XML: Final = sitemaps.TYPES | xml.STYLE_TYPES
_PAGES: Final = frozenset(("text/html", "application/xhtml+xml"))
_STYLE_NAME: Final = re.compile(r"\.css$", re.I)
_XSLT_NAME: Final = re.compile(r"\.xslt?$", re.I)
_LIST_NAME: Final = re.compile(r"\.(?:m3u8?|webmanifest)$", re.I)
_SCRIPT_TYPE: Final = re.compile(r"(?:application|text)/(?:x-)?(?:javascript|jscript|ecmascript|livescript)[\w.-]*")
_SCRIPT_NAME: Final = re.compile(r"\.m?js$", re.I)
_PDF_NAME: Final = re.compile(r"\.pdf$", re.I)
_DASH_NAME: Final = re.compile(r"\.mpd$", re.I)
_MARKS: Final = (
    b"%PDF-",
    b"<MPD",
    b"#EXTM3U",
    b"<?xml",
    b"<urlset",
    b"<sitemapindex",
    b"<rss",
    b"<feed",
    b"<rdf:RDF",
    b"<xsl:",
)
"""First bytes of documents with links that have any media type."""


class DocumentKind(StrEnum):
    """A document is one of these."""

    ROBOTS = "robots"
    LIST = "list"
    """A sitemap, a sitemap index, or a feed, in XML."""
    LINES = "lines"
    """A sitemap that has an address on each line."""
    STYLE = "style"
    APP = "app"
    PLAYLIST = "playlist"
    FILM = "film"
    """A DASH manifest."""
    SCRIPT = "script"
    JSON = "json"
    DESCRIPTION = "description"
    """JSON-LD."""
    PAGE = "page"
    XML = "xml"
    OTHER = "other"
    """A document that is not searched."""


def may_have_links(url: str, media_type: str, hop_path: str = "", *, guesses: bool = True) -> bool:
    """Return whether a body may have links, as its media type, its name or the way to it shows.

    Without `guesses`, scripts and most JSON have none.
    """
    path = urlsplit(url).path
    return (
        (guesses and (is_script(path, media_type) or is_json(path, media_type)))
        or media_type in pdf.TYPES | dash.TYPES | json_data.LINKED_TYPES
        or any(name.search(path) for name in (_PDF_NAME, _DASH_NAME))
        or _is_searched(url, path, media_type, hop_path)
    )


def _is_searched(url: str, path: str, media_type: str, hop_path: str) -> bool:
    return (
        media_type in html.TYPES | manifests.TYPES | _UNKNOWN
        or media_type in ("text/css", "text/plain")
        or is_xml(media_type)
        or is_named_by_a_list(hop_path)
        or sitemaps.is_robots(url)
        or sitemaps.has_sitemap_name(url)
        or any(name.search(path) for name in (_STYLE_NAME, _XSLT_NAME, _LIST_NAME))
        or manifests.has_app_name(url)
    )


def is_script(path: str, media_type: str) -> bool:
    """Return whether a document is a script, by its type, or by its name if the type says nothing."""
    return bool(_SCRIPT_TYPE.fullmatch(media_type)) or (media_type in _VAGUE and bool(_SCRIPT_NAME.search(path)))


def is_json(path: str, media_type: str) -> bool:
    """Return whether a document is JSON, by its type, or by its name if the type says nothing."""
    is_named = media_type in _VAGUE and json_data.has_json_name(path)
    return media_type in json_data.TYPES or media_type.endswith("+json") or is_named


def is_pdf(url: str, media_type: str, data: bytes) -> bool:
    """Return whether a body is a PDF. A document that browsers take for a page is none."""
    if media_type in _PAGES or not pdf.is_pdf(data):
        return False
    return media_type in pdf.TYPES or bool(_PDF_NAME.search(urlsplit(url).path)) or begins_with_links(data)


def is_xml(media_type: str) -> bool:
    """Return whether the media type is one of XML documents."""
    return media_type in _XML or media_type.endswith("+xml")


def begins_with_links(piece: bytes) -> bool:
    """Return whether the first bytes of a body show a document with links, whatever its media type."""
    return piece[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_MARKS)


def is_named_by_a_list(hop_path: str) -> bool:
    """Return whether a robots.txt, a sitemap index or a feed names the URL as a list of further URLs."""
    return hop_path.rstrip("R")[-1:] == "M"


def kind_of(url: str, media_type: str, data: bytes, text: str, root: Tag | None, hop_path: str) -> DocumentKind:
    """Return the kind of a document. `text` is `data` as text, and `root` is the first element of `text`."""
    if sitemaps.is_robots(url):
        return DocumentKind.ROBOTS
    if manifests.is_playlist(text):
        return DocumentKind.PLAYLIST
    if xml.local_name(root) in sitemaps.ROOTS:
        return DocumentKind.LIST
    if xml.local_name(root) == dash.ROOT and media_type not in _PAGES:
        return DocumentKind.FILM
    is_expected = is_named_by_a_list(hop_path) or (sitemaps.has_sitemap_name(url) and media_type not in _PAGES)
    if is_expected and root is None:
        return DocumentKind.LINES if is_text(data) else DocumentKind.OTHER
    return _by_type(url, media_type, text, root)


def _by_type(url: str, media_type: str, text: str, root: Tag | None) -> DocumentKind:
    path = urlsplit(url).path
    if media_type == "text/css" or (media_type in _VAGUE and _STYLE_NAME.search(path) and root is None):
        return DocumentKind.STYLE
    if media_type in manifests.APP_TYPES or (media_type in _JSON and manifests.has_app_name(url)):
        return DocumentKind.APP
    if media_type in json_data.LINKED_TYPES:
        return DocumentKind.DESCRIPTION
    if is_json(path, media_type):
        return DocumentKind.JSON
    if is_script(path, media_type):
        return DocumentKind.SCRIPT
    if media_type in html.TYPES:
        return DocumentKind.PAGE
    if is_xml(media_type) or (xml.is_style(root) and media_type in _VAGUE):
        return DocumentKind.XML
    if root is not None and media_type in _UNKNOWN:
        return DocumentKind.XML if text.lstrip().startswith("<?xml") else DocumentKind.PAGE
    return DocumentKind.OTHER
