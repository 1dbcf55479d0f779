"""A site's answer to a URL that surely does not exist shows how a page looks that is not there, whatever the status.

Pages with status 200 that look like this answer are soft 404s. A look is a short description of a page: words that the
URL itself has are left out, since such pages often quote it. Pure.
"""

from __future__ import annotations

import hashlib
import html
import re
import secrets
from itertools import pairwise
from typing import Final
from urllib.parse import unquote, urlsplit

from browsers.page_quality.flaws import MAX_DOM, MAX_TEXT, PageFlaw, PageFlawType
from browsers.visit import PageLook

SOFT_404: Final = PageFlaw(PageFlawType.SOFT_404, "like-missing")
_BITS: Final = 64
_MOST_DIFFERENT: Final = 6
"""Bits in which the texts of two pages may differ that look alike."""
_FEWEST_WORDS: Final = 4
"""A text with fewer words says nothing; a page that its script fills has such a text before the script runs."""
_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"\d+")
_UNSEEN: Final = ("script", "style", "template", "noscript", "svg")
_TAG: Final = re.compile(rf"<({'|'.join(_UNSEEN)})\b|<[^<>]*>?", re.IGNORECASE)
_END_TAGS: Final = {name: re.compile(f"</{name}", re.IGNORECASE) for name in _UNSEEN}
_TITLE: Final = re.compile(r"<title[^<>]{0,200}>([^<]{0,1000})", re.IGNORECASE)
_LONGEST_DIRECTORY: Final = 200
_INDEX: Final = re.compile(r"/(?:(?:index|home|default|start|main)(?:\.[a-z]{2,5})?)?", re.IGNORECASE)


def look_of(url: str, title: str, text: str) -> PageLook:
    """Return the look of a page with this title and visible text."""
    quoted = set(_WORD.findall(unquote(url[:4096]).lower()))
    words = _words(text[:MAX_TEXT], quoted)
    return PageLook(" ".join(_words(title[:1000], quoted)), len(words), _simhash(words))


def look_of_html(url: str, document: bytes) -> PageLook:
    """Return the look of a document as a reader without scripts sees it."""
    markup = document[:MAX_DOM].decode("utf-8", "replace")
    title = _TITLE.search(markup)
    return look_of(url, html.unescape(title[1]) if title else "", html.unescape(_text_of(markup)))


def is_alike(page: PageLook, missing: PageLook) -> bool:
    """Return whether the page looks like the answer to a URL that does not exist."""
    if page.words < _FEWEST_WORDS or page.title != missing.title:
        return False
    is_as_long = abs(page.words - missing.words) <= 3 + max(page.words, missing.words) // 10
    return is_as_long and (page.simhash ^ missing.simhash).bit_count() <= _MOST_DIFFERENT


def directory_of(url: str) -> str | None:
    """Return the folder, at most one below the root, whose answer is compared; None for a start page."""
    parts = urlsplit(url)
    if _INDEX.fullmatch(parts.path) and not parts.query:
        return None
    first, is_deeper, _ = parts.path.lstrip("/").partition("/")
    folder = f"{first}/" if is_deeper and first and len(first) <= _LONGEST_DIRECTORY else ""
    return f"{parts.scheme}://{parts.netloc}/{folder}"


def missing_url(directory: str) -> str:
    """Return a URL in the folder that surely does not exist."""
    return f"{directory}{secrets.token_hex(12)}"


def _text_of(markup: str) -> str:
    """Return the text between the tags, without that of scripts and styles. Each character is looked at once."""
    found, at = [], 0
    while (tag := _TAG.search(markup, at)) is not None:
        found.append(markup[at : tag.start()])
        at = tag.end()
        if tag[1]:
            end = _END_TAGS[tag[1].lower()].search(markup, at)
            at = end.start() if end is not None else len(markup)
    return " ".join((*found, markup[at:]))


def _words(text: str, quoted: set[str]) -> list[str]:
    return [_NUMBER.sub("0", word) for word in _WORD.findall(text.lower()) if word not in quoted]


def _simhash(words: list[str]) -> int:
    """Return a hash whose bits differ little for texts that differ little (Charikar 2002), over pairs of words."""
    counts = [0] * _BITS
    for pair in pairwise(words):
        value = int.from_bytes(hashlib.blake2b(" ".join(pair).encode(), digest_size=_BITS // 8).digest())
        for bit in range(_BITS):
            counts[bit] += 1 if value >> bit & 1 else -1
    return sum(1 << bit for bit, count in enumerate(counts) if count > 0)
