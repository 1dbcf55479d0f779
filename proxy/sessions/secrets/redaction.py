"""Secrets are kept out of WARC files: named headers and form fields of the recorded request are blackened. Pure.

The bytes that go to the origin are never changed. Fields are looked for in the URL's query (and so in the record's
target URI, in `Referer` and in the log), and in bodies of forms (urlencoded, multipart) and of JSON; `secret_names`
says in which spellings their names are found. A value that seems to hold such a field itself is left out. A whole body
is left out when it can't be parsed (another kind, encoded, cut short, larger than 4 MiB) or when readers may understand
it in different ways. A client's WebSocket messages are parsed when they are JSON (also after the digits that Socket.IO
puts before the JSON) or pairs of a form; other messages are left out.

The recorded head has the length of the recorded body, and `WARC-Redacted` of the record names what is missing.
Responses are recorded as they came, besides the values of headers that a session names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from archive.capture import Body, Message
from archive.http.chunked import dechunk
from proxy.sessions.secrets import form_parts
from proxy.sessions.secrets.secret_names import SecretNames

REDACTED: Final = "redacted"
_MARK: Final = REDACTED.encode()
_MAX_BODY: Final = 4_194_304
_MOST_VALUES: Final = 50_000
"""Values of one body: each costs some microseconds."""
_DIGITS: Final = re.compile(rb"[0-9]{1,9}")
_PAIRS: Final = re.compile(rb"[^=&\s]+=[^&]*(?:&[^=&\s]+=[^&]*)*")
_ENCLOSES: Final = re.compile(rb"[\"'{<\[]")
_CHARSETS: Final = frozenset(("utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252"))
"""Character sets that are supersets of ASCII."""
_UNFOLDED: Final = re.compile(rb"\r?\n(?![ \t])")


class _Opaque(Exception):
    """The body can't be looked into."""


