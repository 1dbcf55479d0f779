"""Find out whether a response shows a secret that a person typed in the session. Pure.

Secrets are the values of the form fields that a session leaves out of its records. They are known in memory alone, and
for as long as the session's process runs. A session without such fields has none, so that crawls never search.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from urllib.parse import parse_qsl, quote, quote_plus

from archive.capture import Body, Message
from archive.http.chunked import dechunk
from archive.http.content_coding import decode
from proxy.sessions.secrets import form_parts
from proxy.sessions.secrets.redaction import Redaction

SHORTEST: Final = 6
"""Characters of the shortest secret that is searched: a shorter one stands in many texts by chance."""
_LONGEST: Final = 200
_MOST: Final = 10
"""Secrets of a session; a newer one takes the place of the oldest."""
_MOST_FORM: Final = 65_536
_MOST_VALUES: Final = 1_000
_MOST_SEARCHED: Final = 524_288
"""Bytes of the beginning of a response that are read and searched."""
_NO_TEXT: Final = ("image/", "audio/", "video/", "font/", "application/zip", "application/pdf")
_SHORTEST_BASE64: Final = 7
_ESCAPE: Final = re.compile(r"%[0-9A-F]{2}")
_FOLDED: Final = re.compile(rb"\r?\n(?![ \t])")


_MANY: Final = 4
"""Spellings for which a search for what they have in common comes first."""
_PLAIN: Final = re.compile(rb"[A-Za-z0-9]*")


@dataclass(frozen=True, slots=True)
class _Spellings:
    """The spellings of one secret. `run` is in all that are escaped, since escapes leave letters and digits alone."""

    run: bytes
    escaped: tuple[bytes, ...]
    in_base64: tuple[bytes, ...]

    @classmethod
    def of(cls, secret: str) -> _Spellings:
        raw = secret.encode("utf-8", "replace")
        escaped = tuple(_escaped(secret))
        run = max(_PLAIN.findall(raw), key=len) if len(escaped) >= _MANY else b""
        return cls(run, escaped, tuple(_in_base64(raw)))

    def are_in(self, searched: bytes) -> bool:
        """Return whether one of the spellings is found. A text without the run has none of the escaped ones."""
        if self.run in searched and any(each in searched for each in self.escaped):
            return True
        return any(each in searched for each in self.in_base64)


class TypedSecrets:
    """The secrets that were typed in one session, in the spellings that a response may have.

    One thread learns secrets, and any thread may search for them.
    """

    __slots__ = ("_spellings",)

    def __init__(self) -> None:
        self._spellings: dict[str, _Spellings] = {}

    def learn(self, request: Message, redaction: Redaction) -> None:
        """Remember the values of the secret fields of a request."""
        for secret in islice(_values(request, redaction), 2 * _MOST):
            if SHORTEST <= len(secret) <= _LONGEST and secret not in self._spellings:
                self._spellings[secret] = _Spellings.of(secret)
                if len(self._spellings) > _MOST:
                    del self._spellings[next(iter(self._spellings))]

    def is_shown_by(self, response: Message) -> bool:
        """Return whether the head, or the beginning of the text, of a response shows one of the secrets."""
        known = tuple(self._spellings.values())  # the other thread may learn one meanwhile
        if not known:
            return False
        searched = response.head + _text(response)
        return any(each.are_in(searched) for each in known)


def _values(request: Message, redaction: Redaction) -> Iterator[str]:
    """Yield the secret values of a request: those of its query, its form and its login by HTTP."""
    line, _, rest = request.head.partition(b"\r\n")
    fields = _fields(rest)
    target = line.split(b" ")[1:2]
    if target and b"?" in target[0]:
        yield from _of_pairs(target[0].partition(b"?")[2], redaction)
    scheme, _, credentials = fields.get("authorization", b"").partition(b" ")
    if scheme.lower() == b"basic" and "authorization" in redaction.headers:
        with suppress(binascii.Error, ValueError):
            yield base64.b64decode(credentials).decode("utf-8", "replace").partition(":")[2]
    if not 0 < request.body.length <= _MOST_FORM or "content-encoding" in fields:
        return
    chunks = request.body.chunks()
    sent = b"".join(dechunk(chunks) if "transfer-encoding" in fields else chunks)
    try:
        kind, given = form_parts.parameters(fields.get("content-type", b"").decode("latin-1"))
        if kind == "application/x-www-form-urlencoded":
            yield from _of_pairs(sent, redaction)
        elif kind == "application/json" or kind.endswith("+json"):
            yield from _of_json(json.loads(sent), redaction)
        elif kind == "multipart/form-data":
            parts, _ = form_parts.split(sent, dict(given).get("boundary", ""))
            for part in parts:
                if any(redaction.is_secret(name) for name in part.names):
                    yield part.content.decode("utf-8", "replace")
    except (ValueError, RecursionError, form_parts.AmbiguousForm):
        return


def _of_pairs(text: bytes, redaction: Redaction) -> Iterator[str]:
    with suppress(ValueError):
        for name, value in parse_qsl(text[:_MOST_FORM].decode("utf-8", "replace"), max_num_fields=_MOST_VALUES):
            if redaction.is_secret(name):
                yield value


def _of_json(value: Any, redaction: Redaction) -> Iterator[str]:
    waiting, looked = [value], 0
    while waiting and looked < _MOST_VALUES:
        looked += 1
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(item[:_MOST_VALUES])
        elif isinstance(item, dict):
            for name, inner in islice(item.items(), _MOST_VALUES):
                if isinstance(inner, str) and redaction.is_secret(name):
                    yield inner
                elif isinstance(inner, list | dict):
                    waiting.append(inner)


def _text(response: Message) -> bytes:
    """Return the beginning of the body, without its codings; nothing of a picture or another kind that is no text."""
    fields = _fields(response.head.partition(b"\r\n")[2])
    if fields.get("content-type", b"").decode("latin-1").lower().startswith(_NO_TEXT):
        return b""
    found, chunks = bytearray(), _beginning(response.body)
    for piece in dechunk(chunks) if "transfer-encoding" in fields else chunks:
        found += piece
    coding = fields.get("content-encoding", b"").decode("latin-1")
    return decode(bytes(found), coding, _MOST_SEARCHED).data


def _beginning(body: Body) -> Iterator[bytes]:
    """Yield the first bytes of a body, with its transfer coding: a site can make that of one-byte chunks."""
    left = _MOST_SEARCHED
    for piece in body.chunks():
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


def _fields(lines: bytes) -> dict[str, bytes]:
    """Return the fields of a head by their names in lower case; of several of one name, the last."""
    found = {}
    for line in _FOLDED.split(lines):
        name, colon, value = line.partition(b":")
        if colon:
            found[name.strip().lower().decode("latin-1")] = value.strip()
    return found


def _escaped(secret: str) -> set[bytes]:
    """Return the secret as it may stand in a response: plain, and by the escapes of URLs, HTML and JSON."""
    quoted = {quote(secret, safe=""), quote(secret), quote(secret, safe="!'()*~"), quote_plus(secret)}
    quoted |= {_ESCAPE.sub(lambda found: found[0].lower(), each) for each in quoted}
    in_html = {html.escape(secret), html.escape(secret, quote=False)}
    in_html |= {each.replace("&#x27;", mark) for each in in_html for mark in ("&#39;", "&#039;", "&apos;")}
    in_json = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    in_json |= {each.replace("/", "\\/") for each in in_json}
    in_json |= {re.sub("[<>&']", lambda found: f"\\u{ord(found[0]):04x}", each) for each in in_json}
    found = {each.encode("utf-8", "replace") for each in {secret, *quoted, *in_html, *in_json}}
    found |= {each.encode("ascii", "xmlcharrefreplace") for each in in_html}
    with suppress(UnicodeEncodeError):
        found.add(secret.encode("cp1252"))
    return found


def _in_base64(raw: bytes) -> Iterator[bytes]:
    """Yield what base64 makes of the secret, whatever stands before and behind: three places in a group of bytes."""
    for before, cut in ((0, 0), (1, 2), (2, 3)):
        whole = base64.b64encode(bytes(before) + raw)
        certain = whole[cut : len(whole) - (0, 3, 2)[(before + len(raw)) % 3]]
        if len(certain) >= _SHORTEST_BASE64:
            yield certain
            yield certain.translate(bytes.maketrans(b"+/", b"-_"))
