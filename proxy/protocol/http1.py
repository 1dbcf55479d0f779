"""HTTP/1 as it is found in the wild: heads and how bodies are framed (RFC 9112), bytes in, facts out. No I/O.

Responses are read leniently, as browsers do: bare LF, folded lines, a missing reason, `ICY`, odd header lines. What
made the framing doubtful is remembered, because such a connection must not be used again. Requests are read
strictly, because a proxy that guesses at a request's end can be made to smuggle a second one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

from archive.fast_frozen import fast_frozen
from archive.http.http_message import media_type

type Field = tuple[bytes, bytes, bytes]
"""A header line: name in lower case, value without outer space, the line as it came with its line end."""
type FieldLines = tuple[Field, ...]

_HEAD_END: Final = re.compile(rb"\n\r?\n")
TOKEN: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""The name of a header field is a token (RFC 9110 section 5.6.2)."""
_STATUS_LINE: Final = re.compile(
    rb"(?s:.{0,4}?)(?i:HTTP(?:/([0-9]{1,9})(?:\.([0-9]{1,9}))?)?[^ \t\r\n]{0,20}|ICY)"
    rb"[ \t]+([0-9]{3})(?![0-9])[ \t]*([^\r\n]*)\r?\n?"
)
"""As Chromium finds it: up to four bytes of something else may come before, and the version is hardly looked at."""
_MAY_BEGIN: Final = re.compile(rb"(?s:.{0,4}?)(?i:HTTP|ICY)")
_UNDECIDED: Final = 8
"""Fewest bytes that show whether a status line begins."""
_REQUEST_LINE: Final = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([^\x00-\x20\x7f]+) HTTP/1\.([01])\r\n")
DIGITS: Final = re.compile(rb"[0-9]{1,19}")
"""The pattern matches a Content-Length."""
MOST_LINES: Final = 16_384
"""Of one head."""
_MOST_NAMES: Final = 256
"""In one header's list; what stands behind them is one more name."""
_MOST_KNOWN: Final = 512
_SHORT: Final = 200


class BadMessage(ValueError):
    """The bytes are no message that can be relayed; the text says what is wrong with them."""


class Framing(Enum):
    """The framing says how a body's end is known (RFC 9112 section 6.3)."""

    NONE = "none"
    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"


class _Head:
    """Heads of requests and of responses have these parts in common."""

    __slots__ = ()

    fields: FieldLines

    def get(self, name: bytes) -> bytes | None:
        """Return value of the first header of that lower-case name."""
        for found, value, _ in self.fields:
            if found == name:
                return value
        return None


@fast_frozen(frozen=True, slots=True)
class RequestHead(_Head):
    """A request head has the start line and the fields of a request as the client sent them."""

    method: str
    target: str
    minor: int
    fields: FieldLines

    @property
    def keep_alive(self) -> bool:
        """Return whether the client means to use its connection again."""
        tokens = _tokens(self.fields, b"connection", b"proxy-connection")
        return b"close" not in tokens and (self.minor == 1 or b"keep-alive" in tokens)


@fast_frozen(frozen=True, slots=True)
class ResponseHead(_Head):
    """A response head has the status line and the fields as the origin sent them. `doubtful` says what made it odd,
    empty when nothing did.
    """

    status: int
    minor: int
    reason: bytes
    fields: FieldLines
    raw: bytes
    doubtful: str = ""

    @property
    def keep_alive(self) -> bool:
        """Return whether the origin means to keep its connection open."""
        tokens = _tokens(self.fields, b"connection")
        return b"close" not in tokens and (self.minor >= 1 or b"keep-alive" in tokens)

    @property
    def mime(self) -> str | None:
        """Return media type in lower case without parameters."""
        value = self.get(b"content-type")
        return _media_types[value] if value else None


NO_HEAD: Final = ResponseHead(200, 0, b"OK", (), b"")
"""The stand-in for the head of an HTTP/0.9 response, which has none."""


def find_head_end(buffer: bytes | bytearray, searched: int = 0, start: int = 0) -> int:
    """Return offset just behind the empty line that ends the head at `start`, or -1.

    `searched` is how far the buffer was searched before; the search begins a little before that.
    """
    match = _HEAD_END.search(buffer, max(start, searched - 3))
    return match.end() if match else -1


