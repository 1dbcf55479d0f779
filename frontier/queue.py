"""The frontier of one job: add, claim, finish, give back. Every step is one script in Redis (`store.py`, `*.lua`).

Order that loses nothing: a worker adds the links of a page first and finishes the visit after that. When it dies in
between, the page is visited again. A worker whose lease ran out and was given to another can change nothing.
"""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import batched
from typing import Final, Self

from archive.capture import compact_json
from archive.settings import FrontierSettings
from frontier.control import Controls
from frontier.job import Job, JobError, Limits
from frontier.lease import Claim, Finished, Lease, Pause, Stopped
from frontier.politeness import RUNTIME_FAILURE, Ending, Outcome, Politeness, Step, backoff_ms, next_step
from frontier.record import host_key, leased, pack, place, unpack
from frontier.reports import Reports
from frontier.resume import resumed
from frontier.robots import Robots
from frontier.scope import Accepted, Candidate, Decision, Rejected, Scope
from frontier.seen import BUCKETS, fingerprint
from frontier.shelf import RobotsShelf
from frontier.store import FrontierLost, Store

logger = logging.getLogger(__name__)

LONGEST_PAUSE: Final = 1.0
"""Seconds after which a worker asks again at the latest: links of others, or an operator, may bring work sooner."""
_CHUNK: Final = 500
_SHOWN_URL: Final = 2000


