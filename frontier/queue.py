"""The frontier of one job: add, claim, finish, give back. Every step is one script in Redis (`store.py`, `*.lua`).

Order that loses nothing: a worker adds the links of a page first and finishes the visit after that. When it dies in
between, the page is visited again. A worker whose lease ran out and was given to another can change nothing.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterable, Sequence
from itertools import batched
from typing import Any, Final, Self

from archive.sections import FrontierSettings
from archive.url import host_of
from frontier.choice import at_most, noted
from frontier.control import Controls
from frontier.job import Job, JobError, Limits
from frontier.lease import Claim, Finished, Lease, Pause, Stopped
from frontier.politeness import RUNTIME_FAILURE, Ending, Outcome, Politeness, Step, backoff_ms, next_step
from frontier.record import finish_arguments, leased, pack, place, unpack
from frontier.reports import Reports
from frontier.resume import resumed
from frontier.robots import Robots
from frontier.scope import Accepted, Candidate, Decision, Rejected, Scope
from frontier.seen import fingerprint
from frontier.shelf import RobotsShelf
from frontier.store import FrontierLost, Store

logger = logging.getLogger(__name__)

LONGEST_PAUSE: Final = 1.0
"""Seconds after which a worker asks again at the latest: links of others, or an operator, may bring work sooner."""
_CHUNK: Final = 500


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
        raises JobError. A finished job asked for with such a change starts over. What was stopped goes on; what was
        paused stays paused.
        """
        while True:
            with self._store.guarded():
                stored = self._store.client.get(self._store.root)
            job = self._resumable(stored) if stored else None
            self._use(job or self.job)
            before = stored if job else b""
            if self._store.run("open", before, self.job.model_dump_json(), *_limits(self.job.profile.limits)):
                break
        for host in [host for host, why in self.hosts_aside().items() if why == "limit-host-pages"]:
            self.wake_host(host)
        for decision in self.add(Candidate(seed.url, source=seed.url, is_seed=True) for seed in self.job.seeds):
            if isinstance(decision, Rejected) and decision.reason != "seen":
                seed = decision.candidate.url
                logger.warning("job %s: seed %s rejected: %s (%s)", self.job.name, seed, decision.reason, decision.rule)
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
        candidates = list(candidates)
        for seed in (candidate for candidate in candidates if candidate.is_seed and candidate.hop_path):
            if isinstance(decision := self._scope.decide(seed), Accepted):
                self.follow_seed(decision.candidate.url)
        decisions = [self._scope.decide(candidate) for candidate in candidates]
        if lease is not None:
            decisions = at_most(decisions, self.job.profile.max_links)
        wanted = [number for number, decision in enumerate(decisions) if isinstance(decision, Accepted)]
        for chunk in batched(wanted, _CHUNK):
            answers = self._add_chunk([decisions[number].candidate for number in chunk], lease)
            if not answers:
                logger.warning("job %s: links of %s refused, its lease is over", self.job.name, lease and lease.url)
                return []
            for number, is_new in zip(chunk, answers, strict=True):
                if not is_new:
                    decisions[number] = Rejected(decisions[number].candidate, "seen")
        if note := noted(decisions):
            self._store.run("reject", *note)
        return decisions

    def follow_seed(self, url: str) -> None:
        """Take in what this canonical URL spans, too: a seed's redirect led there."""
        if self._scope.covers(url) is None:
            with self._store.guarded():
                length = self._store.client.rpush(self._store.key("scope"), url)
                self._store.client.hset(self._store.key("state"), "scope", length)
            self._scope.widen([url])
            logger.info("job %s: scope widened to %s, where a seed redirects to", self.job.name, url)

    def mark_seen(self, urls: Iterable[str]) -> None:
        """Take these canonical URLs for visited, as those that a page's visit fetched along with it."""
        for chunk in batched(urls, _CHUNK):
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
                    if (lease := self._lease(answer, worker, token)) is not None:
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
        ending = self._end(lease, step, outcome)
        if not ending:
            logger.warning("job %s: outcome of %s refused, its lease is over", self.job.name, lease.url)
        return ending

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

    @property
    def obeys_robots(self) -> bool:
        """Whether robots.txt decides in this job."""
        return (self.job.profile.robots or self._settings.robots) == "obey"

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
        self._store.drop()

    def close(self) -> None:
        """Close the connections to Redis."""
        self._store.client.close()

    def _use(self, job: Job) -> None:
        self.job = job
        self.politeness = Politeness.of(self._settings, job.profile.politeness)
        self._scope = Scope(job)
        self._scope_known, self._scope_length = 0, -1

    def _resumable(self, stored: bytes) -> Job | None:
        """The job to go on with; None when it finished and what is asked for differs, so that it starts over."""
        try:
            return resumed(Job.model_validate_json(stored), self.job)
        except JobError:
            progress = self.progress()
            if progress.queued or progress.leased:
                raise
        self.forget()
        return None

    def _learn_scope(self) -> None:
        """Take in the further seeds that other workers found since the last look."""
        if self._scope_length != self._scope_known:
            with self._store.guarded():
                further = self._store.client.lrange(self._store.key("scope"), self._scope_known, -1)
            self._scope.widen(url.decode() for url in further)
            self._scope_known = self._scope_length = self._scope_known + len(further)

    def _add_chunk(self, candidates: Sequence[Candidate], lease: Lease | None) -> list[int]:
        arguments: list[str | int] = [lease.id, lease.token, lease.worker] if lease else ["", "", ""]
        for candidate in candidates:
            mark = fingerprint(candidate.url)
            is_own_seed = candidate.is_seed and not candidate.hop_path
            arguments += [mark.id, mark.bucket, host_of(candidate.url), place(candidate), pack(candidate)]
            arguments += [int(candidate.force), candidate.url if is_own_seed else ""]
        return list(self._store.run("add", *arguments))

    def _lease(self, answer: Sequence[Any], worker: str, token: str) -> Lease | None:
        """The lease in an answer; None, with the URL failed, when its record can't be read."""
        id, record, tries, failures = answer[1].decode(), answer[2], int(answer[3]), int(answer[4])
        candidate = unpack(record)
        if candidate is None:
            logger.error("job %s: damaged record %r of URL %s set aside as failed", self.job.name, record[:200], id)
            host = record.partition(b"\n")[0].decode("utf-8", "replace")
            step = Step(Ending.FAILED)
            self._store.run("finish", *finish_arguments(id, token, worker, host, step, RUNTIME_FAILURE))
            return None
        return leased(
            candidate,
            id=id,
            token=token,
            worker=worker,
            tries=tries,
            failures=failures,
            seconds=self._settings.lease_seconds,
        )

    def _end(self, lease: Lease, step: Step, outcome: Outcome, *, counts: bool = True) -> Ending:
        arguments = finish_arguments(
            lease.id,
            lease.token,
            lease.worker,
            lease.host,
            step,
            outcome.code,
            bytes=outcome.bytes,
            counts=counts,
            most_failures=self.politeness.host_failures,
            seed=f"{step.ending}\n{outcome.code}\n{outcome.redirect or ''}\n{lease.url}" if lease.is_seed else "",
        )
        return Ending(self._store.run("finish", *arguments).decode())


def _limits(limits: Limits) -> list[str | int | float]:
    named = limits.model_dump().items()
    return [text for name, value in named for text in (name, "" if value is None else value)]
