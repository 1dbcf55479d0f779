"""Links in sitemaps (sitemaps.org 0.9 and its extensions), feeds and robots.txt. Pure.

XML is read by expat with entities refused, so no document can blow up or reach a file. One that is not well-formed
is read by the HTML parser instead: half of a sitemap is worth more than none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit
from xml.parsers import expat

from selectolax.lexbor import LexborHTMLParser

from browsers.found import Found
from browsers.visit import Hop

_SITEMAP_NAME: Final = re.compile(r"sitemap[^/]*\.(xml|txt)(\.gz)?$|sitemap[^/]*\.gz$", re.I)
TYPES: Final = frozenset(
    ("text/xml", "application/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml")
)
"""Media types that a sitemap or a feed may have."""
_ROOTS: Final = re.compile(rb"<(?:[\w.-]+:)?(urlset|sitemapindex|rss|feed|rdf)[\s>]", re.I)
_ADDRESS_LINE: Final = re.compile(r"^\s*(https?://\S+)\s*$", re.M)
_ROBOTS_LINE: Final = re.compile(r"^[ \t]*sitemap[ \t]*:[ \t]*(\S+)", re.I | re.M)

TEXTS: Final[Mapping[str, Hop]] = {
    "loc": "L",
    "link": "L",
    "comments": "L",
    "image:loc": "E",
    "content_loc": "E",
    "thumbnail_loc": "E",
}
"""Element whose text is an address, and the hop to it."""
ATTRIBUTES: Final[Mapping[str, tuple[str, Hop]]] = {
    "link": ("href", "L"),
    "enclosure": ("url", "E"),
    "content": ("url", "E"),
    "thumbnail": ("url", "E"),
}
"""Element, and which attribute of it is an address (Atom, RSS, Media RSS, alternate languages in sitemaps)."""


class _Refused(Exception):
    """The document declares entities."""


def is_robots(url: str) -> bool:
    """Whether the URL is a host's robots.txt."""
    return urlsplit(url).path == "/robots.txt"


def is_sitemap(url: str, media_type: str, data: bytes) -> bool:
    """Whether this is a sitemap or a feed, by its content when it says XML and by its name when it says less."""
    if media_type in TYPES or data.lstrip()[:5] == b"<?xml":
        return bool(_ROOTS.search(data[:4096]))
    return has_sitemap_name(url) and media_type not in ("text/html", "application/xhtml+xml")


def has_sitemap_name(url: str) -> bool:
    """Whether the URL is called as sitemaps are: `sitemap-news.xml`, `sitemap.txt`, `sitemap1.xml.gz`."""
    return bool(_SITEMAP_NAME.search(urlsplit(url).path))


def collect_robots(found: Found, text: str) -> None:
    """Adds what the `Sitemap:` lines of a robots.txt name."""
    for address in _ROBOTS_LINE.findall(text.replace("\r\n", "\n").replace("\r", "\n")):
        found.add(address, "L", "robots.txt/sitemap")


def collect(found: Found, data: bytes) -> None:
    """Adds the addresses of a sitemap, a sitemap index, a feed, or a plain list of addresses."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"<":
        for address in _ADDRESS_LINE.findall(data.decode("utf-8-sig", "replace").replace("\r", "\n")):
            found.add(address, "L", "sitemap/line")
        return
    try:
        _read_xml(found, data)
    except expat.ExpatError:
        _read_tag_soup(found, data)
    except _Refused:
        return


def _read_xml(found: Found, data: bytes) -> None:
    """Adds links while parsing; raises ExpatError where the document stops being XML."""
    parser = expat.ParserCreate(namespace_separator=None)
    parser.buffer_text = True
    path: list[str] = []
    text: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        path.append(name)
        text.clear()
        _add_attribute(found, _local(name), attributes)

    def end(name: str) -> None:
        path.pop()
        _add_text(found, name, "".join(text))
        text.clear()

    def refuse(*_: object) -> None:
        raise _Refused

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = refuse
    parser.Parse(data, True)


def _read_tag_soup(found: Found, data: bytes) -> None:
    tree = LexborHTMLParser(data.decode("utf-8", "replace").replace("<![CDATA[", "").replace("]]>", ""))
    for node in tree.css("loc"):
        found.add(node.text(), "L", "sitemap/loc")


def _add_attribute(found: Found, name: str, attributes: Mapping[str, str]) -> None:
    attribute, hop = ATTRIBUTES.get(name, ("", "L"))
    if attribute and "stylesheet" not in attributes.get("rel", ""):
        found.add(attributes.get(attribute), hop, f"{name}/@{attribute}")


def _add_text(found: Found, name: str, text: str) -> None:
    """`image:loc` of the image extension is part of a page, `loc` of a sitemap is a page."""
    known = name if name in TEXTS else _local(name)
    if known in TEXTS and text.strip():
        found.add(text, TEXTS[known], f"{known}/text()")


def _local(name: str) -> str:
    return name.rpartition(":")[2]
