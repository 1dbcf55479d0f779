"""Gathers a document's links: resolves, drops what can't be fetched, keeps each once, stops at a bound. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urljoin

from archive.url import UrlError, canonical
from browsers.visit import FoundLink, Hop

MAX_LINKS: Final = 6000
"""Heritrix's maxOutlinks: a page with more is a trap or a directory of everything."""
_NO_ADDRESS: Final = ("javascript:", "mailto:", "data:", "tel:", "about:", "blob:", "sms:", "file:", "#")
_SLASHES: Final = re.compile(r"^(https?:)?/{2,}", re.I)
_NO_HOST: Final = re.compile(r"(https?:)?//([?#].*)?", re.I | re.S)


@dataclass(slots=True)
class Found:
    """Collects links: resolves them against `base`, drops what can't be fetched, keeps each URL and hop once."""

    base: str
    encoding: str = "utf-8"
    """The document's encoding: browsers write the non-ASCII part of a query in it (WHATWG URL section 4.1)."""
    limit: int = MAX_LINKS
    dropped: int = 0
    _links: dict[tuple[str, Hop], FoundLink] = field(default_factory=dict)

    def add(self, reference: str | None, hop: Hop, context: str) -> None:
        """Takes one reference as it is written in the document; nonsense is passed over."""
        url = self.resolve(reference)
        if url is None or (url, hop) in self._links:
            return
        if len(self._links) >= self.limit:
            self.dropped += 1
            return
        self._links[url, hop] = FoundLink(url, hop, context)

    def resolve(self, reference: str | None) -> str | None:
        """The reference as an absolute URL in canonical form; None when it is none that can be fetched."""
        text = (reference or "").strip(" \t\r\n\f")
        place, mark, query = text.partition("?")
        text = _SLASHES.sub(r"\1//", place.replace("\\", "/")) + mark + query
        if not text or text[:11].lower().startswith(_NO_ADDRESS) or _NO_HOST.fullmatch(text):
            return None
        try:
            return canonical(urljoin(self.base, self._in_document_encoding(text)))
        except (UrlError, ValueError):
            return None

    def rebase(self, reference: str | None) -> None:
        """`<base href>`: from here on, references are relative to this."""
        self.base = self.resolve(reference) or self.base

    def _in_document_encoding(self, text: str) -> str:
        if text.isascii() or self.encoding.startswith(("utf", "ascii")):
            return text
        address, mark, query = text.partition("?")
        query, hash_mark, fragment = query.partition("#")
        return address + mark + "".join(map(self._escape, query)) + hash_mark + fragment

    def _escape(self, char: str) -> str:
        if char.isascii():
            return char
        try:
            return quote(char.encode(self.encoding), "")
        except UnicodeEncodeError:
            return f"%26%23{ord(char)}%3B"  # what browsers send for a character that the encoding lacks

    @property
    def links(self) -> tuple[FoundLink, ...]:
        """In the order of the document."""
        return tuple(self._links.values())

    @property
    def annotations(self) -> tuple[str, ...]:
        """For crawl.log: how many links were left out."""
        return (f"links-dropped:{self.dropped}",) if self.dropped else ()
