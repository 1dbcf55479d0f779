"""OpenWayback asks its index with `?q=type:urlquery url:…` and reads XML, as OutbackCDX answers it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Final
from urllib.parse import unquote
from xml.sax.saxutils import escape

from flask import Response

from archive.capture import Capture
from dedupdb.captures import query as queries
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.filters import Filter
from dedupdb.captures.query import QueryError

_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<wayback>\n'
_MOST: Final = 10_000
_TYPES: Final = {"urlquery": "exact", "prefixquery": "prefix"}
_WORD: Final = re.compile(r"(?<!\S)(\w+):(?:\s+(?!(?:type|url|limit|offset|startdate|enddate):))?(\S*)", re.ASCII)
"""A name and its value. pywb before 2.6 writes a space before some values."""
_UNSAFE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 can't hold."""


def xml_answer(captures: Captures, collection: str, question: str, allowed: tuple[Filter, ...] = ()) -> Response:
    """Return the answer to the words of `q`. At most 10,000 captures are listed. Raises QueryError."""
    words = dict(_WORD.findall(question))
    match = _TYPES.get(words.get("type", "urlquery"))
    if match is None:
        raise QueryError("q", f"type {words['type'][:40]!r} is unknown; use urlquery or prefixquery")
    given = {
        "url": unquote(words.get("url", "")),
        "matchType": match,
        "from": words.get("startdate", ""),
        "to": words.get("enddate", ""),
    }
    query = replace(queries.parse(collection, given), allowed=allowed)
    skipped, limit = _number("offset", words, 0), _number("limit", words, _MOST)
    found = islice(captures.search(query), skipped, skipped + limit)
    first = list(islice(found, 1))
    if not first:
        text = (
            f"{_HEAD}<error><title>Resource Not In Archive</title>"
            f"<message>The Resource you requested is not in this archive.</message></error>\n</wayback>\n"
        )
        return Response(text, status=404, mimetype="application/xml")
    return Response(_lines(chain(first, found), given["url"], words), mimetype="application/xml")


def _lines(found: Iterator[Capture], url: str, words: dict[str, str]) -> Iterator[str]:
    kind = words.get("type", "urlquery")
    yield f"{_HEAD}<request><type>{kind}</type>{_element('url', url)}</request>\n<results>\n"
    for capture in found:
        facts = {
            "compressedoffset": str(capture.offset),
            "compressedendoffset": str(capture.length),
            "mimetype": capture.cdx_mime,
            "file": capture.filename,
            "redirecturl": "-",
            "urlkey": capture.key,
            "digest": capture.digest or "-",
            "httpresponsecode": "-" if capture.status is None else str(capture.status),
            "robotflags": "-",
            "url": capture.url,
            "capturedate": capture.timestamp,
        }
        yield f"<result>{''.join(_element(name, value) for name, value in facts.items())}</result>\n"
    yield "</results>\n</wayback>\n"


def _element(name: str, value: str) -> str:
    return f"<{name}>{escape(_UNSAFE.sub(chr(0xFFFD), value))}</{name}>"


def _number(name: str, words: dict[str, str], default: int) -> int:
    text = words.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise QueryError("q", f"{name} {text[:40]!r} is not a whole number")
    return min(int(text), _MOST)