def parse_request(raw: bytes) -> RequestHead:
    """Return the request in `raw`, which ends with its empty line. Raises BadMessage for anything ambiguous."""
    line = _REQUEST_LINE.match(raw)
    if not line:
        raise BadMessage(f"bad request line {raw.partition(b'\n')[0][:100]!r}")
    if not raw.endswith(b"\r\n\r\n"):
        raise BadMessage("the head ends with a bare line feed")
    _check_lines(raw)
    fields = tuple([_strict_fields[text] for text in raw[line.end() :].split(b"\n")[:-2]])
    return RequestHead(line[1].decode("ascii"), line[2].decode("latin-1"), int(line[3]), fields)


def request_framing(head: RequestHead) -> tuple[Framing, int]:
    """Return how the request's body ends, and its length if that is known. Raises BadMessage when two readings
    exist.
    """
    codings = [value for name, value, _ in head.fields if name == b"transfer-encoding"]
    lengths = [value for name, value, _ in head.fields if name == b"content-length"]
    if codings:
        if lengths or head.minor == 0 or len(codings) > 1 or codings[0].lower() != b"chunked":
            raise BadMessage("Transfer-Encoding other than one plain 'chunked', or beside Content-Length")
        return Framing.CHUNKED, 0
    if not lengths:
        return Framing.NONE, 0
    if len(lengths) > 1 or not DIGITS.fullmatch(lengths[0]):
        raise BadMessage(f"bad Content-Length {lengths[0][:40]!r}")
    length = int(lengths[0])
    return (Framing.LENGTH, length) if length else (Framing.NONE, 0)


def may_be_response(buffer: bytes) -> bool:
    """Return whether a response, or empty lines before one, could begin with these bytes."""
    text = buffer.lstrip(b"\r\n")
    return len(text) < _UNDECIDED or _MAY_BEGIN.match(text) is not None


def parse_response(raw: bytes) -> ResponseHead:
    """Return the response head in `raw`, which ends with its empty line. Raises BadMessage when it is none at all."""
    text = raw.lstrip(b"\r\n")
    line = _STATUS_LINE.match(text)
    if not line:
        raise BadMessage(f"bad status line {text.partition(b'\n')[0][:100]!r}")
    _check_lines(raw)
    oddities = []
    if len(text) != len(raw):
        oddities.append("leading line end")
    if text[:4].upper() != b"HTTP":
        oddities.append("odd status line")
    fields: list[Field] = []
    folded: list[bytes] = []
    has_odd_line = False
    for item in text[line.end() :].split(b"\n"):
        if item[:1] in b" \t\r":
            stripped = item.rstrip(b"\r")
            if not stripped:
                continue
            if stripped[0] in b" \t" and fields:
                folded.append(item)
                continue
        if folded:
            _unfold(fields, folded)
        field, is_odd = _lenient_fields[item]
        has_odd_line |= is_odd
        fields.append(field)
    if folded:
        _unfold(fields, folded)
    if has_odd_line:
        oddities.append("odd header line")
    major = int(line[1] or 1)
    minor = int(line[2] or 0) if major == 1 else int(major > 1)
    return ResponseHead(int(line[3]), minor, line[4], tuple(fields), raw, ", ".join(oddities))


def _check_lines(raw: bytes) -> None:
    """Raise BadMessage for a head of more lines than anybody sends: each costs time in many places."""
    if len(raw) > MOST_LINES and raw.count(b"\n") > MOST_LINES:
        raise BadMessage(f"the head has more than {MOST_LINES} lines")


def _unfold(fields: list[Field], folded: list[bytes]) -> None:
    """Add the lines that continue the last field to it (RFC 9112 section 5.2)."""
    name, value, line = fields[-1]
    value = b" ".join((value, *(item.rstrip(b"\r").strip(b" \t") for item in folded)))
    fields[-1] = (name, value, line + b"".join(item + b"\n" for item in folded))
    folded.clear()