@dataclass(frozen=True)
class Redaction:
    """Names of headers, in lower case, and of form fields, as they are."""

    headers: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    response_headers: frozenset[str] = frozenset()
    """Names of headers of responses, in lower case."""

    @cached_property
    def _secret(self) -> SecretNames:
        return SecretNames(self.fields)

    def is_secret(self, name: str) -> bool:
        """Return whether the values of the form field with this name are left out."""
        return self._secret.find(name) is not None

    def url(self, url: str) -> str:
        """Return the URL with the values of named query fields blackened."""
        if not self.fields or not any(mark in url for mark in "?;#"):
            return url
        start, hash_mark, fragment = url.partition("#")
        start, query_mark, query = start.partition("?")
        segments = [self._segment(segment) for segment in start.split("/")] if ";" in start else [start]
        return "/".join(segments) + query_mark + self._query(query) + hash_mark + self._query(fragment)

    def response_head(self, head: bytes) -> tuple[bytes, tuple[str, ...]]:
        """Return the head of a response to record, and the names of the parts that were left out."""
        if not self.response_headers:
            return head, ()
        missing: list[str] = []
        first, *lines = _UNFOLDED.split(head)
        shown = [first, *(_blackened(text, self.response_headers, missing) for text in lines)]
        return (b"\r\n".join(shown), tuple(dict.fromkeys(missing))) if missing else (head, ())

    def request(self, request: Message) -> tuple[Message, tuple[str, ...]]:
        """Return the request to record, and the names of the parts that were left out."""
        missing: list[str] = []
        line, _, rest = request.head.partition(b"\r\n")
        method, _, target = line.partition(b" ")
        target, _, version = target.rpartition(b" ")
        shown = self.url(target.decode("latin-1")).encode("latin-1", "replace")
        if shown != target:
            missing.append("query")
        lines = [b"%s %s %s\r\n" % (method, shown, version)]
        fields = [text + b"\r\n" for text in _UNFOLDED.split(rest.removesuffix(b"\r\n\r\n")) if text]
        lines += [self._header(text, missing) for text in fields]
        if not self.fields or not request.body.length:
            return Message(b"".join(lines) + b"\r\n", request.body), tuple(dict.fromkeys(missing))
        body = self._body(request, fields, missing)
        if body is None:
            return Message(b"".join(lines) + b"\r\n", request.body), tuple(dict.fromkeys(missing))
        lines = [text for text in lines if _name(text) not in ("content-length", "transfer-encoding")]
        lines.append(b"Content-Length: %d\r\n" % len(body))
        return Message(b"".join(lines) + b"\r\n", Body((body,), None, len(body))), tuple(dict.fromkeys(missing))

    def message(self, payload: bytes, *, is_text: bool) -> tuple[bytes, tuple[str, ...]]:
        """Return a client's WebSocket message to record, and the names of the fields that were left out.

        The only name is `message` when the whole message was left out.
        """
        missing: list[str] = []
        lead = _DIGITS.match(payload)
        plain = payload[lead.end() :] if lead else payload
        if not plain:
            return payload, ()
        kind = b"application/json" if plain[:1] in (b"{", b"[") else b"application/x-www-form-urlencoded"
        try:
            if not is_text or (kind != b"application/json" and not _PAIRS.fullmatch(payload)):
                raise _Opaque
            kept = self._form(plain if kind == b"application/json" else payload, kind, missing)
        except _Opaque:
            return b"", ("message",)
        if not missing:
            return payload, ()
        return payload[: len(payload) - len(plain)] + kept if kind == b"application/json" else kept, tuple(
            dict.fromkeys(missing)
        )

    def _header(self, line: bytes, missing: list[str]) -> bytes:
        name, colon, value = line.partition(b":")
        if not colon:
            return line
        if _name(line) in self.headers:
            missing.append(f"header {_name(line)}")
            return name + b": " + _MARK + b"\r\n"
        if _name(line) == "referer":
            shown = self.url(value.decode("latin-1")).encode("latin-1", "replace")
            if shown != value:
                missing.append("query of referer")
            return name + b":" + shown
        return line

    def _body(self, request: Message, fields: list[bytes], missing: list[str]) -> bytes | None:
        """Return the body to record, or None for the one that was sent."""
        headers = {_name(text): text.partition(b":")[2].strip() for text in fields}
        names, before = [_name(text) for text in fields], len(missing)
        try:
            if "content-encoding" in headers or request.body.length > _MAX_BODY or names.count("content-type") != 1:
                raise _Opaque
            if headers.get("transfer-encoding", b"chunked").lower() != b"chunked":
                raise _Opaque
            chunks = request.body.chunks()
            sent = b"".join(dechunk(chunks) if "transfer-encoding" in headers else chunks)
            kept = self._form(sent, headers["content-type"], missing)
        except _Opaque:
            missing[before:] = ["body"]
            return b""
        return kept if len(missing) > before else None

    def _form(self, sent: bytes, content_type: bytes, missing: list[str]) -> bytes:
        try:
            kind, given = form_parts.parameters(content_type.decode("latin-1"))
            return self._form_of(sent, kind, given, missing)
        except form_parts.AmbiguousForm:
            raise _Opaque from None

    def _form_of(self, sent: bytes, kind: str, given: list[tuple[str, str]], missing: list[str]) -> bytes:
        said, is_json = dict(given), kind == "application/json" or kind.endswith("+json")
        if len(said) != len(given):
            raise _Opaque
        if said.get("charset", "utf-8").lower() not in _CHARSETS or (b"\0" in sent and not is_json):
            raise _Opaque
        if kind == "application/x-www-form-urlencoded":
            return self._pairs(sent, missing)
        if kind == "multipart/form-data":
            return self._parts(sent, said.get("boundary", ""), missing)
        if is_json:
            return self._json_text(sent, missing)
        raise _Opaque

    # -- pairs: name=value&name=value -----------------------------------------------------------------------------

    def _query(self, text: str) -> str:
        try:
            shown = self._pairs(text.encode("utf-8", "surrogateescape"), [])
        except _Opaque:
            return REDACTED
        return shown.decode("utf-8", "surrogateescape")

    def _segment(self, segment: str) -> str:
        """Return a segment of a path with the secrets among its parameters (`;name=value`) blackened."""
        start, mark, given = segment.partition(";")
        return start + mark + self._query(given)

    def _pairs(self, text: bytes, missing: list[str]) -> bytes:
        """Return the pairs with secrets blackened; one word for all pairs when a value has no clear end."""
        pairs = text.split(b"&")
        if len(pairs) + text.count(b";") > _MOST_VALUES:
            raise _Opaque
        found: list[str] = []
        shown = [self._pair(pair, found) for pair in pairs]
        missing += found
        return _MARK if None in shown else b"&".join(piece for piece in shown if piece is not None)

    def _pair(self, pair: bytes, missing: list[str]) -> bytes | None:
        """Return one pair with secrets blackened, or several that `;` separates; None when no value has a clear end."""
        for start, piece in _pieces(pair):
            name, equals, value = piece.partition(b"=")
            secret = self._secret.find(_read(name)) if equals else self._secret.find_assigned(_read(piece))
            if secret is not None:
                missing.append(f"field {secret}")
                is_clean = equals and self._secret.is_name_alone(_read(name))
                return pair[:start] + name + b"=" + _MARK if is_clean else None
            if equals and (secret := self._secret.find_assigned(_read(value))) is not None:
                missing.append(f"field {secret}")
                return None if _ENCLOSES.search(value) else pair[:start] + name + b"=" + _MARK
        if b";" in pair and (secret := self._secret.find_assigned(_read(pair))) is not None:
            missing.append(f"field {secret}")
            return None
        return pair

    # -- multipart ------------------------------------------------------------------------------------------------

    def _parts(self, sent: bytes, boundary: str, missing: list[str]) -> bytes:
        parts, rest = form_parts.split(sent, boundary)
        return b"".join(part.lead + self._part(part, missing) for part in parts) + rest

    def _part(self, part: form_parts.FormPart, missing: list[str]) -> bytes:
        secret = next((found for name in part.names if (found := self._secret.find(name))), None)
        if secret is not None and not all(self._secret.is_name_alone(name) for name in part.names):
            raise _Opaque
        if secret is None and part.content_type:
            kind, given = form_parts.parameters(part.content_type)
            if kind.startswith(("multipart/", "message/")):
                raise _Opaque
            if kind == "application/x-www-form-urlencoded" or kind == "application/json" or kind.endswith("+json"):
                return self._form_of(part.content, kind, given, missing)
            if dict(given).get("charset", "utf-8").lower() not in _CHARSETS:
                raise _Opaque
        if secret is None:
            secret = self._secret.find_assigned(_read(part.content))
        if secret is None:
            return part.content
        missing.append(f"field {secret}")
        return _MARK

    # -- JSON -----------------------------------------------------------------------------------------------------

    def _json_text(self, sent: bytes, missing: list[str]) -> bytes:
        values = _Budget()
        try:
            value = json.loads(sent, object_pairs_hook=_unique)
            return json.dumps(self._json(value, missing, values), ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            raise _Opaque from None

    def _json(self, value: Any, missing: list[str], values: _Budget) -> Any:
        values.spend()
        if isinstance(value, str):
            secret = self._secret.find_assigned(value)
            if secret is None:
                return value
            missing.append(f"field {secret}")
            return REDACTED
        if isinstance(value, list):
            return self._all(value, missing) or [self._json(item, missing, values) for item in value]
        if not isinstance(value, dict):
            return value
        # Of {"name": "password", "value": …} any value may be the secret.
        named = self._all(list(value.values()), missing)
        if named is not None:
            return dict(zip(value, named, strict=True))
        return {name: self._json_field(name, item, missing, values) for name, item in value.items()}

    def _all(self, values: list[Any], missing: list[str]) -> list[Any] | None:
        """Return the values with all blackened but the names of secrets; None when they name none."""
        secret = next((found for item in values if isinstance(item, str) and (found := self._secret.exact(item))), None)
        if secret is None or len(values) == 1:
            return None
        missing.append(f"field {secret}")
        return [item if isinstance(item, str) and self._secret.exact(item) else REDACTED for item in values]

    def _json_field(self, name: str, value: Any, missing: list[str], values: _Budget) -> Any:
        secret = self._secret.find(name)
        if secret is None:
            return self._json(value, missing, values)
        if not self._secret.is_name_alone(name):
            raise _Opaque
        missing.append(f"field {secret}")
        return REDACTED


class _Budget:
    """The budget says how many values of a body may still be looked at."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES

    def spend(self) -> None:
        """Raise _Opaque when there have been too many."""
        self._left -= 1
        if self._left < 0:
            raise _Opaque


NOTHING_REDACTED: Final = Redaction()


def _blackened(line: bytes, names: frozenset[str], missing: list[str]) -> bytes:
    name, colon, _ = line.partition(b":")
    if not colon or _name(line) not in names:
        return line
    missing.append(f"response header {_name(line)}")
    return name + b": " + _MARK


def _name(line: bytes) -> str:
    return line.partition(b":")[0].strip().lower().decode("latin-1")


def _read(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _pieces(pair: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces of a pair that semicolons part, each with its place."""
    start = 0
    for piece in pair.split(b";"):
        yield start, piece
        start += len(piece) + 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these fields. Raises ValueError when one of them hides another of its name."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("the same name twice")
    return made
