"""A queue hands out leases of URLs, and takes back what became of them.

A job has two such queues: its frontier (`queue`) and its renders (`renders`). Both have the same scripts, on keys of
their own in Redis, and share the state of the hosts.
"""

from __future__ import annotations

import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from archive import crawl_log
from archive.settings import FrontierSettings
from frontier.definition.revisit import RevisitHistory
from frontier.definition.scope import Rejected, ScopeDecision
from frontier.lease import Claim, JobFinished, JobStopped, Lease, Pause
from frontier.packing import EndedVisit, leased, unpack
from frontier.politeness import LeaseEnding, Politeness, Step, VisitOutcome, backoff_ms, delay_ms, next_step
from frontier.store import FrontierUnavailable, Store

logger = logging.getLogger(__name__)

LONGEST_PAUSE: Final = 1.0
"""A worker claims again after this time at the latest, since other workers or operators may have added URLs."""
MOST_EXCHANGED: Final = 256
"""Largest number of visits that end, and of claims, in one step. A step keeps Redis busy for some milliseconds."""


@dataclass(frozen=True, slots=True)
class ExchangeAnswer:
    """An exchange ended visits and made claims, each in the order of the call."""

    endings: tuple[LeaseEnding, ...]
    claims: tuple[Claim | None, ...]
    """None for a worker that has to claim again: there were fewer URLs than workers."""
    rejected: tuple[tuple[Lease, Rejected], ...] = ()
    """URLs whose turn had come and that were ended without a visit, since the scope rejects them by now."""