def response_framing(head: ResponseHead, method: str) -> tuple[Framing, int, str]:
    """Return how the response's body ends, its length if known, and what is doubtful about it (empty: nothing)."""
    if method == "HEAD" or head.status == 304 or 100 <= head.status < 200:
        return Framing.NONE, 0, ""
    codings = [token for name, value, _ in head.fields if name == b"transfer-encoding" for token in _split(value)]
    lengths = [token for name, value, _ in head.fields if name == b"content-length" for token in _split(value)]
    if head.status == 204:
        return Framing.NONE, 0, "a body announced with 204" if codings or set(lengths) - {b"0"} else ""
    if codings and codings != [b"identity"]:
        doubt = "Transfer-Encoding beside Content-Length" if lengths else ""
        if b"chunked" not in codings:
            return Framing.CLOSE, 0, f"unknown Transfer-Encoding {codings[-1][:40].decode('latin-1')}"
        if head.minor == 0:
            doubt = doubt or "Transfer-Encoding in HTTP/1.0"
        if codings[-1] != b"chunked":
            doubt = doubt or "chunked is not the last Transfer-Encoding"
        return Framing.CHUNKED, 0, doubt or ("repeated Transfer-Encoding" if codings.count(b"chunked") > 1 else "")
    valid = [int(value) for value in lengths if DIGITS.fullmatch(value)]
    if not lengths:
        return Framing.CLOSE, 0, ""
    if not valid:
        return Framing.CLOSE, 0, "bad Content-Length"
    return Framing.LENGTH, valid[0], "repeated Content-Length" if len(lengths) > 1 else ""


def hides_body(status: int, framing: Framing, length: int) -> bool:
    """Return whether browsers read no body although there is one: they would take it for their next response."""
    return status == 205 and framing is not Framing.NONE and (framing is not Framing.LENGTH or length > 0)


def announces_body(head: ResponseHead) -> bool:
    """Return whether it speaks of a body: one that must not follow, to HEAD or with 304, follows from some origins
    still.
    """
    lengths = [token for name, value, _ in head.fields if name == b"content-length" for token in _split(value)]
    return bool(set(lengths) - {b"0"}) or head.get(b"transfer-encoding") is not None


class _Remembered[T](dict[bytes, T]):
    """A remembered reading is what `read` makes of a text. Short ones are remembered: most of a crawl's have come
    before.
    """

    def __init__(self, read: Callable[[bytes], T]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: bytes) -> T:
        found = self._read(text)
        if len(text) <= _SHORT:
            if len(self) == _MOST_KNOWN:
                self.clear()
            self[text] = found
        return found


def _strict_field(line: bytes) -> Field:
    """Return the field in a request's line, which lacks its line feed. Raises BadMessage."""
    # One bare CR or LF, and the origin may see other lines than we do (RFC 9112 section 2.2).
    name, colon, value = line[:-1].partition(b":")
    if line[-1:] != b"\r" or not colon or not TOKEN.fullmatch(name) or b"\x00" in value or b"\r" in value:
        raise BadMessage(f"bad header line {line[:100]!r}")
    return name.lower(), value.strip(b" \t"), line + b"\n"


def _lenient_field(line: bytes) -> tuple[Field, bool]:
    """Return the field in a response's line, which lacks its line feed, and whether it is an odd one."""
    name, colon, value = line.rstrip(b"\r").partition(b":")
    is_odd = not colon or not TOKEN.fullmatch(name)
    return (name.strip(b" \t").lower() if colon else b"", value.strip(b" \t"), line + b"\n"), is_odd


_strict_fields: Final = _Remembered(_strict_field)
_lenient_fields: Final = _Remembered(_lenient_field)
_media_types: Final = _Remembered(lambda value: media_type(value.decode("latin-1")))


def _tokens(fields: Iterable[tuple[bytes, bytes, bytes]], *names: bytes) -> list[bytes]:
    return [token for found, value, _ in fields if found in names for token in _split(value)]


def _split(value: bytes) -> list[bytes]:
    return [part for part in (piece.strip(b" \t").lower() for piece in value.split(b",", _MOST_NAMES)) if part]
