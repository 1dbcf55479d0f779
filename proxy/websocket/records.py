"""The records of one WebSocket, one after the other.

Each is handed over when the one before it is durable, and none after one that is lost: so what there is of a
conversation, even after a crash, is its handshake and its beginning without a gap.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from archive.capture import Context, Truncation
from archive.dates import Micros
from proxy.gate import Session
from proxy.keep import Kept, Lost
from proxy.loglines import about
from proxy.plan import Derived
from proxy.spool import Spool

log = logging.getLogger(__name__)

CONTENT_TYPE: Final = "application/jsonl"
RESOURCE_TYPE: Final = ("WARC-Resource-Type", "websocket")


class Keeping(Protocol):
    """The part of `proxy.recorder.Recorder` that is needed here."""

    def submit(self, item: Derived, answer: Callable[[Kept | Lost], None]) -> None:
        """Keep the item; `answer` is called once it is durable, or lost."""


class SocketRecords:
    """They wait for `handshake_kept`; `give_up` says that it won't be called."""

    def __init__(self, url: str, context: Context, session: Session, recorder: Keeping, exchange: str) -> None:
        """`exchange` is the handshake's, for log lines."""
        self._url, self._context, self._session = url, context, session
        self._recorder, self._exchange = recorder, exchange
        self._handshake: str | None = None
        self._waiting: deque[tuple[Spool, Micros, Truncation | None]] = deque()
        self._is_in_flight = False
        self._is_given_up = False
        self._asked: deque[Callable[[], None]] = deque()
        self.has_lost = False
        """Whether one of them could not be kept."""

    @property
    def takes_more(self) -> bool:
        """Whether what is handed to `keep` may still become a record."""
        return not (self.has_lost or self._is_given_up)

    def handshake_kept(self, record_id: str) -> None:
        """The handshake's record is there: what belongs to it may be written."""
        self._handshake = record_id
        self._next()
        self._tell()

    def give_up(self) -> None:
        """The handshake is not kept, so there is nothing that these records could be concurrent to."""
        self._is_given_up = True
        self._drop()
        self._tell()

    def keep(self, spool: Spool, began: Micros, truncated: Truncation | None) -> None:
        """Make a record of whole lines, said from that moment on. The spool is closed in any case."""
        self._waiting.append((spool, began, truncated))
        if self.takes_more:
            self._next()
        else:
            self._drop()

    def when_done(self, over: Callable[[], None]) -> None:
        """`over` is called as soon as none of them waits any more: each is durable, lost or given up."""
        self._asked.append(over)
        self._tell()

    def _next(self) -> None:
        if self._waiting and self._handshake is not None and not self._is_in_flight:
            self._submit(*self._waiting.popleft())

    def _submit(self, spool: Spool, began: Micros, truncated: Truncation | None) -> None:
        try:
            body = spool.message().body
        except OSError as error:
            text = "%s: %d bytes of what was said are lost: %s"
            log.error(text, self._url, spool.length, error, extra=about(self._exchange))
            spool.close()
            self._note_loss()
            return
        item = Derived(
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
            self._tell()

        self._recorder.submit(item, answered)

    def _note_loss(self) -> None:
        self.has_lost = True
        self._session.counts["failed"] += 1
        self._session.errors["not-kept"] += 1
        self._drop()

    def _drop(self) -> None:
        while self._waiting:
            self._waiting.popleft()[0].close()

    def _tell(self) -> None:
        while self._asked and not self._waiting and not self._is_in_flight:
            self._asked.popleft()()
