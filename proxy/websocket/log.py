"""The messages of a WebSocket are kept as records of JSON lines beside the handshake's.

The form is the one discussed at iipc/warc-specifications#115: the handshake is an ordinary response record (its 101)
with its request; the messages are a `resource` record with the same WARC-Target-URI, `WARC-Resource-Type: websocket`,
`Content-Type: application/jsonl` and WARC-Concurrent-To the handshake. One line for each message, its keys as in
Chrome's DevTools protocol:

* `ts`: when the message was whole, ISO 8601 with microseconds, UTC;
* `type`: "send" for what the client said, "receive" for what the origin said;
* `opcode`: of RFC 6455 section 5.2 (1 text, 2 binary, 8 close, 9 ping, 10 pong); `mask`: whether it came masked;
* `payloadData`: text where the opcode is 1, Base64 of the bytes otherwise. Text that is no UTF-8 is in Base64 as well
  and says `"base64": true`. Fragments are put together (`fragments` tells how many) and permessage-deflate is
  taken off where it was agreed on; what can't be unpacked stays as it came and says `"compressed": true`; what is
  longer than 16 MiB is cut there and says `"truncated": true`. Where a session blackens form fields, they are looked
for in what the client says (see `proxy.sessions.secrets.redaction`), and `redacted` names what is missing.

A line with `error` instead of an opcode says that one side stopped speaking WebSocket. The last line has type "end"
and `reason`: "closed" behind the close frames of both sides, otherwise the WARC-Truncated of its record; what is said
behind both close frames, against RFC 6455, has another end of its own. A long conversation is kept in several such
records, each with whole lines and dated by its first; what waits for the origin's close frame to be kept ends one too.
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from archive.capture import Context, Truncation
from archive.dates import iso_date, now_micros
from archive.json_text import compact_json
from archive.settings import ProxySettings
from proxy.log_lines import about
from proxy.recording.spool import Spool
from proxy.sessions.session import Session
from proxy.websocket.frames import CLOSE, TEXT, Deflate, Inflater, SocketFrameReader, SocketMessage
from proxy.websocket.records import RecordSink, SocketRecords

log = logging.getLogger(__name__)

_SEND: Final = "send"
_RECEIVE: Final = "receive"
_SIDES: Final = 2
_CONTROL: Final = 8
"""The bit of an opcode that marks control frames."""


class SocketLog:
    """Writes down one conversation. The records follow once the handshake is kept."""

    def __init__(
        self,
        url: str,
        context: Context,
        session: Session,
        deflate: Deflate | None,
        settings: ProxySettings,
        recorder: RecordSink,
        spool_folder: Path,
        exchange: str = "",
    ) -> None:
        """`exchange` is the handshake's, for log lines."""
        self._exchange, self._redaction = exchange, session.spec.redaction
        self._url, self._session = url, session
        self._settings, self._spool_folder = settings, spool_folder
        self._records = SocketRecords(url, context, session, recorder, exchange)
        self._sent = SocketFrameReader(
            self._message_handler(_SEND), Inflater(forgets=deflate.client_forgets) if deflate else None
        )
        self._received = SocketFrameReader(
            self._message_handler(_RECEIVE), Inflater(forgets=deflate.server_forgets) if deflate else None
        )
        self._spool = self._new_spool()
        self._began = now_micros()
        self._closed_by: set[str] = set()
        self._written = 0
        self._is_full = False
        self._has_end = False
        session.counts["websockets"] += 1

    def sent(self, data: bytes) -> None:
        """Record bytes of the client. Raises OSError when the spool's disk is full."""
        self._feed(self._sent, _SEND, data)

    def received(self, data: bytes) -> None:
        """Record bytes of the origin. Raises OSError when the spool's disk is full."""
        self._feed(self._received, _RECEIVE, data)

    @property
    def origin_has_closed(self) -> bool:
        """Return whether the origin has sent its close frame."""
        return _RECEIVE in self._closed_by

    @property
    def has_lost(self) -> bool:
        """Return whether a message could not be kept; then no later message is kept, either."""
        return self._records.has_lost

    def handshake_kept(self, record_id: str) -> None:
        """Note that the handshake is recorded, so that the records which refer to it may be written."""
        self._records.handshake_kept(record_id)

    def flush_old(self, older_than: int) -> None:
        """Keep the messages so far when the first is older than that moment (Micros), so that a crash loses few."""
        if self._spool.length and self._began < older_than:
            self._flush(None)

    def settle(self, answer: Callable[[bool], None]) -> None:
        """Call `answer` with whether all messages until now are kept, or were not to be kept, once that is known."""
        if len(self._closed_by) == _SIDES:
            self._add_end(None)  # nothing more should come, and so most conversations need one record
        elif self._spool.length:
            self._flush(None)
        self._records.when_done(lambda: answer(not self.has_lost))

    def end(self, reason: Truncation | None, over: Callable[[], None]) -> None:
        """Note that the connection has ended; `reason` is the proxy's, when the proxy ended it."""
        if not self._has_end:
            self._add_end(reason)
        self._records.when_done(over)

    def give_up(self) -> None:
        """Give up the records, because the handshake that they would refer to is lost."""
        self._records.give_up()

    @property
    def _about(self) -> dict[str, str]:
        return about(self._exchange)

    def _new_spool(self) -> Spool:
        return Spool(self._settings.spool_bytes, self._spool_folder)

    def _feed(self, reader: SocketFrameReader, kind: str, data: bytes) -> None:
        if not reader.feed(data):
            self._write({"ts": iso_date(now_micros()), "type": kind, "error": reader.broken})

    def _message_handler(self, kind: str) -> Callable[[SocketMessage], None]:
        def on_message(message: SocketMessage) -> None:
            self._session.counts["messages"] += 1
            missing: tuple[str, ...] = ()
            if kind == _SEND and self._redaction.fields and not message.opcode & _CONTROL:
                payload, missing = self._redaction.message(
                    message.payload, is_text=message.opcode == TEXT and not message.is_packed
                )
                message = replace(message, payload=payload)
            line = _line(kind, message)
            self._write({**line, "redacted": missing} if missing else line)
            if message.opcode == CLOSE:
                self._closed_by.add(kind)

        return on_message

    def _write(self, line: dict[str, Any]) -> None:
        """Add the line, unless the limit is reached."""
        self._is_full = self._is_full or 0 < self._settings.websocket_max_bytes <= self._written
        if self._records.takes_more and not self._is_full:
            self._has_end = False
            self._add(line)
            if self._spool.length >= self._settings.websocket_segment_bytes:
                self._flush(None)

    def _add(self, line: dict[str, Any]) -> None:
        text = compact_json(line).encode() + b"\n"
        if not self._spool.length:
            self._began = now_micros()
        self._spool.add(text)
        self._written += len(text)

    def _add_end(self, reason: Truncation | None) -> None:
        self._has_end = True
        if self._is_full:
            reason = "length"
        elif len(self._closed_by) == _SIDES:
            reason = None  # whoever ended the connection then, nothing of what was said is missing
        elif reason is None:
            reason = "disconnect"
        try:
            self._add({"ts": iso_date(now_micros()), "type": "end", "reason": reason or "closed"})
        except OSError as error:
            log.error(
                "%s: the last line of the WebSocket messages can't be spooled: %s", self._url, error, extra=self._about
            )
        self._flush(reason)

    def _flush(self, truncated: Truncation | None) -> None:
        spool, self._spool = self._spool, self._new_spool()
        self._records.keep(spool, self._began, truncated)


def _line(kind: str, message: SocketMessage) -> dict[str, Any]:
    line: dict[str, Any] = {
        "ts": iso_date(now_micros()),
        "type": kind,
        "opcode": message.opcode,
        "mask": message.masked,
    }
    text: str | None = None
    if message.opcode == TEXT and not message.is_packed:
        # A cut may fall within a character; whole text that is no UTF-8 keeps its bytes.
        try:
            text = message.payload.decode("utf-8")
        except UnicodeDecodeError:
            line["base64"] = True
    elif message.opcode == TEXT:
        line["base64"] = True
    line["payloadData"] = b64encode(message.payload).decode() if text is None else text
    if message.fragments > 1:
        line["fragments"] = message.fragments
    if message.is_packed:
        line["compressed"] = True
    if message.is_cut:
        line["truncated"] = True
    return line
