"""This module finds the links of XML documents: style sheets, and what XSLT style sheets import and read. Pure.

Browsers show an XML document by the style sheets of its `xml-stylesheet` instructions. An XSLT style sheet may import
and include others, and may read documents by name. All of these are parts of the page.

XML of any other kind gives guesses, as with Heritrix's ExtractorXML: values of attributes and texts of elements that
are absolute URLs, and attributes such as `href`, `src` and `url`.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final

from browsers.links import guesses, html
from browsers.links.collector import LinkCollector
from browsers.links.tags import Tag, start_tags
from browsers.visit import XSLT_CONTEXT

STYLE_TYPES: Final = frozenset(("text/xsl", "application/xslt+xml", "text/xslt", "application/xsl"))
"""Media types of XSLT style sheets."""
_CSS: Final = re.compile(r"\btype\s{0,20}=\s{0,20}[\"']text/css")
_MAX_INSTRUCTIONS: Final = 50
_INSTRUCTION: Final = re.compile(r"<\?xml-stylesheet\s([^?<>]{0,4000})\?>")
_HREF: Final = re.compile(r"\bhref\s{0,20}=\s{0,20}(?:\"([^\"]*)\"|'([^']*)')")
_XSLT: Final = "http://www.w3.org/1999/XSL/Transform"
_STYLES: Final = ("stylesheet", "transform")
_READS: Final = re.compile(r"\bdocument\s{0,20}\(\s{0,20}(?:'([^'<>\"]{1,2000})'|\"([^\"<>']{1,2000})\")")
_COMPUTED: Final = re.compile(r"[{}]|%7[BD]", re.I)
"""A part of an address that the style sheet computes."""
_HEAD: Final = 65_536
"""Characters in which the first element begins."""


_ADDRESSES: Final = frozenset(("href", "src", "url", "uri", "link", "file", "path", "image", "thumb", "thumbnail"))
"""Local names of attributes whose value is a guess also if it is a path."""
_NAMES_OF_IDEAS: Final = re.compile(
    r"xmlns(?::.*)?|(?:.*:)?(?:schemaLocation|noNamespaceSchemaLocation)|.*namespace", re.I
)
_TEXT: Final = re.compile(
    r"<([\w:.-]{1,80}+)[^<>]{0,2000}+>\s{0,200}+(?:<!\[CDATA\[\s{0,200}+)?+(https?://[^\s<>\"'\]]{1,2000}+)"
)
"""An element whose text begins with a URL."""
_TEXT_ENDS: Final = re.compile(r"\s{0,200}(?:\]\]>\s{0,200})?<")
_MAX_TAGS: Final = 500_000
MAX_XML: Final = 16_000_000
"""Characters of a document that are searched for guesses."""


def root_of(text: str) -> Tag | None:
    """Return the first element of a document that begins with markup; None for another text."""
    head = text[:_HEAD].lstrip()
    return next(start_tags(head), None) if head.startswith("<") else None


def local_name(tag: Tag | None) -> str:
    """Return the name of an element without its prefix, in lower case; empty for none."""
    return tag.name.rpartition(":")[2] if tag is not None else ""


def is_style(root: Tag | None) -> bool:
    """Return whether a document with this first element is an XSLT style sheet."""
    return root is not None and local_name(root) in _STYLES and _XSLT in root.written


def collect_instructions(found: LinkCollector, text: str) -> None:
    """Add the style sheets that the instructions in front of the first element name."""
    head = text[:_HEAD]
    for number, instruction in enumerate(_INSTRUCTION.finditer(head)):
        if number >= _MAX_INSTRUCTIONS:
            return
        if href := _HREF.search(instruction[1]):
            context = "xml-stylesheet/@href" if _CSS.search(instruction[1]) else XSLT_CONTEXT
            found.add(unescape(href[1] or href[2] or ""), "E", context)


def collect(found: LinkCollector, text: str, root: Tag | None) -> None:
    """Add the links of an XML document: its style sheets, and by its first element those of XSLT, XHTML or SVG."""
    collect_instructions(found, text)
    if is_style(root):
        _collect_style(found, text)
    elif local_name(root) in ("html", "svg"):
        html.collect(found, text, is_xml=True)
    elif found.takes_guesses:
        _collect_guesses(found, text[:MAX_XML])


def _collect_guesses(found: LinkCollector, text: str) -> None:
    """Add the URLs in attributes and texts of a document of an unknown kind."""
    for number, tag in enumerate(start_tags(text, is_xml=True)):
        if number >= _MAX_TAGS:
            found.dropped += 1
            break
        if "/" not in tag.written:
            continue
        for name, value in tag.attributes().items():
            is_named = name.rpartition(":")[2] in _ADDRESSES
            if _NAMES_OF_IDEAS.fullmatch(name) or len(value) > guesses.MAX_GUESS:
                continue
            if guesses.is_absolute(value) or (is_named and guesses.likely(value) == value):
                found.guess(value, f"{local_name(tag)}/@{name}")
    for number, begins in enumerate(_TEXT.finditer(text)):
        if number >= _MAX_TAGS:
            found.dropped += 1
            return
        if guesses.is_absolute(begins[2]) and _TEXT_ENDS.match(text, begins.end()):
            found.guess(unescape(begins[2]), f"{begins[1].rpartition(':')[2].lower()}/text()")


def _collect_style(found: LinkCollector, text: str) -> None:
    """Add what a style sheet imports, includes and reads, and the parts of pages that its templates name."""
    for tag in start_tags(text, is_xml=True):
        name = local_name(tag)
        if name in ("import", "include") and ":" in tag.name:
            found.add(tag.attributes().get("href"), "E", f"xsl:{name}/@href")
        elif "document" in tag.written:
            for value in tag.attributes().values():
                for single, double in _READS.findall(value):
                    found.add(single or double, "E", "xsl:document()")
    shown = LinkCollector(found.base, found.encoding)
    html.collect(shown, text, is_xml=True)
    for link in shown.links:
        if link.hop == "E" and not _COMPUTED.search(link.url):
            found.add(link.url, "E", link.context)