class LeaseQueue(ABC):
    """The queue hands out the URLs of one job, or the job's renders. It is safe to share between threads."""

    def __init__(self, name: str, store: Store, settings: FrontierSettings) -> None:
        self.name = name
        self._store = store
        self._settings = settings

    @property
    @abstractmethod
    def politeness(self) -> Politeness:
        """Return the rules of politeness of the job."""

    @abstractmethod
    def politeness_of(self, url: str) -> Politeness:
        """Return the rules of politeness for a URL: those of the job, with sheets and the least delay of its domain."""

    @abstractmethod
    def rejecting_queued(self, leases: Sequence[Lease], scope_length: int) -> Sequence[Rejected | None]:
        """Return for each URL the rejection by a scope that was changed since the URL was queued; None for no such one.

        `scope_length` is the number of changes of the scope so far.
        """

    @abstractmethod
    def note_rejected(self, decisions: Sequence[ScopeDecision]) -> None:
        """Count rejected candidates, and store them for the report."""

    @abstractmethod
    def assign_groups(self, version: str, hosts: Sequence[str]) -> None:
        """Look up the queue groups of these hosts, and store them for all workers."""

    @abstractmethod
    def wake_within_limits(self) -> None:
        """Take back the hosts and URLs whose limits and quotas are not reached any more."""

    def claim(self, worker: str, *, lease_seconds: float | None = None) -> Claim:
        """Return the next URL for this worker, or the reason why there is none. Each worker has its own name.

        The lease lasts `lease_seconds`, by default as long as the setting says. Raises FrontierLost when Redis has lost
        the job.
        """
        while (claim := self.exchange((), (worker,), lease_seconds=lease_seconds).claims[0]) is None:
            pass
        return claim

    def finish(self, lease: Lease, outcome: VisitOutcome) -> LeaseEnding:
        """Finish a visit, and return what becomes of the URL. The links of the page must have been added before.

        After a temporary failure, the URL comes back later (`LeaseEnding.AGAIN`) until its retries are used up. A
        second call with the same lease returns the first answer. `LeaseEnding.STALE`, which is false, means that the
        lease had expired and nothing was changed.
        """
        return self.exchange(((lease, outcome),), ()).endings[0]

    def exchange(
        self,
        finished: Sequence[tuple[Lease, VisitOutcome]],
        workers: Sequence[str],
        *,
        lease_seconds: float | None = None,
    ) -> ExchangeAnswer:
        """Finish visits and claim a URL for each of these workers, in one step and one round trip.

        Each visit ends as by `finish`, and each claim is as by `claim`. A visit that ends counts when the claims are
        decided. At most `MOST_EXCHANGED` visits and as many claims are taken. Raises FrontierLost.
        """
        if max(len(finished), len(workers)) > MOST_EXCHANGED:
            raise ValueError(f"at most {MOST_EXCHANGED} visits are exchanged in one step")
        ended = [self._ended(lease, self._step(lease, outcome), outcome).packed() for lease, outcome in finished]
        rules, seconds = self.politeness, lease_seconds or self._settings.lease_seconds
        tokens = [secrets.token_hex(8) for _ in workers]
        wanted: list[str | int] = [round(seconds * 1000), rules.per_host, rules.max_retries, rules.skip_down]
        wanted += [part for pair in zip(workers, tokens, strict=True) for part in pair]
        if not workers:
            answers, answer = (self._store.run("finish", *ended) if ended else []), None
        elif not ended:
            answers, answer = [], self._store.run("claim", *wanted)
        else:
            answers, answer = self._store.run("exchange", len(ended), *ended, *wanted)
        endings = tuple(LeaseEnding(each.decode()) for each in answers)
        for (lease, _), ending in zip(finished, endings, strict=True):
            if not ending:
                logger.warning("job %s: the outcome of %s was dropped, since its lease is over", self.name, lease.url)
        if answer is None:
            return ExchangeAnswer(endings, ())
        return ExchangeAnswer(endings, *self._claims(answer, workers, tokens, seconds))

    def give_back(
        self, lease: Lease, reason: str, *, retry_after: float | None = None, counts: bool = True
    ) -> LeaseEnding:
        """Give a URL back because of a problem on our side. Return what becomes of it, as from `finish`.

        The URL rests as after a failure, and fails when its retries are used up. With `counts=False`, as when a worker
        is stopped, the URL is queued at once and this was no try. The host rests for its least delay, with the
        Crawl-Delay of its last visit, since this visit may have asked the host before it was broken off.
        """
        rules = self.politeness_of(lease.url)
        rest = delay_ms(0, rules)
        if not counts:
            step = Step(LeaseEnding.AGAIN, host_wait_ms=rest)
        else:
            again = LeaseEnding.AGAIN if lease.attempt <= rules.max_retries else LeaseEnding.FAILED
            step = Step(again, url_wait_ms=backoff_ms(lease.attempt, rules, retry_after), host_wait_ms=rest)
        ended = self._ended(lease, step, VisitOutcome(crawl_log.RUNTIME), counts=counts)
        ending = self._end(replace(ended, is_broken_off=True))
        logger.info("job %s: %s was given back (%s): %s", self.name, lease.url, reason, ending or "stale")
        return ending

    def visit_again(self, lease: Lease, outcome: VisitOutcome, seconds: float) -> LeaseEnding:
        """Finish a visit whose worker wants the URL back after `seconds`. This was no try, and the host rests."""
        rest = delay_ms(outcome.duration_ms, self.politeness_of(lease.url), outcome.crawl_delay_seconds)
        step = Step(LeaseEnding.AGAIN, url_wait_ms=round(seconds * 1000), host_wait_ms=rest)
        return self._end(self._ended(lease, step, outcome, counts=False))

    def renew(self, lease: Lease) -> bool:
        """Extend a lease to its full time from now. Return False when the lease is over."""
        return self._renew(lease)

    def note_delay(self, lease: Lease, crawl_delay_seconds: float | None) -> None:
        """Keep the delay of a host before the first visit ends. It holds after a visit that is broken off."""
        own_ms = self._own_delay_ms(self.politeness_of(lease.url), crawl_delay_seconds)
        if own_ms:
            self._renew(lease, own_ms)

    def _renew(self, lease: Lease, *own_delay_ms: int) -> bool:
        lease_ms = round(self._settings.lease_seconds * 1000)
        return bool(self._store.run("renew", lease.id, lease.token, lease.worker, lease_ms, lease.host, *own_delay_ms))

    def sweep(self, *, all_leases: bool = False) -> int:
        """Take back the expired leases, or some of all leases, and return their number. `claim` does the former."""
        rest = delay_ms(0, self.politeness) if all_leases else ""
        return int(self._store.run("sweep", self.politeness.max_retries, rest))

    def take_back(self, workers: str, *, counts: bool) -> int:
        """Take back the leases of workers whose names begin with `workers`, and return their number.

        With `counts` this was a try of each URL, as when the worker died. Without `counts` it was none, as when the
        command ended. The hosts rest as in `give_back`, since the visits may have asked them a moment ago.
        """
        rules = self.politeness
        taken = int(self._store.run("takeback", workers, rules.max_retries, int(counts), delay_ms(0, rules)))
        if taken:
            logger.info("job %s: %d leases of workers %s* were taken back", self.name, taken, workers)
        return taken

    def _end_rejected(self, rejected: Sequence[tuple[Lease, Rejected]]) -> None:
        """End and count leases of URLs that the scope rejects."""
        step, outcome = Step(LeaseEnding.EXCLUDED), VisitOutcome(crawl_log.OUT_OF_SCOPE, urls=0)
        try:
            self._store.run("finish", *(self._ended(lease, step, outcome).packed() for lease, _ in rejected))
            self.note_rejected([out for _, out in rejected])
        except FrontierUnavailable as error:  # the other leases are valid, and these expire
            logger.warning("job %s: URLs that are out of scope were not ended: %s", self.name, error)
        for lease, out in rejected:
            logger.info("job %s: %s is not visited: %s (%s)", self.name, lease.url, out.reason, out.rule)

    def _claims(
        self, answer: Sequence[Any], workers: Sequence[str], tokens: Sequence[str], seconds: float
    ) -> tuple[tuple[Claim | None, ...], tuple[tuple[Lease, Rejected], ...]]:
        """Return the claims in an answer, and the URLs that were rejected instead.

        The claim is None for a worker that has to claim again.
        """
        match answer[0]:
            case b"leases":
                return self._leases(answer, workers, tokens, seconds)
            case b"group":
                self.assign_groups(answer[1].decode(), [host.decode("utf-8", "replace") for host in answer[2]])
            case b"wake":
                self.wake_within_limits()
            case b"pause":
                return (Pause(min(answer[1] / 1000, LONGEST_PAUSE), answer[2].decode()),) * len(workers), ()
            case b"stopped":
                return (JobStopped(answer[1].decode("utf-8", "replace")),) * len(workers), ()
            case _:
                return (JobFinished(),) * len(workers), ()
        return (None,) * len(workers), ()

    def _leases(
        self, answer: Sequence[Any], workers: Sequence[str], tokens: Sequence[str], seconds: float
    ) -> tuple[tuple[Claim | None, ...], tuple[tuple[Lease, Rejected], ...]]:
        """Return the leases in an answer, without those that the scope rejects by now, and the latter."""
        found: list[Claim | None] = [None] * len(workers)
        leases: list[Lease] = []
        for number, *given in answer[1]:
            try:
                found[number - 1] = lease = self._lease(given, workers[number - 1], tokens[number - 1], seconds)
                if lease is not None:
                    leases.append(lease)
            except FrontierUnavailable as error:  # the other leases are valid, and this one expires
                logger.warning("job %s: a URL was not ended: %s", self.name, error)
        decisions = self.rejecting_queued(leases, answer[-1])
        if not any(decisions):
            return tuple(found), ()
        rejected = tuple((lease, out) for lease, out in zip(leases, decisions, strict=True) if out is not None)
        self._end_rejected(rejected)
        ended = {lease.token for lease, _ in rejected}
        return tuple(None if isinstance(each, Lease) and each.token in ended else each for each in found), rejected

    def _lease(self, answer: Sequence[Any], worker: str, token: str, seconds: float) -> Lease | None:
        """Return the lease in an answer; None, after the URL failed, when its record is damaged."""
        id, record, tries, failures = answer[0].decode(), answer[1], int(answer[2]), int(answer[3])
        candidate = unpack(record)
        if candidate is None:
            logger.error("job %s: the record %r of URL %s is damaged; the URL failed", self.name, record[:200], id)
            host = record.partition(b"\n")[0].decode("utf-8", "replace")
            ended = EndedVisit(id, token, worker, host, LeaseEnding.FAILED, str(crawl_log.RUNTIME))
            self._store.run("finish", ended.packed())
            return None
        return leased(
            candidate,
            id=id,
            token=token,
            worker=worker,
            tries=tries,
            failures=failures,
            lost=int(answer[4]),
            seconds=seconds,
            history=answer[5].decode("utf-8", "replace"),
        )

    def _step(self, lease: Lease, outcome: VisitOutcome) -> Step:
        rules = self.politeness_of(lease.url)
        return next_step(outcome, rules, attempt=lease.attempt, host_failures=lease.host_failures)

    def _end(self, ended: EndedVisit) -> LeaseEnding:
        return LeaseEnding(self._store.run("finish", ended.packed())[0].decode())

    def _ended(self, lease: Lease, step: Step, outcome: VisitOutcome, *, counts: bool = True) -> EndedVisit:
        history = self._history_after(lease, step.ending, outcome)
        rules = self.politeness_of(lease.url)
        return EndedVisit(
            lease.id,
            lease.token,
            lease.worker,
            lease.host,
            step.ending,
            str(outcome.code),
            url_wait_ms=step.url_wait_ms,
            host_wait_ms=step.host_wait_ms,
            host_failed=step.host_failed,
            own_delay_ms=self._own_delay_ms(rules, outcome.crawl_delay_seconds),
            is_try=counts,
            most_failures=rules.host_failures,
            session_budget=rules.session_budget,
            bytes=outcome.bytes,
            is_document=outcome.is_document,
            urls=outcome.urls,
            seed=f"{step.ending}\n{outcome.code}\n{outcome.redirect or ''}\n{lease.url}" if lease.is_seed else "",
            fetched=self._fetched_by_render(outcome),
            revisit=history.packed() if history is not None else "",
            revisit_ms=1000 * history.interval_seconds if history is not None else 0,
            spender=self._spender(lease),
            duration_ms=outcome.duration_ms,
        )

    def _own_delay_ms(self, rules: Politeness, crawl_delay_seconds: float | None) -> int:
        """Return the least delay of a host after a visit; 0 when it is as long as that of the job."""
        if rules is self.politeness and not crawl_delay_seconds:
            return 0
        least = delay_ms(0, rules, crawl_delay_seconds)
        return least if least > delay_ms(0, self.politeness) else 0

    def _history_after(self, lease: Lease, ending: LeaseEnding, outcome: VisitOutcome) -> RevisitHistory | None:
        """Return the history of a URL that is to be visited again; None for any other URL."""
        return None

    @abstractmethod
    def _spender(self, lease: Lease) -> Sequence[str]:
        """Return the domain and the seed whose quotas the visit counts for; nothing in a job without quotas."""

    def _fetched_by_render(self, outcome: VisitOutcome) -> Sequence[str]:
        """Return the ids of the URLs that a render fetched."""
        return ()
