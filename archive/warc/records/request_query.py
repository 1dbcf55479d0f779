"""This module writes a request's method and body as a query, so that an index tells requests to one URL apart.

The convention is that of pywb and cdxj-indexer: `__wb_method=POST`, then the body. A form, a multipart form and JSON
become names and values; any other body becomes `__wb_post_data=` and Base64. Only POST and PUT have the body in the
query. The body's part has at most 4,096 characters, as in pywb. No I/O.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote_plus, unquote_plus, urlencode

from archive import url as urls
from archive.capture import Message
from archive.http.chunked import dechunk
from archive.http.http_message import parse_head

MAX_QUERY: Final = 4096
"""Most characters of a body in the index (pywb's limit)."""
MAX_BODY: Final = 1 << 20
"""Bytes of a body that are looked at. Of a longer body, the beginning is taken for the whole."""
_WITH_BODY: Final = frozenset({"POST", "PUT"})
_MAX_PARTS: Final = 1000
_BOUNDARY: Final = re.compile(r'boundary\s*=\s*(?:"([^"]{1,200})"|([^\s;,"]{1,200}))', re.IGNORECASE)
_PART_NAME: Final = re.compile(rb'[;\s]name\s*=\s*(?:"([^"]*)"|([^\s;"]+))', re.IGNORECASE)


def asked_query(method: str, content_type: str | None, body: Iterable[bytes]) -> str | None:
    """Return the part of the query that stands for a request's body, without the method.

    Return None for a request that needs none: one with another method than POST and PUT, or with an empty body. `body`
    is without its transfer coding; not more than MAX_BODY of it is read.
    """
    if method not in _WITH_BODY:
        return None
    data = _beginning(body)
    if not data:
        return None
    kind = (content_type or "").strip().lower()
    if kind.startswith("application/x-www-form-urlencoded"):
        query = _form(data)
    elif kind.startswith("multipart/"):
        query = _multipart(content_type or "", data)
    elif kind.startswith("application/json"):
        query = _json(data) or ""
    elif kind.startswith("text/plain"):
        found = _json(data)
        query = _binary(data) if found is None else found
    else:
        query = _binary(data)
    return query[:MAX_QUERY] or None


def query_of(request: Message | None) -> str | None:
    """Return `asked_query` of a request as it was sent. Raises OSError when its body can't be read."""
    if request is None or not request.body.length:
        return None
    head = parse_head(request.head)
    chunks = request.body.chunks()
    return asked_query(head.method, head.fields.get("Content-Type"), dechunk(chunks) if head.is_chunked else chunks)


def asked_url(url: str, method: str, query: str | None) -> str:
    """Return the URL with the method and the body's query behind it; unchanged for GET."""
    if method == "GET":
        return url
    before = url.partition("#")[0]
    whole = f"{before}{'&' if '?' in before else '?'}{urls.METHOD_MARK}{method}"
    return f"{whole}&{query}" if query else whole


def asked_key(url: str, method: str, query: str | None) -> str:
    """Return the key under which an index has a request with this method and body."""
    return urls.key(asked_url(url, method, query))


def without_nul(query: str) -> str:
    """Return the query with each NUL escaped, since PostgreSQL takes no NUL. The key of the query stays the same."""
    return query.replace("\0", "%00")


def _beginning(body: Iterable[bytes]) -> bytes:
    found = bytearray()
    for piece in body:
        found += piece
        if len(found) >= MAX_BODY:
            break
    return bytes(found[:MAX_BODY])


def _form(data: bytes) -> str:
    try:
        return without_nul(unquote_plus(data.decode("utf-8")))
    except UnicodeDecodeError:
        return _binary(data)


def _binary(data: bytes) -> str:
    return "__wb_post_data=" + b64encode(data[:MAX_QUERY]).decode()


def _multipart(content_type: str, data: bytes) -> str:
    found = _BOUNDARY.search(content_type)
    if found is None:
        return _binary(data)
    pairs, length = [], 0
    for name, value in _parts(data, b"--" + (found[1] or found[2]).encode("latin-1", "replace")):
        pairs.append(f"{quote_plus(name)}={quote_plus(value[:MAX_QUERY])}")
        length += len(pairs[-1]) + 1
        if length > MAX_QUERY:
            break
    return "&".join(pairs)


def _parts(data: bytes, line: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the parts (RFC 2046 section 5.1.1), up to _MAX_PARTS of them."""
    at = data.find(line)
    for _ in range(_MAX_PARTS):
        if at < 0 or data.startswith(b"--", at + len(line)):
            return
        end = data.find(b"\n" + line, at + len(line))
        part = data[at + len(line) : end if end >= 0 else len(data)]
        head, _, content = part.partition(b"\r\n\r\n") if b"\r\n\r\n" in part else part.partition(b"\n\n")
        name = _PART_NAME.search(head)
        yield (name[1] or name[2] or b"").decode("utf-8", "replace") if name else "None", content.removesuffix(b"\r")
        at = end + 1 if end >= 0 else -1


def _json(data: bytes) -> str | None:
    """Return names and values of the leaves of a JSON text. Return None for a text that is no JSON."""
    try:
        value = json.loads(data)
        return urlencode(dict(_named(value)))
    except (ValueError, RecursionError):
        return None


def _named(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the leaves in the order of the text. A name that comes again gets a number, as in `name.2_`."""
    counts: dict[str, int] = {}
    length = 0
    waiting: list[Iterator[tuple[str, Any]]] = [iter((("", value),))]
    while waiting and length <= MAX_QUERY:
        name, found = next(waiting[-1], ("", waiting))
        if found is waiting:
            waiting.pop()
        elif isinstance(found, dict):
            waiting.append(iter(found.items()))
        elif isinstance(found, list):
            waiting.append((name, each) for each in found)
        elif name:
            counts[name] = count = counts.get(name, 0) + 1
            text = _leaf(found)
            length += len(name) + len(text)
            yield name if count == 1 else f"{name}.{count}_", text


def _leaf(value: Any) -> str:
    """Return a leaf as JavaScript's `String` gives it."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return str(int(value))
    return str(value)
