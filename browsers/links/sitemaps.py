"""This module finds links in sitemaps (sitemaps.org 0.9 and extensions), feeds and robots.txt. Pure.

XML is read by expat, and entities are refused, so that a document can't expand or read a file. A document that is not
well-formed is searched for `loc` elements. Links to further sitemaps and to further pages of a feed have the hop M.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Final
from urllib.parse import urlsplit
from xml.parsers import expat

from browsers.links.collector import LinkCollector
from browsers.visit import Hop

_SITEMAP_NAME: Final = re.compile(r"sitemap[^/]*\.(xml|txt)(\.gz)?$|sitemap[^/]*\.gz$", re.I)
TYPES: Final = frozenset(
    ("text/xml", "application/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml")
)
"""Media types that a sitemap or a feed may have."""
ROOTS: Final = frozenset(("urlset", "sitemapindex", "rss", "feed", "rdf"))
"""Names of the first elements of sitemaps and feeds, in lower case and without prefix."""
_INDEX: Final = "sitemapindex"
_FEED_PAGES: Final = frozenset(("next", "prev", "previous", "first", "last", "current", "next-archive", "prev-archive"))
"""`rel` values of the other pages of a feed (RFC 5005)."""
_ADDRESS_LINE: Final = re.compile(r"^[^\S\n]*+(https?://\S++)[^\S\n]*+$", re.M)
_ROBOTS_LINE: Final = re.compile(r"^[ \t]*+sitemap[ \t]*+:[ \t]*+(\S++)", re.I | re.M)
_LOC: Final = re.compile(r"<loc(?:\s[^<>]*+)?>([^<]*+)", re.I)
_ADDRESS_REFERENCE: Final = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});")
_CDATA: Final = re.compile(r"<!\[CDATA\[|\]\]>")

TEXTS: Final[Mapping[str, Hop]] = {
    "loc": "L",
    "link": "L",
    "comments": "L",
    "image:loc": "E",
    "content_loc": "E",
    "thumbnail_loc": "E",
}
"""Elements whose text is a URL, with the hop."""
ATTRIBUTES: Final[Mapping[str, tuple[str, Hop]]] = {
    "link": ("href", "L"),
    "enclosure": ("url", "E"),
    "content": ("url", "E"),
    "thumbnail": ("url", "E"),
}
"""Elements with an attribute that is a URL (Atom, RSS, Media RSS, alternate languages in sitemaps)."""


_ENTRIES: Final = frozenset(("url", "sitemap", "item", "entry"))
"""Elements that describe one page or list."""
_DATES: Final = frozenset(("lastmod", "pubdate", "published", "updated", "modified", "date"))
"""Elements of an entry whose text is a date (sitemaps, RSS, Atom, Dublin Core)."""
_LONGEST_DATE: Final = 60


@dataclass(slots=True)
class _Entry:
    """The entry that is being read began after so many links, and changed at this time."""

    since: int = 0
    changed: int | None = None


class _Refused(Exception):
    """The document declares entities or default attributes, by which a few bytes become many."""


def is_robots(url: str) -> bool:
    """Return whether the URL is a host's robots.txt."""
    return urlsplit(url).path == "/robots.txt"


def has_sitemap_name(url: str) -> bool:
    """Return whether the URL has a name of a sitemap: `sitemap-news.xml`, `sitemap.txt`, `sitemap1.xml.gz`."""
    return bool(_SITEMAP_NAME.search(urlsplit(url).path))


def collect_robots(found: LinkCollector, text: str) -> None:
    """Add the URLs of the `Sitemap:` lines of a robots.txt."""
    for address in _ROBOTS_LINE.findall(text.replace("\r\n", "\n").replace("\r", "\n")):
        found.add(address, "M", "robots.txt/sitemap")


def collect_lines(found: LinkCollector, text: str) -> None:
    """Add the addresses of a plain list, one on each line."""
    for address in _ADDRESS_LINE.findall(text.replace("\r", "\n")):
        found.add(address, "L", "sitemap/line")


def collect(found: LinkCollector, data: bytes, text: str, root: str) -> None:
    """Add the addresses of a sitemap, a sitemap index or a feed. `text` is `data` as text.

    `root` is the name of the first element, in lower case and without prefix.
    """
    try:
        _read_xml(found, data, root)
    except (expat.ExpatError, ValueError, LookupError):  # the last ones for an encoding that Python lacks
        _read_tag_soup(found, text, root)
    except _Refused:
        return


def _read_xml(found: LinkCollector, data: bytes, root: str) -> None:
    """Add links while parsing. Raises ExpatError at a place that is not XML."""
    parser = expat.ParserCreate(namespace_separator=None)
    parser.buffer_text = True
    text: list[str] = []
    entry = _Entry()

    def start(name: str, attributes: dict[str, str]) -> None:
        text.clear()
        if _local(name).lower() in _ENTRIES:
            entry.since, entry.changed = found.count, None
        _add_attribute(found, _local(name), attributes)

    def end(name: str) -> None:
        said = "".join(text)
        _add_text(found, name, said, root)
        if _local(name).lower() in _DATES:
            entry.changed = latest(entry.changed, said)
        elif _local(name).lower() in _ENTRIES and entry.changed is not None:
            found.date(entry.since, entry.changed)
            entry.since, entry.changed = found.count, None  # no link is dated twice
        text.clear()

    def refuse(*_: object) -> None:
        raise _Refused

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text.append
    parser.EntityDeclHandler = refuse
    parser.AttlistDeclHandler = refuse
    parser.Parse(data, True)


def latest(known: int | None, text: str) -> int | None:
    """Return the later one of a time in ms since 1970 and the date that a text is, by ISO 8601 or RFC 5322."""
    text = text.strip()
    if not text or len(text) > _LONGEST_DATE:
        return known
    try:
        found = datetime.fromisoformat(text) if text[:4].isdecimal() else parsedate_to_datetime(text)
        moment = round(1000 * (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    except (ValueError, TypeError, IndexError, OverflowError):  # email.utils raises all of these
        return known
    return max(moment, known or 0)


def _read_tag_soup(found: LinkCollector, text: str, root: str) -> None:
    for address in _LOC.findall(_CDATA.sub("", text)):
        address = _ADDRESS_REFERENCE.sub(lambda match: unescape(match[0]), address)
        found.add(address, "M" if root == _INDEX else "L", "sitemap/loc")


def _add_attribute(found: LinkCollector, name: str, attributes: Mapping[str, str]) -> None:
    attribute, hop = ATTRIBUTES.get(name, ("", "L"))
    relation = attributes.get("rel", "").lower()
    if attribute and "stylesheet" not in relation:
        found.add(attributes.get(attribute), "M" if relation in _FEED_PAGES else hop, f"{name}/@{attribute}")


def _add_text(found: LinkCollector, name: str, text: str, root: str) -> None:
    """Add a link from text: `image:loc` of the image extension is part of a page, `loc` of a sitemap is a page."""
    known = name if name in TEXTS else _local(name)
    if known in TEXTS and text.strip():
        found.add(text, "M" if known == "loc" and root == _INDEX else TEXTS[known], f"{known}/text()")


def _local(name: str) -> str:
    return name.rpartition(":")[2]
