"""This module decodes a body into text that is searched for links, within bounds. Pure.

A body of a few kilobytes may decode to gigabytes. At most `limit` bytes, at most `MAX_RATIO` times the input, and at
most three codings are decoded. The archive has the original.
"""

from __future__ import annotations

import codecs
import io
import re
import zlib
from dataclasses import dataclass
from typing import Final

import brotli  # type: ignore[import-untyped]
import zstandard

MAX_RATIO: Final = 500
"""Real text packs at 3 to 20 times; deflate can do 1,000, brotli and zstd far more."""
_ALWAYS_ALLOWED: Final = 1 << 20
_MAX_CODINGS: Final = 3
_MAX_WINDOW: Final = 1 << 27
"""Largest zstd window taken, 128 MiB: what browsers and the zstd command take by default."""
_META_CHARSET: Final = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9_:.-]{1,40})", re.I)
_XML_ENCODING: Final = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([a-zA-Z0-9_:.-]{1,40})", re.I)
_CSS_CHARSET: Final = re.compile(rb'^@charset "([a-zA-Z0-9_:.-]{1,40})";')
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_OF_THE_WEB: Final = re.compile(
    r"utf-8|utf-16-[lb]e|iso8859-\d+|cp125\d|cp866|cp874|cp932|cp949|koi8-[ru]|mac-(roman|cyrillic)|gb18030|big5(hkscs)?"
    r"|euc_(jp|kr)|iso2022_jp"
)
"""Python's names of the encodings that browsers know; it has others, some of which aren't even encodings of text."""
_LABELS: Final = {
    "iso-8859-1": "windows-1252",
    "latin1": "windows-1252",
    "us-ascii": "windows-1252",
    "ascii": "windows-1252",
    "iso-8859-9": "windows-1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-sjis": "cp932",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "tis-620": "cp874",
    "unicode": "utf-16-le",
}
"""Labels that browsers read as a larger encoding than their name says (WHATWG Encoding Standard section 4.2)."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The object has the decoded bytes. When they are incomplete, `problem` is `bomb`, `capped` or `broken`."""

    data: bytes
    problem: str | None = None


def decode(body: bytes, content_encoding: str, limit: int) -> Decoded:
    """Return `body` with its content codings removed, the last applied first; one that ends short gives what there
    is.
    """
    codings = [coding.strip().lower() for coding in content_encoding.split(",") if coding.strip()]
    codings = [coding for coding in codings if coding != "identity"]
    if len(codings) > _MAX_CODINGS:
        return Decoded(b"", "bomb")
    problem: str | None = None
    allowed = min(limit, max(_ALWAYS_ALLOWED, len(body) * MAX_RATIO))
    for coding in reversed(codings):
        try:
            unpacked = _unpack(coding, body, allowed + 1)
        except (zlib.error, brotli.error, zstandard.ZstdError):
            return Decoded(b"", "broken")
        body, problem = unpacked.data, problem or unpacked.problem
        if len(body) > allowed:
            body, problem = body[:allowed], "capped" if allowed == limit else "bomb"
    return Decoded(body[:limit], problem or ("capped" if len(body) > limit else None))


def gunzip(body: bytes, limit: int) -> Decoded:
    """Return the content of a gzip file; `body` itself when it is no gzip file. Sitemaps may be gzip files."""
    return decode(body, "gzip", limit) if body[:2] == b"\x1f\x8b" else Decoded(body[:limit])


def encoding_of(body: bytes, declared: str | None, kind: str = "html") -> str:
    """Return Python's name of the encoding of a text.

    The first of these decides: the byte order mark, `declared` (of the header), a declaration in the first 1,024 bytes,
    valid UTF-8. Else it is windows-1252, as in browsers.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name
    patterns = {"html": (_META_CHARSET, _XML_ENCODING), "css": (_CSS_CHARSET,)}.get(kind, (_XML_ENCODING,))
    matches = (pattern.search(body[:1024]) for pattern in patterns)
    inside = next((match[1].decode("ascii") for match in matches if match), None)
    if inside and inside.lower().startswith("utf-16"):
        inside = "utf-8"  # a declaration that could be read as ASCII can't be in UTF-16
    for label in (declared, inside):
        if label and (known := _known(label)):
            return known
    return "utf-8" if _is_utf8(body) else "windows-1252"


def text_of(body: bytes, encoding: str) -> str:
    """Return the text, unreadable bytes as U+FFFD, without byte order mark and NULs."""
    return body.decode(encoding, "replace").removeprefix("\ufeff").replace("\x00", "")


def _known(label: str) -> str | None:
    name = label.strip().strip("\"'").lower()
    try:
        found = codecs.lookup(_LABELS.get(name, name)).name
    except (LookupError, ValueError):
        return None
    return found if _OF_THE_WEB.fullmatch(found) else None


def _is_utf8(body: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)
    except UnicodeDecodeError:
        return False
    return True


def _unpack(coding: str, body: bytes, most: int) -> Decoded:
    if coding in ("gzip", "x-gzip", "deflate"):
        return _inflate(body, most, raw_too=coding == "deflate")
    if coding == "br":
        return _unbrotli(body, most)
    if coding == "zstd":
        reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(io.BytesIO(body))
        return Decoded(reader.read(most))
    return Decoded(b"", "broken")


def _inflate(body: bytes, most: int, *, raw_too: bool) -> Decoded:
    try:
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
        data = unpacker.decompress(body, most)
    except zlib.error:
        if not raw_too:
            raise
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)  # "deflate" without zlib's wrapper, as some servers send it
        data = unpacker.decompress(body, most)
    return Decoded(data, None if unpacker.eof or len(data) == most else "broken")


def _unbrotli(body: bytes, most: int) -> Decoded:
    unpacker = brotli.Decompressor()
    pieces = [unpacker.process(body, output_buffer_limit=most)]
    size = len(pieces[0])
    while size < most and not unpacker.is_finished() and not unpacker.can_accept_more_data():
        pieces.append(unpacker.process(b"", output_buffer_limit=most - size))
        size += len(pieces[-1])
    return Decoded(b"".join(pieces)[:most], None if unpacker.is_finished() or size >= most else "broken")
