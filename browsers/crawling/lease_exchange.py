"""The exchange of leases joins what the visits of one worker ask of the queue at the same time into few calls.

While one thread waits for Redis, the others line up. The next call takes all of them: it ends their visits and claims
their next URLs in one step. A thread that is alone is served at once, so that nothing waits for a batch to be full.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from frontier.definition.scope import Rejected
from frontier.lease import Claim, Lease, Pause
from frontier.lease_queue import MOST_EXCHANGED, LeaseQueue
from frontier.politeness import LeaseEnding, VisitOutcome


@dataclass(slots=True)
class _Request:
    """A thread asks to end a visit, to claim a URL for a worker, or for both. `claim` and `ending` are the answer."""

    visit: tuple[Lease, VisitOutcome] | None = None
    worker: str | None = None
    ending: LeaseEnding | None = None
    claim: Claim | None = None
    error: BaseException | None = None

    @property
    def is_answered(self) -> bool:
        if self.error is not None:
            return True
        return (self.visit is None or self.ending is not None) and (self.worker is None or self.claim is not None)


class LeaseExchange:
    """The exchange of one worker. It is safe to share between threads; each thread claims by a name of its own."""

    def __init__(
        self, queue: LeaseQueue, note_rejected: Callable[[Lease, Rejected], None] = lambda lease, out: None
    ) -> None:
        """`note_rejected` is called with each URL that the scope rejects when its turn has come."""
        self._queue = queue
        self._note_rejected = note_rejected
        self._turn = Lock()
        self._waiting = deque[_Request]()
        self._reserved: dict[str, Claim] = {}

    def claim(self, worker: str) -> Claim:
        """Return the claim that was made when the last visit ended, or make one. Raises as `LeaseQueue.claim`."""
        claim = self.reserved(worker) or self._answered(_Request(worker=worker)).claim
        assert claim is not None
        return claim

    def finish(self, lease: Lease, outcome: VisitOutcome, *, claims_next: bool) -> LeaseEnding:
        """Finish a visit as `LeaseQueue.finish` does. With `claims_next`, make the next claim of its worker, too."""
        worker = lease.worker if claims_next else None
        answered = self._answered(_Request((lease, outcome), worker))
        if answered.claim is not None:
            self._reserved[lease.worker] = answered.claim
        assert answered.ending is not None
        return answered.ending

    def reserved(self, worker: str) -> Claim | None:
        """Return and forget the claim that was made when the last visit of a worker ended; None when there is none."""
        return self._reserved.pop(worker, None)

    def _answered(self, request: _Request) -> _Request:
        self._waiting.append(request)
        with self._turn:
            while not request.is_answered:
                self._exchange()
        if request.error is not None:
            raise request.error
        return request

    def _exchange(self) -> None:
        """Answer the first requests that wait. A claim for which there was no URL left stays in line."""
        taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_EXCHANGED))]
        ending = [request for request in taken if request.visit is not None and request.ending is None]
        claiming = [request for request in taken if request.worker is not None]
        visits = [request.visit for request in ending if request.visit is not None]
        workers = [request.worker for request in claiming if request.worker is not None]
        try:
            answer = self._queue.exchange(visits, workers)
        except BaseException as error:
            for request in taken:
                request.error = error
            return
        for lease, out in answer.rejected:
            self._note_rejected(lease, out)
        for request, found in zip(ending, answer.endings, strict=True):
            request.ending = found
        for request, claim in zip(claiming, answer.claims, strict=True):
            # A million URLs may be rejected one after the other, so a thread can stop after each exchange.
            request.claim = Pause(0, "scope") if claim is None and answer.rejected else claim
            if request.claim is None:
                self._waiting.append(request)
