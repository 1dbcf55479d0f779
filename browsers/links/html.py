"""Links in HTML and SVG. Pure, and forgiving: the parser is the one of browsers (lexbor through selectolax)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from browsers import css
from browsers.found import Found
from browsers.headers import collect_relation, refresh_target
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
    "image": (("href", "E"), ("xlink:href", "E")),
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

_DEEPEST_TEMPLATE: Final = 5
_SETS: Final = ("srcset", "data-srcset", "data-lazy-srcset", "imagesrcset")
_PICTURES_IN_META: Final = ("og:image", "og:video", "og:audio", "twitter:image", "twitter:player:stream")
_META_NAMES: Final = frozenset(("msapplication-tileimage", "thumbnail", "image", "contenturl", "thumbnailurl"))


def collect(found: Found, text: str, *, forms: bool = False) -> None:
    """Adds every link of a document; `forms` also those of forms that GET."""
    tree = LexborHTMLParser(text)
    base = tree.css_first("base[href]")
    if base is not None:
        found.rebase(base.attributes.get("href"))
    _collect_tree(found, tree, forms=forms, depth=0)


def _collect_tree(found: Found, tree: LexborHTMLParser, *, forms: bool, depth: int) -> None:
    root = tree.root
    for node in root.traverse() if root is not None else ():
        if node.tag == "template" and depth < _DEEPEST_TEMPLATE:
            # Its content is a document apart, which traversal leaves out; shadow roots are written this way too.
            _collect_tree(
                found, LexborHTMLParser((node.html or "").removeprefix("<template")), forms=forms, depth=depth + 1
            )
        _collect_node(found, node, forms=forms)


def _collect_node(found: Found, node: LexborNode, *, forms: bool) -> None:
    tag = (node.tag or "").lower()
    if tag == "style":
        css.collect(found, node.text() or "", "style/text()")
        return
    attributes = node.attributes
    if not attributes:
        return
    for name, hop in ATTRIBUTES.get(tag, ()):
        found.add(attributes.get(name), hop, f"{tag}/@{name}")
    special = _SPECIAL.get(tag)
    if special is not None:
        special(found, attributes)
    _collect_shared(found, tag, attributes)
    if tag == "form" and forms and (attributes.get("method") or "get").lower() == "get":
        found.add(attributes.get("action"), "L", "form/@action")


def _collect_shared(found: Found, tag: str, attributes: Mapping[str, str | None]) -> None:
    """What any element may carry: lazy addresses, sets of sources, a style."""
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


def _link(found: Found, attributes: Mapping[str, str | None]) -> None:
    collect_relation(found, attributes.get("href"), attributes.get("rel") or "", "link/@href")


def _meta(found: Found, attributes: Mapping[str, str | None]) -> None:
    content = attributes.get("content") or ""
    if (attributes.get("http-equiv") or "").lower() == "refresh":
        found.add(refresh_target(content), "R", "meta/@content")
        return
    name = (attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or "").lower()
    if name in _META_NAMES or (name.startswith(_PICTURES_IN_META) and "://" in content):
        found.add(content if "/" in content else None, "E", "meta/@content")


def _param(found: Found, attributes: Mapping[str, str | None]) -> None:
    if (attributes.get("name") or "").lower() in ("movie", "src", "filename", "url"):
        found.add(attributes.get("value"), "E", "param/@value")


_SPECIAL: Final = {"link": _link, "meta": _meta, "param": _param}
