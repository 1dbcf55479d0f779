"""The writer thread takes whole exchanges, keeps them in batches, and tells the event loop what is durable.

A batch costs half a millisecond of CPU whatever its size: round trips to Redis, a sync of the disk, the hand-over
between threads. So the first exchange of a batch waits up to `_GATHER_SECONDS` for others in progress. An exchange that
is the only one in progress never waits.

Every exchange gets exactly one answer, kept or lost, even after an exception: a client waits for the answer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from archive.capture import Capture, Exchange
from archive.program_name import command
from archive.settings.load import Settings
from proxy.log_lines import about
from proxy.recording.keep import Keeper, KeepOutcome, Kept, Later, Lost
from proxy.recording.plan import DerivedRecord

log = logging.getLogger(__name__)

_BATCH: Final = 256
_RETRY_SECONDS: Final = 0.02
_IDLE_SECONDS: Final = 1.0
_GATHER_SECONDS: Final = 0.005
_TIMER_SECONDS: Final = 0.001
"""The resolution of the event loop's clock."""


@dataclass(slots=True)
class _QueuedItem:
    item: Exchange | DerivedRecord
    answer: Callable[[Kept | Lost], None]
    since: float


class Recorder:
    """Accepts exchanges and answers for them on the event loop's thread."""

    def __init__(
        self,
        settings: Settings,
        keeper: Keeper,
        loop: asyncio.AbstractEventLoop,
        under_way: Callable[[], int] = lambda: 0,
    ) -> None:
        """`under_way` counts the exchanges that have not ended, including those that were handed over."""
        self._settings = settings
        self._under_way = under_way
        self._keeper = keeper
        self._loop = loop
        self._queue: deque[_QueuedItem] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._writes = False
        self._is_timed = False
        self._in_hand = 0
        self._close_requests: deque[tuple[str, str | None, Callable[[], None]]] = deque()
        self.last_failure = ""
        """Why the last exchange could not be kept; empty when the last one was."""
        self.trouble = ""
        """Why a file can't be opened or closed at present; empty when all is well."""
        self.after_keep: Callable[[Sequence[Capture]], None] | None = None
        """Called on the writer's thread with the captures that have become durable. Must neither wait nor raise."""
        self.unfinished = ""
        """Why something was not kept, or a file not closed, when the recorder stopped; empty when all went well."""
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        """Begin writing."""
        self._writes = True
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Return the number of exchanges that were handed over and have no answer yet."""
        return len(self._queue) + self._in_hand

    @property
    def is_full(self) -> bool:
        """Return whether clients must wait: back-pressure, not loss."""
        return self.waiting >= self._settings.proxy.queue_length

    @property
    def is_alive(self) -> bool:
        """Return whether its thread runs."""
        return self._writes

    @property
    def thread_id(self) -> int:
        """The native id of its thread, once it runs."""
        return self._thread.native_id or 0

    @property
    def oldest(self) -> Exchange | DerivedRecord | None:
        """Return the item that has waited longest in the queue; None when the queue is empty."""
        try:
            return self._queue[0].item
        except IndexError:
            return None

    @property
    def seconds_behind(self) -> float:
        """Return how long the oldest exchange in the queue has waited."""
        try:
            return time.monotonic() - self._queue[0].since
        except IndexError:
            return 0.0

    def submit(self, item: Exchange | DerivedRecord, answer: Callable[[Kept | Lost], None]) -> None:
        """Keep the item; `answer` is called on the event loop once it is durable, or lost."""
        if self._stopping or not self._writes:
            answer(Lost("the writer has stopped"))
            return
        self._queue.append(_QueuedItem(item, answer, time.monotonic()))
        if self._should_write_now():
            self._wake.set()
        elif not self._is_timed:
            self._is_timed = True
            self._loop.call_later(_GATHER_SECONDS, self._wake_in_time)

    def close_collection(self, collection: str, done: Callable[[], None], *, prefix: str | None = None) -> None:
        """Close that collection's files, or only those of a prefix; `done` is called on the event loop afterwards."""
        self._close_requests.append((collection, prefix, done))
        self._wake.set()

    def stop(self) -> None:
        """Keep what was handed over, close the files, end the thread. Blocks."""
        self._stopping = True
        self._wake.set()
        self._thread.join()

    def _should_write_now(self) -> bool:
        """Return whether to write the queue now instead of waiting for more items."""
        return self._stopping or len(self._queue) >= self._under_way()

    def _wake_in_time(self) -> None:
        """Wake the writer when the first item of the queue has waited long enough."""
        self._is_timed = False
        left = _GATHER_SECONDS - self.seconds_behind
        if left < _TIMER_SECONDS:
            self._wake.set()
        elif self._queue:
            self._is_timed = True
            self._loop.call_later(left, self._wake_in_time)

    def _run(self) -> None:
        try:
            self._write_batches()
        finally:
            self._writes = False

    def _write_batches(self) -> None:
        retry: list[_QueuedItem] = []
        while True:
            self._wake.wait(_RETRY_SECONDS if retry else _IDLE_SECONDS)
            self._wake.clear()
            while batch := self._next_batch(retry):
                retry = self._keep(batch)
                if not self._queue or not (len(batch) >= _BATCH or self._should_write_now()):
                    break
            self._housekeeping()
            if self._stopping and not self._queue and not retry:
                break
        self._close()

    def _next_batch(self, retry: list[_QueuedItem]) -> list[_QueuedItem]:
        batch = retry
        while self._queue and len(batch) < _BATCH:
            batch.append(self._queue.popleft())
        self._in_hand = len(batch)
        return batch

    def _keep(self, batch: list[_QueuedItem]) -> list[_QueuedItem]:
        """Keep the batch, answer what is decided; what must be asked again comes back."""
        patience = time.monotonic() - self._settings.dedup.wait_seconds
        try:
            outcomes: list[KeepOutcome] = self._keeper.keep(
                [waiting.item for waiting in batch],
                patient=lambda position: not self._stopping and batch[position].since > patience,
            )
        except Exception as error:  # the one place that must not let anything pass: see the module's docstring
            ids = [waiting.item.id for waiting in batch if isinstance(waiting.item, Exchange)]
            log.exception("keeping a batch of %d exchanges failed", len(batch), extra={"exchanges": ids})
            outcomes = [Lost(f"{type(error).__name__}: {error}")] * len(batch)
        answers: list[tuple[_QueuedItem, Kept | Lost]] = []
        later: list[_QueuedItem] = []
        for item, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Later):
                later.append(item)
            else:
                answers.append((item, outcome))
        self._in_hand = len(later)
        if answers:
            failure = next((outcome.reason for _, outcome in answers if isinstance(outcome, Lost)), "")
            if failure:
                _log_lost(answers)
            self.last_failure = failure
            if self._stopping and failure:
                self.unfinished = f"not everything was kept when the process stopped: {failure}"
            self._loop.call_soon_threadsafe(_answer_all, answers)
            if self.after_keep is not None:
                kept = (outcome.capture for _, outcome in answers if isinstance(outcome, Kept))
                self.after_keep([capture for capture in kept if capture is not None])
        return later

    def _housekeeping(self) -> None:
        try:
            while self._close_requests:
                collection, prefix, done = self._close_requests.popleft()
                try:
                    self._keeper.close_collection(collection, prefix)
                finally:
                    self._loop.call_soon_threadsafe(done)
            self._keeper.idle_close()
        except Exception as error:  # repaired at the next start; the thread must live, and nothing new be accepted
            self.last_failure = self.last_failure or f"a file could not be closed: {error}"
            log.exception("closing an idle file failed")
        finally:
            self.trouble = self._keeper.trouble

    def _close(self) -> None:
        try:
            self._keeper.close()
        except Exception as error:
            log.exception("closing the files failed")
            self.unfinished = self.unfinished or f"{error}; remove the cause, then run `{command('repair')}`"


def _answer_all(answers: list[tuple[_QueuedItem, Kept | Lost]]) -> None:
    for item, outcome in answers:
        try:
            item.answer(outcome)
        except Exception:
            log.exception("reporting the outcome of %s failed", item.item.url, extra=_log_fields(item.item))


def _log_lost(answers: list[tuple[_QueuedItem, Kept | Lost]]) -> None:
    for waiting, outcome in answers:
        if isinstance(outcome, Lost):
            log.error("%s is not kept: %s", waiting.item.url, outcome.reason, extra=_log_fields(waiting.item))


def _log_fields(item: Exchange | DerivedRecord) -> dict[str, str]:
    return about(item.id) if isinstance(item, Exchange) else {}
