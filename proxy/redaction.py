"""Secrets kept out of WARC files: the request as it is recorded, with named headers and form fields blackened. Pure.

What is sent to the origin is never changed. Fields are looked for in the URL's query (and so in the record's target
URI, in `Referer` and in the log), and in bodies of forms (urlencoded, multipart) and of JSON. A body that can't be
looked into - of another kind, encoded, cut short or larger than 4 MiB - is left out whole: in doubt nothing is told.
So are a client's WebSocket messages, which are looked into when they are JSON (also behind the digits that Socket.IO
puts before it) or pairs of a form.
The recorded head then says the recorded body's length, and the record names what is missing in `WARC-Redacted`.
Responses are recorded as they came.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_plus

from archive.capture import Body, Message
from archive.message import dechunk

REDACTED: Final = "redacted"
_MARK: Final = REDACTED.encode()
_MAX_BODY: Final = 4_194_304
_BOUNDARY: Final = re.compile(rb'(?i);\s*boundary=(?:"([^"]{1,70})"|([^;"\s]{1,70}))')
_DIGITS: Final = re.compile(rb"[0-9]{1,9}")
_PAIRS: Final = re.compile(rb"[^=&\s]+=[^&]*(?:&[^=&\s]+=[^&]*)*")
_FIELD_NAME: Final = re.compile(
    rb'(?i)^content-disposition:[^\r\n]*?[;\s]name=(?:"([^"\r\n]*)"|([^;"\s]+))', re.MULTILINE
)


class _Opaque(Exception):
    """The body can't be looked into."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """Names of headers, in lower case, and of form fields, as they are."""

    headers: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()

    def url(self, url: str) -> str:
        """The URL with the values of named query fields blackened."""
        if not self.fields or "?" not in url:
            return url
        start, _, query = url.partition("?")
        query, mark, fragment = query.partition("#")
        shown = self._pairs(query.encode("utf-8", "surrogateescape"), []).decode("utf-8", "surrogateescape")
        return f"{start}?{shown}{mark}{fragment}"

    def request(self, request: Message) -> tuple[Message, tuple[str, ...]]:
        """The request to record, and what is missing of it: names, never values."""
        missing: list[str] = []
        line, _, rest = request.head.partition(b"\r\n")
        method, _, target = line.partition(b" ")
        target, _, version = target.rpartition(b" ")
        shown = self.url(target.decode("latin-1")).encode("latin-1", "replace")
        if shown != target:
            missing.append("query")
        lines = [b"%s %s %s\r\n" % (method, shown, version)]
        fields = [text + b"\r\n" for text in rest.removesuffix(b"\r\n\r\n").split(b"\r\n") if text]
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
        """A client's WebSocket message to record, and what is missing of it: names, or `message` for all of it."""
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
        """The body to record, or None for the one that was sent."""
        headers = {_name(text): text.partition(b":")[2].strip() for text in fields}
        before = len(missing)
        try:
            if "content-encoding" in headers or request.body.length > _MAX_BODY:
                raise _Opaque
            chunks = request.body.chunks()
            sent = b"".join(dechunk(chunks) if "transfer-encoding" in headers else chunks)
            kept = self._form(sent, headers.get("content-type", b""), missing)
        except _Opaque:
            missing.append("body")
            return b""
        return kept if len(missing) > before else None

    def _form(self, sent: bytes, content_type: bytes, missing: list[str]) -> bytes:
        kind = content_type.partition(b";")[0].strip().lower()
        if kind == b"application/x-www-form-urlencoded":
            return self._pairs(sent, missing)
        if kind == b"multipart/form-data" and (boundary := _BOUNDARY.search(content_type)):
            return self._parts(sent, b"--" + (boundary[1] or boundary[2]), missing)
        if kind == b"application/json" or kind.endswith(b"+json"):
            try:
                return json.dumps(self._json(json.loads(sent), missing), ensure_ascii=False).encode()
            except (ValueError, RecursionError):
                raise _Opaque from None
        raise _Opaque

    def _pairs(self, text: bytes, missing: list[str]) -> bytes:
        return b"&".join(self._pair(pair, missing) for pair in text.split(b"&"))

    def _pair(self, pair: bytes, missing: list[str]) -> bytes:
        name, equals, _ = pair.partition(b"=")
        plain = unquote_plus(name.decode("utf-8", "replace"))
        if not equals or plain not in self.fields:
            return pair
        missing.append(f"field {plain}")
        return name + b"=" + _MARK

    def _parts(self, sent: bytes, boundary: bytes, missing: list[str]) -> bytes:
        parts = sent.split(boundary)
        if len(parts) < 3:
            raise _Opaque
        return boundary.join(self._part(part, missing) for part in parts)

    def _part(self, part: bytes, missing: list[str]) -> bytes:
        head, gap, _ = part.partition(b"\r\n\r\n")
        name = _FIELD_NAME.search(head)
        if not gap or name is None:
            return part
        plain = (name[1] if name[1] is not None else name[2]).decode("utf-8", "replace")
        if plain not in self.fields:
            return part
        missing.append(f"field {plain}")
        return head + gap + _MARK + b"\r\n"

    def _json(self, value: Any, missing: list[str]) -> Any:
        if isinstance(value, list):
            return [self._json(item, missing) for item in value]
        if not isinstance(value, dict):
            return value
        return {name: self._json_field(name, item, missing) for name, item in value.items()}

    def _json_field(self, name: str, value: Any, missing: list[str]) -> Any:
        if name not in self.fields:
            return self._json(value, missing)
        missing.append(f"field {name}")
        return REDACTED


NOTHING_REDACTED: Final = Redaction()


def _name(line: bytes) -> str:
    return line.partition(b":")[0].strip().lower().decode("latin-1")