class Frontier(Controls, Reports):
    """What one job visits next. Safe to share between threads; any number of processes may work on one job."""

    def __init__(self, redis_url: str, job: Job, settings: FrontierSettings, *, timeout_seconds: float = 5) -> None:
        self._store = Store(redis_url, settings.shard, job.name, timeout_seconds=timeout_seconds)
        self._settings = settings
        self._use(job)
        self._shelf = RobotsShelf(self._store, settings.robots_seconds)

    @classmethod
    def of(cls, redis_url: str, name: str, settings: FrontierSettings, *, timeout_seconds: float = 5) -> Self:
        """The frontier of a job that was opened elsewhere. Raises FrontierLost when there is no such job."""
        store = Store(redis_url, settings.shard, name, timeout_seconds=timeout_seconds)
        with store.guarded():
            stored = store.client.get(store.root)
            store.client.close()
        if stored is None:
            raise FrontierLost(f"no job {name} in the frontier; open it first")
        return cls(redis_url, Job.model_validate_json(stored), settings, timeout_seconds=timeout_seconds)

    def open_job(self) -> bool:
        """Make the job and queue its seeds, or resume it; True when it was there already.

        An unfinished job may be asked for again with more seeds, higher limits or other politeness; any other change
        raises JobError. A finished job asked for with such a change starts over.
        """
        while True:
            with self._store.guarded():
                stored = self._store.client.get(self._store.root)
            job = self._resumable(stored)
            before = stored if job and stored else b""
            self._use(job or self.job)
            if self._store.run("open", before, self.job.model_dump_json(), *_limits(self.job.profile.limits)):
                break
        self._wake_below_limit()
        self.add(Candidate(seed.url, source=seed.url, is_seed=True) for seed in self.job.seeds)
        with self._store.guarded():
            self._store.client.hdel(self._store.key("state"), "opening")
        logger.info("job %s %s with %d seeds", self.job.name, "resumed" if before else "opened", len(self.job.seeds))
        return bool(before)

    def add(self, candidates: Iterable[Candidate], lease: Lease | None = None) -> list[Decision]:
        """Take in what is in scope and new; what became of each candidate, in order.

        With the lease of the visit that found them, at most `max_links` are taken, and none when the lease is
        another's by now: then the list is empty.
        """
        self._learn_scope()
        decisions = [self._scope.decide(candidate) for candidate in candidates]
        if lease is not None:
            decisions = _first(decisions, self.job.profile.max_links)
        places = [number for number, decision in enumerate(decisions) if isinstance(decision, Accepted)]
        for chunk in batched(places, _CHUNK, strict=False):
            answers = self._add_chunk([decisions[number].candidate for number in chunk], lease)
            if not answers:
                logger.warning("job %s: links of %s refused, its lease is over", self.job.name, lease and lease.url)
                return []
            for number, is_new in zip(chunk, answers, strict=True):
                if not is_new:
                    decisions[number] = Rejected(decisions[number].candidate, "seen")
        self._note_rejected([decision for decision in decisions if isinstance(decision, Rejected)])
        return decisions

    def mark_seen(self, urls: Iterable[str]) -> None:
        """Take these canonical URLs for visited, as those that a page's visit fetched along with it."""
        for chunk in batched(urls, _CHUNK, strict=False):
            with self._store.guarded():
                pipeline = self._store.client.pipeline(transaction=False)
                for url in chunk:
                    mark = fingerprint(url)
                    pipeline.sadd(self._store.key(f"seen:{mark.bucket}"), mark.id)
                pipeline.execute()

    def claim(self, worker: str) -> Claim:
        """The next URL for this worker, or why there is none now or ever. `worker` is a name of its own.

        Raises FrontierLost rather than answer Finished when Redis has lost the job.
        """
        token, rules = secrets.token_hex(8), self.politeness
        lease_ms = round(self._settings.lease_seconds * 1000)
        while True:
            answer = self._store.run("claim", worker, token, lease_ms, rules.per_host, rules.max_retries)
            self._scope_length = answer[-1]
            match answer[0]:
                case b"lease":
                    lease = self._lease(answer, worker, token)
                    if lease is not None:
                        return lease
                    token = secrets.token_hex(8)
                case b"pause":
                    return Pause(min(answer[1] / 1000, LONGEST_PAUSE), answer[2].decode())
                case b"stopped":
                    return Stopped(answer[1].decode("utf-8", "replace"))
                case _:
                    return Finished()

    def finish(self, lease: Lease, outcome: Outcome) -> Ending:
        """Tell what a visit came to; what becomes of the URL. Links it found must have been added before.

        A failure that may pass brings the URL back later (`Ending.AGAIN`), until its retries are used up. Said
        twice, the first answer is given again. `Ending.STALE`, which is false, means that the lease ran out and the
        URL was given to another: nothing changed.
        """
        step = next_step(outcome, self.politeness, attempt=lease.attempt, host_failures=lease.host_failures)
        return self._end(lease, step, outcome)

    def give_back(self, lease: Lease, reason: str, *, retry_after: float | None = None, counts: bool = True) -> Ending:
        """Put a URL back for trouble of our own; what becomes of it, as from `finish`.

        It rests as after a failure, and fails when its retries are used up; with `counts=False`, as when a worker
        is stopped, it is queued again at once and this was no try.
        """
        rules = self.politeness
        if not counts:
            step = Step(Ending.AGAIN)
        else:
            again = Ending.AGAIN if lease.attempt <= rules.max_retries else Ending.FAILED
            step = Step(again, url_wait_ms=backoff_ms(lease.attempt, rules, retry_after))
        ending = self._end(lease, step, Outcome(RUNTIME_FAILURE), counts=counts)
        logger.info("job %s: %s given back (%s): %s", self.job.name, lease.url, reason, ending or "stale")
        return ending

    def renew(self, lease: Lease) -> bool:
        """Let a lease last its full time from now; False when it is over and the visit is in vain."""
        lease_ms = round(self._settings.lease_seconds * 1000)
        return bool(self._store.run("renew", lease.id, lease.token, lease.worker, lease_ms))

    def sweep(self) -> int:
        """Take back the leases that ran out; how many. `claim` does the same on its way."""
        return int(self._store.run("sweep", self.politeness.max_retries, 0))

    def robots(self, url: str) -> Robots | None:
        """The robots.txt that governs a URL; None when it must be fetched first, through the proxy."""
        return self._shelf.get(url)

    def set_robots(self, url: str, status: int, body: bytes = b"") -> Robots:
        """Keep what /robots.txt of this URL's site answered, for all workers; what it means."""
        return self._shelf.put(url, status, body)

    def forget(self) -> None:
        """Drop everything of the job from Redis, its seen set too. Leases that are out become stale."""
        while self._store.run("sweep", self.politeness.max_retries, 1):
            pass
        store = self._store
        with store.guarded():
            names = [name.decode() for kind in ("ready", "aside") for name in _hosts(store, kind)]
            store.client.unlink(store.root)
            buckets = (store.key(f"seen:{number}") for number in range(BUCKETS))
            for chunk in batched((*_keys(store), *(store.key(f"q:{name}") for name in names), *buckets), 1000, strict=False):
                store.client.unlink(*chunk)

    def close(self) -> None:
        """Close the connections to Redis."""
        self._store.client.close()
