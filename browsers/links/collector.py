"""The collector resolves the links of a document, drops those that can't be fetched, and keeps each once. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final
from urllib.parse import quote, urljoin

from archive.bounded_memory import BoundedMemory
from archive.url import MAX_LENGTH, UrlError, canonical
from browsers.visit import FoundLink, Hop

MAX_LINKS: Final = 6000
"""Heritrix's maxOutlinks. A page with more links is a trap or a huge directory."""
MAX_WORK: Final = 10_000_000
"""Largest number of characters of references and bases that are resolved for one document. This is enough for 6,000
links of a thousand characters, and for 40,000 short ones.
"""
MAX_GUESSES: Final = 1000
"""Largest number of guessed links of a page or a script. JSON and XML may have as many as other links."""
_WORK_PER_REFERENCE: Final = 100
_NO_ADDRESS: Final = ("javascript:", "mailto:", "data:", "tel:", "about:", "blob:", "sms:", "file:", "#")
_SLASHES: Final = re.compile(r"^(https?:)?/{2,}", re.I)
_NO_HOST: Final = re.compile(r"(https?:)?//([?#].*)?", re.I | re.S)
_LONGEST_KNOWN: Final = 500
_RESOLVED: Final = BoundedMemory[str](20_000, 2_000_000)
"""URLs of references, since most pages of a site have the same links."""


@dataclass(slots=True)
class LinkCollector:
    """The collector resolves links against `base`, and keeps each URL and hop once."""

    base: str
    encoding: str = "utf-8"
    """Encoding of the document, in which browsers write non-ASCII characters of a query (WHATWG URL section 4.1)."""
    limit: int = MAX_LINKS
    takes_guesses: bool = False
    """Texts that only look like URLs are links, too."""
    guess_limit: int = MAX_GUESSES
    dropped: int = 0
    _work: int = 0
    _guesses: int = 0
    _links: dict[tuple[str, Hop], FoundLink] = field(default_factory=dict)
    _urls: set[str] = field(default_factory=set)

    def add(self, reference: str | None, hop: Hop, context: str, *, base: str | None = None) -> None:
        """Add a reference as it is written in the document. A reference without meaning is skipped.

        `base` replaces the base of the document. Beyond `limit` links or `MAX_WORK`, references are only counted, and
        so are those longer than any URL.
        """
        if not reference or _is_no_address(reference):
            return
        if len(reference) > MAX_LENGTH:
            self.dropped += 1
            return
        url = self.resolve(reference, base)
        if url is None or (url, hop) in self._links:
            return
        if len(self._links) >= self.limit:
            self.dropped += 1
            return
        self._links[url, hop] = FoundLink(url, hop, context)
        self._urls.add(url)

    def date(self, since: int, changed: int) -> None:
        """Note that the links after the first `since` ones, which are pages or lists, changed at this time in ms."""
        for key in list(islice(reversed(self._links), max(len(self._links) - since, 0))):
            if key[1] in ("L", "M"):
                self._links[key] = replace(self._links[key], changed=changed)

    def guess(self, reference: str, context: str, *, base: str | None = None, hop: Hop = "X") -> None:
        """Add a text that looks like a URL, if guesses are taken and the URL has no other link in the document.

        `base` is the URL against which the text is resolved; by default, that of the document. Beyond
        `guess_limit`, texts are only counted.
        """
        if not self.takes_guesses:
            return
        if self._guesses >= self.guess_limit:
            self.dropped += 1
            return
        url = self.resolve(reference, base)
        if url is None or url in self._urls:
            return
        self._guesses += 1
        self.add(url, hop, context)

    def resolve(self, reference: str | None, base: str | None = None) -> str | None:
        """Return the absolute, canonical URL of a reference; None when it can't be fetched.

        `base` replaces the base of the document. Beyond `MAX_WORK`, references are only counted.
        """
        if not reference:
            return None
        if self._work > MAX_WORK:
            self.dropped += 1
            return None
        base = base or self.base
        self._work += len(base) + len(reference) + _WORK_PER_REFERENCE
        key = self._key(reference, base)
        if key and (known := _RESOLVED.get(key)) is not None:
            return known
        url = self._resolved(reference, base)
        if key and url is not None:
            _RESOLVED.put(key, url)
        return url

    def _key(self, reference: str, base: str) -> str:
        """Return what the URL of a path from the root, or of an absolute URL, depends on; empty for all others."""
        if len(reference) > _LONGEST_KNOWN or not reference.isascii():
            return ""
        if reference.startswith("/"):
            scheme, _, host, *_ = (*base.split("/", 3), "", "")
            return f" {scheme}//{host} {reference}"  # an absolute URL is another key, since it begins with no space
        return reference if reference.startswith(("http://", "https://")) else ""

    def _resolved(self, reference: str, base: str) -> str | None:
        text = reference.strip(" \t\r\n\f")
        place, mark, query = text.partition("?")
        text = _SLASHES.sub(r"\1//", place.replace("\\", "/")) + mark + query
        if not text or text[:11].lower().startswith(_NO_ADDRESS) or _NO_HOST.fullmatch(text):
            return None
        try:
            return canonical(_joined(base, self._in_document_encoding(text)))
        except (UrlError, ValueError):
            return None

    def rebase(self, reference: str | None) -> None:
        """Resolve later references against this URL (`<base href>`)."""
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
    def count(self) -> int:
        """Return the number of links so far."""
        return len(self._links)

    @property
    def links(self) -> tuple[FoundLink, ...]:
        """Return the links in the order of the document."""
        return tuple(self._links.values())

    @property
    def annotations(self) -> tuple[str, ...]:
        """Return the annotation for crawl.log with the number of dropped links."""
        return (f"links-dropped:{self.dropped}",) if self.dropped else ()


def _joined(base: str, text: str) -> str:
    """Return the result of `urljoin`. Absolute URLs and paths from the root, the most common ones, need less work."""
    if ";" not in text and "?#" not in text and not text.endswith("?"):
        if text.startswith(("http://", "https://")) and text.split("/", 3)[2][:1] not in ("", "?", "#"):
            return text
        if text.startswith("/") and not text.startswith("//"):
            return "/".join((*base.split("/", 3)[:3], text[1:]))
    return urljoin(base, text)


def _is_no_address(reference: str) -> bool:
    """Return whether the first characters show a reference that can't be fetched, such as `data:`."""
    return reference[:20].lstrip(" \t\r\n\f")[:11].lower().startswith(_NO_ADDRESS)
