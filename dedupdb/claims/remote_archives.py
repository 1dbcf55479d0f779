"""Claims with the CDX servers of other archives behind them: what one of those holds already need not be kept again.

Only payloads that nobody in the fleet has, and that may be in the collection's own bucket, are asked for; all those of
a batch at a time, over a few connections, until one deadline. A claim on what is found is given back and the original
is not remembered: Redis knows only what can be told again from our own disk.

A server that failed rests for a second, or four times as long as the batch waited for it, whichever is more: so one
that is silent costs a writer at most a fifth of its time. In doubt the whole record is written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

from archive import cdx_address
from archive.capture import Capture, Original
from archive.dedup_section import DedupSettings
from archive.digest import DEFAULT_ALGORITHM
from dedupdb.cdx_client import CdxClient, CdxRefused, CdxUnavailable
from dedupdb.claims import Granting, Tallies, Verdict, Want

logger = logging.getLogger(__name__)

ALL: Final = "*"
"""Every collection that has no server of its own."""
_PAUSE_SECONDS: Final = 1.0
_PAUSE_FACTOR: Final = 4.0

type _Question = Future[Original | None]


@dataclass(slots=True)
class _Server:
    client: CdxClient
    rests_until: float = 0.0
    trouble: str = ""


class Foreign:
    """One writer's claims. For one thread, which waits `dedup.cdx_seconds` at most for a batch."""

    def __init__(self, claims: Granting, settings: DedupSettings) -> None:
        self._claims = claims
        self._seconds = settings.cdx_seconds
        clients = {text: _Server(CdxClient(cdx_address.parse(text))) for text in settings.cdx_servers.values()}
        self._servers = {collection: clients[text] for collection, text in settings.cdx_servers.items()}
        self._pool = ThreadPoolExecutor(settings.cdx_connections, thread_name_prefix="cdx")
        self.found = 0
        """Originals in other archives, each of one revisit or more."""
        self.unavailable = 0
        """Payloads kept whole because a server rested, failed, refused or was late."""

    @property
    def asks(self) -> bool:
        """Whether there is a server to ask. Else this is only in the way."""
        return bool(self._servers)

    @property
    def trouble(self) -> str:
        """Why a server could not be asked the last time; empty when all could."""
        return next((server.trouble for server in self._servers.values() if server.trouble), "")

    def claim(self, wants: Sequence[Want]) -> list[Original | Verdict]:
        """As `Claims.claim`; then what was granted is looked for elsewhere."""
        answers = self._claims.claim(wants)
        new = {place: wants[place] for place, answer in enumerate(answers) if answer is Verdict.GRANTED}
        asked = {place: server for place, want in new.items() if (server := self._server_of(want))}
        if not asked:
            return answers
        found = self._look_up(new, asked)
        if found:
            self._claims.settle((), [wants[place] for place in found], (), {})
            self.found += len(found)
            for place, original in found.items():
                answers[place] = original
        return answers

    def settle(
        self,
        kept: Sequence[tuple[Want, Original]],
        released: Sequence[Want],
        captures: Sequence[Capture],
        tallies: Tallies,
    ) -> None:
        """As `Claims.settle`."""
        self._claims.settle(kept, released, captures, tallies)

    def close(self) -> None:
        """Ask no more, and let the connections go."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for server in self._servers.values():
            server.client.break_off()
            server.client.close()

    def _server_of(self, want: Want) -> _Server | None:
        """Other archives know no buckets: what they hold counts as in the collection's own."""
        if want.algorithm != DEFAULT_ALGORITHM or not want.digest or "" not in (*want.filled, *want.searched):
            return None
        return self._servers.get(want.collection) or self._servers.get(ALL)

    def _look_up(self, wants: Mapping[int, Want], asked: Mapping[int, _Server]) -> dict[int, Original]:
        started = time.monotonic()
        questions: dict[int, _Question] = {}
        for place, server in asked.items():
            if started < server.rests_until:
                self.unavailable += 1
            else:
                questions[place] = self._pool.submit(server.client.find, wants[place], started + self._seconds)
        late = wait(questions.values(), self._seconds).not_done
        for question in late:
            question.cancel()
        found: dict[int, Original] = {}
        failures: dict[int, CdxUnavailable] = {}
        for place, question in questions.items():
            try:
                original = _answer(question, is_late=question in late, seconds=self._seconds)
            except CdxUnavailable as error:
                failures[place] = error
                continue
            if original is not None:
                found[place] = original
        self.unavailable += len(failures)
        self._judge({place: asked[place] for place in questions}, failures, time.monotonic() - started)
        return found

    def _judge(self, asked: Mapping[int, _Server], failures: Mapping[int, CdxUnavailable], took: float) -> None:
        """Which of the servers rest, and what is said of them."""
        for server in {id(server): server for server in asked.values()}.values():
            errors = [error for place, error in failures.items() if asked[place] is server]
            fatal = next((error for error in errors if not isinstance(error, CdxRefused)), None)
            before, server.trouble = server.trouble, ""
            if fatal is not None:
                server.client.break_off()
                server.rests_until = time.monotonic() + max(_PAUSE_SECONDS, _PAUSE_FACTOR * took)
            if errors:
                server.trouble = f"CDX server {server.client.name}: {fatal or errors[0]}"
            if server.trouble and not before:
                logger.warning("%s; what it may hold is kept whole", server.trouble)
            elif before and not server.trouble:
                logger.info("CDX server %s answers again", server.client.name)


def _answer(question: _Question, *, is_late: bool, seconds: float) -> Original | None:
    if is_late:
        raise CdxUnavailable(f"it did not answer a batch within {seconds:g} s")
    return question.result()
