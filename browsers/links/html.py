"""This module finds links in HTML and SVG. Tags are found as browsers find them (`browsers.links.tags`). Pure.

Links of elements and attributes come first. Guesses follow: texts that look like URLs in scripts, in event handlers
and in attributes of scripts (`data-…`). A collector that takes no guesses leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from browsers.links import css, guesses, json_data
from browsers.links.collector import LinkCollector
from browsers.links.headers import collect_relation, refresh_target
from browsers.links.html_names import (
    ANYWHERE,
    ATTRIBUTES,
    FILES_IN_META,
    PAGES_IN_META,
    PICTURES_IN_META,
    SETS,
    SURE,
)
from browsers.links.tags import Tag, start_tags
from browsers.visit import Hop

TYPES: Final = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml", "image/svg+xml"))
"""Media types that are searched as HTML."""

_SCRIPT_TYPES: Final = re.compile(r"|module|(?:text|application)/(?:x-)?(?:java|ecma|j|live)script\b.*", re.I | re.S)
_JSON_TYPES: Final = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?json\b.*|importmap|speculationrules", re.I | re.S)


def collect(found: LinkCollector, text: str, *, is_xml: bool = False) -> None:
    """Add every link of a document. A collector may take guesses as well."""
    if _BASE.search(text):
        found.rebase(next((tag.attributes()["href"] for tag in start_tags(text, is_xml=is_xml) if _is_base(tag)), None))
    guessed = _Guessed(found)
    hints = _HINTS if found.takes_guesses else _SHARED
    for tag in start_tags(text, is_xml=is_xml, conditional=True):
        if tag.name == "style":
            css.collect(found, tag.text, "style/text()")
        elif tag.name in _NAMES or hints.search(tag.written):
            _collect_tag(found, guessed, tag)
    guessed.collect()


def _is_base(tag: Tag) -> bool:
    return tag.name == "base" and "href" in tag.attributes()


@dataclass(slots=True)
class _Guessed:
    """Texts that are searched for guesses after all links are known, at most `guesses.MAX_SCRIPT` characters of them.

    Each has the way in which it is searched, and its context.
    """

    found: LinkCollector
    _room: int = guesses.MAX_SCRIPT
    _texts: list[tuple[Callable[[LinkCollector, str, str], None], str, str]] = field(default_factory=list)

    def add(self, search: Callable[[LinkCollector, str, str], None], text: str, context: str) -> None:
        """Keep a text, or as much of it as there is room for."""
        if self.found.takes_guesses and text and self._room > 0:
            self._texts.append((search, text[: self._room], context))
            self._room -= len(text) + _COST

    def collect(self) -> None:
        """Search the texts."""
        for search, text, context in self._texts:
            search(self.found, text, context)


def _whole(hop: Hop) -> Callable[[LinkCollector, str, str], None]:
    """Return a search that takes the text as a whole, if it looks like a URL."""

    def search(found: LinkCollector, text: str, context: str) -> None:
        reference = guesses.likely(text.strip())
        if reference is not None:
            found.guess(reference, context, hop=hop)

    return search


_WHOLE: Final = _whole("X")
_WHOLE_PAGE: Final = _whole("L")


def _collect_tag(found: LinkCollector, guessed: _Guessed, tag: Tag) -> None:
    name, attributes = tag.name, tag.attributes()
    for attribute, hop in ATTRIBUTES.get(name, ()):
        found.add(attributes.get(attribute), hop, f"{name}/@{attribute}")
    special = _SPECIAL.get(name)
    if special is not None:
        special(found, guessed, attributes)
    if name == "script" and tag.text:
        _script(found, guessed, attributes.get("type", ""), tag.text)
    _collect_shared(found, guessed, name, attributes)


def _collect_shared(found: LinkCollector, guessed: _Guessed, tag: str, attributes: Mapping[str, str]) -> None:
    """Collect what any element may carry: lazy addresses, sets of sources, a style, handlers of events."""
    for name, value in attributes.items():
        if not value:
            continue
        if name in ANYWHERE:
            _lazy(found, name, value, f"{tag}/@{name}")
        elif name in SETS:
            for address in css.srcset(value):
                found.add(address, "E", f"{tag}/@{name}")
        elif name == "style":
            css.collect(found, value, f"{tag}/@style")
        elif name.startswith("on") or (name in ("href", "xlink:href") and _JAVASCRIPT.match(value)):
            guessed.add(guesses.collect, value, f"{tag}/@{name}")
        elif name.startswith("data-") and ("/" in value or "." in value):
            is_text = any(quote in value for quote in "\"'")
            guessed.add(guesses.collect if is_text else _WHOLE, value, f"{tag}/@{name}")
        elif name == "value" and tag in ("option", "input", "button"):
            guessed.add(_WHOLE_PAGE, value, f"{tag}/@value")
        elif name == "flashvars":
            _flashvars(guessed, value, f"{tag}/@{name}")


def _lazy(found: LinkCollector, name: str, value: str, context: str) -> None:
    """Add the address of a lazy attribute, which some libraries write as in CSS, or as other values too."""
    text = value.strip()
    if text[:10].lower().startswith(("url(", "image-set(", "linear-")):
        css.collect(found, text, context)
    elif name in SURE or guesses.likely(text) is not None:
        found.add(text, "E", context)


def _script(found: LinkCollector, guessed: _Guessed, kind: str, text: str) -> None:
    """Collect the content of a script element: a description in JSON-LD, other JSON, or a script."""
    kind = kind.strip()
    if kind.lower().partition(";")[0].strip() in json_data.LINKED_TYPES:
        json_data.collect_linked(found, text)
    elif _JSON_TYPES.fullmatch(kind):
        guessed.add(json_data.collect, text, "script/text()")
    elif _SCRIPT_TYPES.fullmatch(kind):
        guessed.add(guesses.collect, text, "script/text()")


def _link(found: LinkCollector, _: _Guessed, attributes: Mapping[str, str]) -> None:
    collect_relation(found, attributes.get("href"), attributes.get("rel") or "", "link/@href")


def _meta(found: LinkCollector, guessed: _Guessed, attributes: Mapping[str, str]) -> None:
    content = (attributes.get("content") or "").strip()
    if (attributes.get("http-equiv") or "").lower() == "refresh":
        found.add(refresh_target(content), "R", "meta/@content")
        return
    name = (attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or "").lower()
    if name in FILES_IN_META or (name.startswith(PICTURES_IN_META) and "://" in content):
        found.add(content if "/" in content else None, "E", "meta/@content")
    elif name in PAGES_IN_META:
        found.add(content if content.startswith(("http:", "https:", "/")) else None, "L", "meta/@content")
    elif guesses.is_absolute(content):
        guessed.add(_WHOLE, content, "meta/@content")


def _param(found: LinkCollector, guessed: _Guessed, attributes: Mapping[str, str]) -> None:
    name, value = (attributes.get("name") or "").lower(), attributes.get("value") or ""
    if name in ("movie", "src", "filename", "url"):
        found.add(value, "E", "param/@value")
    elif name == "flashvars":
        _flashvars(guessed, value, "param/@value")
    else:
        guessed.add(_WHOLE, value, "param/@value")


def _flashvars(guessed: _Guessed, value: str, context: str) -> None:
    """Keep the values of a query string with which a Flash film is started."""
    for pair in value[:_MAX_FLASHVARS].split("&"):
        guessed.add(_WHOLE, unquote(pair.partition("=")[2]), context)


def _object(found: LinkCollector, _: _Guessed, attributes: Mapping[str, str]) -> None:
    """Add the parts of an object, which are relative to its `codebase`, if it has one."""
    base = found.resolve(attributes.get("codebase"))
    for name in ("data", "classid", "src"):
        found.add(attributes.get(name), "E", f"object/@{name}", base=base)
    for address in (attributes.get("archive") or "").replace(",", " ").split()[:_MAX_ARCHIVES]:
        found.add(address, "E", "object/@archive", base=base)


def _applet(found: LinkCollector, _: _Guessed, attributes: Mapping[str, str]) -> None:
    base = found.resolve(attributes.get("codebase"))
    code = attributes.get("code") or ""
    if code and "." not in code.rpartition("/")[2].removesuffix(".class"):
        code = code if code.endswith(".class") else f"{code}.class"
    elif code and not code.endswith(".class"):
        code = f"{code.replace('.', '/')}.class"  # the name of a class in a package
    found.add(code, "E", "applet/@code", base=base)
    found.add(attributes.get("object"), "E", "applet/@object", base=base)
    for address in (attributes.get("archive") or "").replace(",", " ").split()[:_MAX_ARCHIVES]:
        found.add(address, "E", "applet/@archive", base=base)


_COST: Final = 100
"""Characters for which each searched text counts besides its own."""
_MAX_FLASHVARS: Final = 10_000
_MAX_ARCHIVES: Final = 100
_JAVASCRIPT: Final = re.compile(r"\s{0,20}javascript:", re.IGNORECASE)
_SPECIAL: Final = {"link": _link, "meta": _meta, "param": _param, "object": _object, "applet": _applet}
_NAMES: Final = frozenset((*ATTRIBUTES, *_SPECIAL))
_BASE: Final = re.compile(r"<base[\s/]", re.IGNORECASE)
_SHARED: Final = re.compile(r"style|srcset|data-", re.IGNORECASE)
"""A hint that a tag may carry an attribute that any element may."""
_HINTS: Final = re.compile(r"style|srcset|data-|\bon[a-z]|value|flashvars", re.IGNORECASE)
"""A hint that a tag may carry an attribute that any element may, or one with a guess."""
