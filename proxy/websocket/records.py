"""The records of one WebSocket, one after the other.

Each record is handed to the recorder when the record before it is durable, and none is after a record is lost. So the
archive always has the handshake and the beginning of a conversation without a gap, even after a crash.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from archive.capture import Context, Truncation
from archive.dates import Micros
from proxy.log_lines import about
from proxy.recording.keep import Kept, Lost
from proxy.recording.plan import DerivedRecord
from proxy.recording.spool import Spool
from proxy.sessions.session import Session

log = logging.getLogger(__name__)

CONTENT_TYPE: Final = "application/jsonl"
RESOURCE_TYPE: Final = ("WARC-Resource-Type", "websocket")


class RecordSink(Protocol):
    """The records need this part of `proxy.recording.recorder.Recorder`."""

    def submit(self, item: DerivedRecord, answer: Callable[[Kept | Lost], None]) -> None:
        """Keep the item; `answer` is called once it is durable, or lost."""


class SocketRecords:
    """The records wait for `handshake_kept`; `give_up` says that it won't be called."""

    def __init__(self, url: str, context: Context, session: Session, recorder: RecordSink, exchange: str) -> None:
        """`exchange` is the handshake's, for log lines."""
        self._url, self._context, self._session = url, context, session
        self._recorder, self._exchange = recorder, exchange
        self._handshake: str | None = None
        self._waiting: deque[tuple[Spool, Micros, Truncation | None]] = deque()
        self._is_in_flight = False
        self._is_given_up = False
        self._callbacks: deque[Callable[[], None]] = deque()
        self.has_lost = False
        """One of the records could not be kept."""

    @property
    def takes_more(self) -> bool:
        """Return whether messages that are handed to `keep` can still become a record."""
        return not (self.has_lost or self._is_given_up)

    def handshake_kept(self, record_id: str) -> None:
        """Note that the handshake is recorded, so that the records which refer to it may be written."""
        self._handshake = record_id
        self._next()
        self._call_back()

    def give_up(self) -> None:
        """Give up the records, because the handshake that they would refer to is not kept."""
        self._is_given_up = True
        self._drop()
        self._call_back()

    def keep(self, spool: Spool, began: Micros, truncated: Truncation | None) -> None:
        """Make a record of whole lines; `began` is the date of the first. The spool is closed in any case."""
        self._waiting.append((spool, began, truncated))
        if self.takes_more:
            self._next()
        else:
            self._drop()

    def when_done(self, over: Callable[[], None]) -> None:
        """Call `over` as soon as each record is durable, lost or given up."""
        self._callbacks.append(over)
        self._call_back()

    def _next(self) -> None:
        if self._waiting and self._handshake is not None and not self._is_in_flight:
            self._submit(*self._waiting.popleft())

    def _submit(self, spool: Spool, began: Micros, truncated: Truncation | None) -> None:
        try:
            body = spool.message().body
        except OSError as error:
            text = "%s: %d bytes of WebSocket messages are lost: %s"
            log.error(text, self._url, spool.length, error, extra=about(self._exchange))
            spool.close()
            self._note_loss()
            return
        item = DerivedRecord(
            self._context,
            "resource",
            self._url,
            CONTENT_TYPE,
            body,
            began,
            self._handshake,
            fields=(RESOURCE_TYPE,),
            truncated=truncated,
        )
        self._is_in_flight = True

        def answered(outcome: Kept | Lost) -> None:
            spool.close()
            self._is_in_flight = False
            if isinstance(outcome, Lost):
                self._note_loss()
            else:
                self._next()
            self._call_back()

        self._recorder.submit(item, answered)

    def _note_loss(self) -> None:
        self.has_lost = True
        self._session.counts["failed"] += 1
        self._session.errors["not-kept"] += 1
        self._drop()

    def _drop(self) -> None:
        while self._waiting:
            self._waiting.popleft()[0].close()

    def _call_back(self) -> None:
        while self._callbacks and not self._waiting and not self._is_in_flight:
            self._callbacks.popleft()()
