"""This module finds links in HTML and SVG. Tags are found as browsers find them (`browsers.links.tags`). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from browsers.links import css
from browsers.links.collector import LinkCollector
from browsers.links.headers import collect_relation, refresh_target
from browsers.links.tags import Tag, start_tags
from browsers.visit import Hop

TYPES: Final = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml", "image/svg+xml"))
"""Media types that are searched as HTML."""

ATTRIBUTES: Final[Mapping[str, tuple[tuple[str, Hop], ...]]] = {
    "a": (("href", "L"), ("xlink:href", "L")),
    "applet": (("archive", "E"),),
    "area": (("href", "L"),),
    "audio": (("src", "E"),),
    "blockquote": (("cite", "L"),),
    "body": (("background", "E"),),
    "del": (("cite", "L"),),
    "embed": (("src", "E"),),
    "feimage": (("href", "E"), ("xlink:href", "E")),
    "frame": (("src", "E"), ("longdesc", "L")),
    "iframe": (("src", "E"), ("longdesc", "L")),
    "image": (("href", "E"), ("xlink:href", "E"), ("src", "E")),
    "img": (("src", "E"), ("lowsrc", "E"), ("dynsrc", "E"), ("longdesc", "L")),
    "input": (("src", "E"),),
    "ins": (("cite", "L"),),
    "object": (("data", "E"),),
    "q": (("cite", "L"),),
    "script": (("src", "E"), ("href", "E"), ("xlink:href", "E")),
    "source": (("src", "E"),),
    "table": (("background", "E"),),
    "td": (("background", "E"),),
    "th": (("background", "E"),),
    "tr": (("background", "E"),),
    "track": (("src", "E"),),
    "use": (("href", "E"), ("xlink:href", "E")),
    "video": (("src", "E"), ("poster", "E")),
}
"""Element, attribute, hop: what HTML (and HTML of thirty years) names by a plain address."""

ANYWHERE: Final[Mapping[str, Hop]] = {
    "data-src": "E",
    "data-original": "E",
    "data-lazy-src": "E",
    "data-lazy": "E",
    "data-bg": "E",
    "data-background-image": "E",
    "data-poster": "E",
    "data-thumb": "E",
    "data-full-src": "E",
}
"""Attributes by which lazy-loading scripts keep an image's address, on any element."""

_SETS: Final = ("srcset", "data-srcset", "data-lazy-srcset", "imagesrcset")
_PICTURES_IN_META: Final = ("og:image", "og:video", "og:audio", "twitter:image", "twitter:player:stream")
_META_NAMES: Final = frozenset(("msapplication-tileimage", "thumbnail", "image", "contenturl", "thumbnailurl"))


def collect(found: LinkCollector, text: str, *, forms: bool = False, is_xml: bool = False) -> None:
    """Add every link of a document; `forms` also those of forms that GET."""
    if _BASE.search(text):
        found.rebase(next((tag.attributes()["href"] for tag in start_tags(text, is_xml=is_xml) if _is_base(tag)), None))
    for tag in start_tags(text, is_xml=is_xml):
        if tag.name == "style":
            css.collect(found, tag.text, "style/text()")
        elif tag.name in _NAMES or _SHARED.search(tag.written):
            _collect_tag(found, tag.name, tag.attributes(), forms=forms)


def _is_base(tag: Tag) -> bool:
    return tag.name == "base" and "href" in tag.attributes()


def _collect_tag(found: LinkCollector, tag: str, attributes: Mapping[str, str], *, forms: bool) -> None:
    for name, hop in ATTRIBUTES.get(tag, ()):
        found.add(attributes.get(name), hop, f"{tag}/@{name}")
    special = _SPECIAL.get(tag)
    if special is not None:
        special(found, attributes)
    _collect_shared(found, tag, attributes)
    if tag == "form" and forms and (attributes.get("method") or "get").lower() == "get":
        found.add(attributes.get("action"), "L", "form/@action")


def _collect_shared(found: LinkCollector, tag: str, attributes: Mapping[str, str]) -> None:
    """Collect what any element may carry: lazy addresses, sets of sources, a style."""
    for name, value in attributes.items():
        if not value:
            continue
        if name in ANYWHERE:
            found.add(value, ANYWHERE[name], f"{tag}/@{name}")
        elif name in _SETS:
            for address in css.srcset(value):
                found.add(address, "E", f"{tag}/@{name}")
        elif name == "style":
            css.collect(found, value, f"{tag}/@style")


def _link(found: LinkCollector, attributes: Mapping[str, str]) -> None:
    collect_relation(found, attributes.get("href"), attributes.get("rel") or "", "link/@href")


def _meta(found: LinkCollector, attributes: Mapping[str, str]) -> None:
    content = attributes.get("content") or ""
    if (attributes.get("http-equiv") or "").lower() == "refresh":
        found.add(refresh_target(content), "R", "meta/@content")
        return
    name = (attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or "").lower()
    if name in _META_NAMES or (name.startswith(_PICTURES_IN_META) and "://" in content):
        found.add(content if "/" in content else None, "E", "meta/@content")


def _param(found: LinkCollector, attributes: Mapping[str, str]) -> None:
    if (attributes.get("name") or "").lower() in ("movie", "src", "filename", "url"):
        found.add(attributes.get("value"), "E", "param/@value")


_SPECIAL: Final = {"link": _link, "meta": _meta, "param": _param}
_NAMES: Final = frozenset(("form", *ATTRIBUTES, *_SPECIAL))
_BASE: Final = re.compile(r"<base[\s/]", re.IGNORECASE)
_SHARED: Final = re.compile(r"style|srcset|data-", re.IGNORECASE)
"""A hint that a tag may carry an attribute that any element may."""
