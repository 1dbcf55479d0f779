"""These claims also ask the CDX servers of other archives, so that payloads of those archives are not kept again.

The servers are asked for payloads that are new to the fleet and may be in the collection's own bucket: all of a batch
at a time, over a few connections, until one deadline. The claim on a payload that was found is released. Its original
is not stored, because Redis knows only originals that can be restored from our own disk.

A server that failed is not asked for a second, or for four times as long as the batch waited for it, whichever is
longer. So a silent server costs a writer at most a fifth of its time. In doubt, the payload is kept whole.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

from archive.capture import Capture, Original
from archive.digest import DEFAULT_ALGORITHM
from archive.settings import DedupSettings
from archive.settings.values import cdx_address
from dedupdb.claims.cdx_client import CdxClient, CdxRefused, CdxUnavailable
from dedupdb.claims.claims import ClaimVerdict, DedupStore, PayloadKey
from dedupdb.claims.pending_counters import Increments

logger = logging.getLogger(__name__)

ALL: Final = "*"
"""The name for every collection without a server of its own."""
_PAUSE_SECONDS: Final = 1.0
_PAUSE_FACTOR: Final = 4.0

type _Question = Future[Original | None]


@dataclass(slots=True)
class _Server:
    client: CdxClient
    rests_until: float = 0.0
    trouble: str = ""


class RemoteArchives:
    """One writer claims payloads by this object. It is for one thread, which waits at most `dedup.cdx_seconds`."""

    def __init__(self, claims: DedupStore, settings: DedupSettings) -> None:
        self._claims = claims
        self._seconds = settings.cdx_seconds
        clients = {text: _Server(CdxClient(cdx_address.parse(text))) for text in settings.cdx_servers.values()}
        self._servers = {collection: clients[text] for collection, text in settings.cdx_servers.items()}
        self._pool = ThreadPoolExecutor(settings.cdx_connections, thread_name_prefix="cdx")
        self.found = 0
        """Originals that were found in other archives."""
        self.unavailable = 0
        """Payloads that were kept whole because a server failed, refused, was late or was not asked after a failure."""

    @property
    def asks(self) -> bool:
        """Return whether there is a server to ask. Without one, the wrapped claims do as well."""
        return bool(self._servers)

    @property
    def trouble(self) -> str:
        """Return why a server could not be asked the last time; empty when every server answered."""
        return next((server.trouble for server in self._servers.values() if server.trouble), "")

    def claim(self, payloads: Sequence[PayloadKey]) -> list[Original | ClaimVerdict]:
        """Answer as `Claims.claim` does, then ask other archives for the granted payloads."""
        answers = self._claims.claim(payloads)
        new = {place: payloads[place] for place, answer in enumerate(answers) if answer is ClaimVerdict.GRANTED}
        asked = {place: server for place, payload in new.items() if (server := self._server_of(payload))}
        if not asked:
            return answers
        found = self._look_up(new, asked)
        if found:
            self._claims.settle((), [payloads[place] for place in found], (), {})
            self.found += len(found)
            for place, original in found.items():
                answers[place] = original
        return answers

    def settle(
        self,
        kept: Sequence[tuple[PayloadKey, Original]],
        released: Sequence[PayloadKey],
        captures: Sequence[Capture],
        tallies: Increments,
    ) -> None:
        """Settle as `Claims.settle` does."""
        self._claims.settle(kept, released, captures, tallies)

    def close(self) -> None:
        """Stop asking, and close the connections."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for server in self._servers.values():
            server.client.abort()
            server.client.close()

    def _server_of(self, payload: PayloadKey) -> _Server | None:
        """Return the server to ask. Other archives know no buckets: their captures count as the collection's own
        bucket.
        """
        if (
            payload.algorithm != DEFAULT_ALGORITHM
            or not payload.digest
            or "" not in (*payload.filled, *payload.searched)
        ):
            return None
        return self._servers.get(payload.collection) or self._servers.get(ALL)

    def _look_up(self, payloads: Mapping[int, PayloadKey], asked: Mapping[int, _Server]) -> dict[int, Original]:
        started = time.monotonic()
        questions: dict[int, _Question] = {}
        for place, server in asked.items():
            if started < server.rests_until:
                self.unavailable += 1
            else:
                questions[place] = self._pool.submit(server.client.find, payloads[place], started + self._seconds)
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
        """Decide which servers are not asked for a while, and log changes."""
        for server in {id(server): server for server in asked.values()}.values():
            errors = [error for place, error in failures.items() if asked[place] is server]
            fatal = next((error for error in errors if not isinstance(error, CdxRefused)), None)
            before, server.trouble = server.trouble, ""
            if fatal is not None:
                server.client.abort()
                server.rests_until = time.monotonic() + max(_PAUSE_SECONDS, _PAUSE_FACTOR * took)
            if errors:
                server.trouble = f"CDX server {server.client.name}: {fatal or errors[0]}"
            if server.trouble and not before:
                logger.warning("%s; payloads that it may have are kept whole", server.trouble)
            elif before and not server.trouble:
                logger.info("CDX server %s answers again", server.client.name)


def _answer(question: _Question, *, is_late: bool, seconds: float) -> Original | None:
    if is_late:
        raise CdxUnavailable(f"no answer to a batch within {seconds:g} s")
    return question.result()
