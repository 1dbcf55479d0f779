"""The frontier of one job adds, claims, finishes and gives back URLs. Each step is one script in Redis (`store.py`).

A worker adds the links of a page first and finishes the visit then. When the worker dies in between, the page is
visited again, and no link is lost. A worker whose lease expired can change nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from itertools import batched
from pathlib import Path
from threading import Lock
from typing import Any, Final, Self

import regex

from archive import crawl_log
from archive.dates import now_micros
from archive.settings import FrontierSettings
from archive.url import host_of
from frontier.control import Controls
from frontier.definition.edits import (
    ProfileEdit,
    check_meaning,
    edited,
    edits_between,
    has_other_scope,
    keys_of,
    with_edits,
)
from frontier.definition.groups import GroupList
from frontier.definition.job import Job, JobError, Limits, Profile, RevisitRules, Seed
from frontier.definition.networks import without_port
from frontier.definition.quotas import QuotaOwner, packed, read_quotas
from frontier.definition.resume import resumed
from frontier.definition.revisit import REVISIT_KEYS, RevisitHistory, after_visit, rules_with
from frontier.definition.rules.kinds import FetchedAnswer, KnownFacts
from frontier.definition.rules.list_files import ListFileError
from frontier.definition.scope import (
    SCOPE_KEYS,
    Accepted,
    Candidate,
    Priority,
    Rejected,
    Scope,
    ScopeDecision,
    registered_domain,
)
from frontier.definition.seeds import SeedFile
from frontier.groups import GroupBook, groups_of
from frontier.lease import Lease
from frontier.lease_queue import LeaseQueue
from frontier.links.log import LinkLog
from frontier.links.memory import LinkMemory, not_new, recalled
from frontier.links.rejections import SHOWN_URL, limited, rejected_seeds, rejection_arguments
from frontier.missing_pages import MissingPageAnswers
from frontier.name_lookups import NameLookups
from frontier.outside_queues import OutsideQueues
from frontier.packing import candidate_of, pack, queue_score
from frontier.politeness import POLITE_KEYS, LeaseEnding, Politeness, VisitOutcome
from frontier.queues.desk import QueueDesk
from frontier.renders import RenderQueue
from frontier.reports import Reports
from frontier.robots.rules import Robots
from frontier.robots.store import RobotsStore
from frontier.seed_prefixes import WIDER, StoredPrefixes
from frontier.segments.registry import SegmentRegistry
from frontier.segments.spiller import QueueSpiller, drop_segments
from frontier.store import FrontierLost, FrontierUnavailable, ScriptArgument, Store

logger = logging.getLogger(__name__)

_CHUNK: Final = 500
_PREFIX_CHUNK: Final = 5_000
_LAST_TURN: Final = 10**12
"""Hosts of seeds that wait for their first visit have their turns in `ready`, and all other hosts have times."""
_MOST_DOMAINS: Final = 100_000
"""The cookies of so many domains are kept."""
_EDITED: Final = "="
"""An entry of the list of changes of the scope that begins so says that the profile of the job was edited."""
_EDITED_SCOPE: Final = "=scope"
"""The edit was one of the scope, which may reject queued URLs now."""
_REJECT: Final = "!"
"""An entry of the list of changes of the scope that begins so is a pattern that an operator rejects."""


class Queued(Enum):
    """The links of a page were queued, or why they were not."""

    DONE = auto()
    LEASE_OVER = auto()
    """The lease is over, or the job has ended its work."""
    CHANGED = auto()
    """The scope was edited, or URLs are no longer seen, since the memory of links was begun."""
    OPENED_ANEW = auto()
    """The job was opened, or another server of Redis has it, since the memory of links was begun."""


class Frontier(LeaseQueue):
    """The frontier hands out the URLs of one job. It is safe to share between threads.

    Any number of processes may work on one job. `renders` is the queue of the job's renders. `controls` has the
    commands of operators, `reports` the progress, `desk` the queues for operators, and `missing_pages` how sites answer
    to URLs that do not exist. `outside` shows single queues and leases to other programs.
    """

    def __init__(self, redis_url: str, job: Job, settings: FrontierSettings, *, timeout_seconds: float = 5) -> None:
        self._set_up(job, Store(redis_url, settings.shard, job.name, timeout_seconds=timeout_seconds), settings)

    def _set_up(self, job: Job, store: Store, settings: FrontierSettings) -> None:
        """Make the parts of the frontier, all on one store."""
        super().__init__(job.name, store, settings)
        self.controls = Controls(self._store)
        self.segments = SegmentRegistry(self._store)
        self.desk = QueueDesk(self._store, self.segments)
        self.reports = Reports(self._store, self.segments)
        self._lookups = NameLookups()
        self._groups = GroupBook(self._store, self._lookups)
        self._has_claimed = False
        """Claims tell this process of changes of the scope. A process without claims asks Redis each time."""
        self._learning = Lock()
        """One thread at a time reads the changes of the scope, so that none is passed over."""
        self._use(job)
        self.renders = RenderQueue(self, store, settings)
        self._robots = RobotsStore(self._store, settings.robots_seconds)
        self.missing_pages = MissingPageAnswers(self._store)
        self.outside = OutsideQueues(self._store)
        self.link_log: LinkLog | None = None
        """Rejected links are written here; None where nobody asked for it."""

    @classmethod
    def of(cls, redis_url: str, name: str, settings: FrontierSettings, *, timeout_seconds: float = 5) -> Self:
        """Return the frontier of a job that was opened elsewhere. Raises FrontierLost when there is no such job."""
        store = Store(redis_url, settings.shard, name, timeout_seconds=timeout_seconds)
        with store.guarded():
            stored = store.client.get(store.root)
            shards = store.shards() if stored is not None else 1
            store.client.close()
        if stored is None:
            raise FrontierLost(f"Redis has no job {name}; start it with ghostfleet crawl --job {name}")
        check_shards(name, shards, settings.shards)
        return cls(redis_url, Job.model_validate_json(stored), settings, timeout_seconds=timeout_seconds)

    def open_job(self, *, lists: Path | None = None) -> bool:
        """Open the job and queue its seeds, or resume it. Return whether the job existed.

        `lists` is the folder of the list files that the profile's queue groups name.

        An unfinished job may be opened with more seeds, higher limits or other politeness; any other change raises
        JobError. A finished job that is opened with such a change starts over. A stopped job continues, and a paused
        job stays paused.
        """
        was_there = self.begin_job(lists=lists)
        self.queue_seeds()
        return was_there

    def check_opening(self, *, lists: Path | None = None) -> None:
        """Raise JobError when the job can't be opened with its list files, or beside the other jobs. Change nothing."""
        self.load_lists()
        groups_of(self.job.profile.groups, lists)
        with self._store.guarded():
            stored = self._store.client.get(self._store.root)
        self._run_open(stored or b"", "")

    def begin_job(self, *, lists: Path | None = None, told: Callable[[int], None] = lambda _: None) -> bool:
        """Open the job as `open_job` does, store the scope of its seeds and mark them as seen, but queue none of them.

        From now on, workers get URLs, but the job does not finish before `queue_seeds` has returned. `told` is called
        with the number of seeds that were read so far.
        """
        asked = self.job
        self.load_lists()
        while True:
            with self._store.guarded():
                stored = self._store.client.get(self._store.root)
            if not stored:
                self._store.finish_drop()
            else:
                check_shards(self.job.name, self._store.shards(), self._settings.shards)
            job = self._resumable(stored, asked) if stored else None
            self._use(job or asked)
            groups = groups_of(self.job.profile.groups, lists)
            before = stored if job else b""
            state = [*_limits(self.job.profile), "revisit", int(self.visits_again) or ""]
            if self._open(before, state):
                break
        self._put_groups(groups)
        self.wake_within_limits()
        if before:
            self._scope.widen(self._former_widenings())
        for number, seeds in self._seeds_after("scoped", _PREFIX_CHUNK):
            self._scope.widen(seeds)
            self.mark_seen(seeds)  # else a page could queue a seed as a link before the seed's turn
            self._note_seeds("scoped", number)
            told(number)
        with self._store.guarded():
            self._store.client.hdel(self._store.key("state"), "opening")
        self.share_counts()
        logger.info("job %s was %s", self.job.name, "resumed" if before else "opened")
        return bool(before)

    def queue_seeds(
        self, *, told: Callable[[int], None] = lambda _: None, is_stopped: Callable[[], bool] = lambda: False
    ) -> bool:
        """Queue the seeds of the job that are not queued yet, in their order. Return False when `is_stopped` said so.

        `told` is called with the number of seeds that were queued so far. A killed process loses its place by a few
        hundred seeds, and no seed is queued twice.
        """
        for number, seeds in self._seeds_after("seeded", _CHUNK):
            if is_stopped():
                return False
            self._queue_seeds(seeds)
            self._note_seeds("seeded", number)
            told(number)
        for urls in batched(self.added_seeds(0), _CHUNK):
            self._queue_seeds(urls)
        with self._store.guarded():
            self._store.client.hdel(self._store.key("state"), "seeding")
        return True

    def unvisited_seed_hosts(self) -> int:
        """Return how many hosts wait since seeds of the job's file were queued, without a visit of a host so far.

        The hosts that wait for a higher limit of pages are counted, too.
        """
        with self._store.guarded():
            pipeline = self._store.client.pipeline(transaction=False)
            pipeline.zcount(self._store.key("ready"), "-inf", _LAST_TURN)
            pipeline.scard(self._store.key("beyond"))
            return sum(map(int, pipeline.execute()))

    def seeds_queued(self) -> int:
        """Return how many seeds of the job's file are queued."""
        with self._store.guarded():
            return int(self._store.client.hget(self._store.key("state"), "seeded") or 0)

    def add(
        self, candidates: Iterable[Candidate], lease: Lease | None = None, *, from_outside: bool = False
    ) -> list[ScopeDecision]:
        """Add the candidates that are in scope and new. Return a decision for each candidate, in order.

        `lease` belongs to the visit that found the candidates. With it, at most `max_links` are added. When the lease
        is over, nothing is added, and the list is empty. `from_outside` is for candidates of other programs: when the
        job has ended its work, the list is empty.
        """
        self._learn_scope()
        candidates = list(candidates)
        while True:
            # The redirect of a seed widens the scope, so that it is decided before the other candidates.
            redirected = {
                number: self._scope.decide(candidate)
                for number, candidate in enumerate(candidates)
                if candidate.is_seed and candidate.hop_path
            }
            for decision in redirected.values():
                if isinstance(decision, Accepted):
                    self.follow_seed(decision.candidate.url)
            memory = self._memory  # another thread may put an empty one in its place
            keys = memory.keys_of(candidates)
            known = [memory.answer(key) for key in keys] if memory.stamp else [None] * len(keys)
            decisions: list[ScopeDecision] = [
                recalled(candidate, answer) if answer else redirected.get(number) or self._scope.decide(candidate)
                for number, (candidate, answer) in enumerate(zip(candidates, known, strict=True))
            ]
            if lease is not None:
                decisions = limited(decisions, self.max_links(lease.url))
            match self._queued(decisions, lease, memory, "operator" if from_outside else ""):
                case Queued.DONE:
                    memory.keep([None if answer else key for key, answer in zip(keys, known, strict=True)], decisions)
                    return decisions
                case Queued.LEASE_OVER:
                    return []
                case Queued.CHANGED:
                    self._forget_links()
                    self._scope_length = -1
                    self._learn_scope()
                case Queued.OPENED_ANEW:
                    self._read_scope_again()

    def add_seeds(self, seeds: Sequence[Seed], *, again: bool = False) -> list[ScopeDecision]:
        """Add seeds to a running job, for all its workers and later runs. Return a decision for each seed.

        A URL that was seen before is rejected as `seen`, unless `again` is set. The list is empty when the job has
        ended its work and its workers are leaving. Raises FrontierLost when the job is gone.
        """
        candidates = [Candidate(seed.url, source=seed.url, is_seed=True, force=again) for seed in seeds]
        self._amend(lambda job: job)  # a job that is gone gets no keys
        self._learn_scope()
        decisions = [self._scope.decide(candidate) for candidate in candidates]
        wanted = [number for number, decision in enumerate(decisions) if isinstance(decision, Accepted)]
        self._widen(decisions[number].candidate.url for number in wanted)
        # A seed that waits in the file was marked as seen, and is queued now as if its turn had come.
        worker = "seeds" if self._has_waiting_seeds() else "operator"
        for chunk in batched(wanted, _CHUNK):
            # The list comes first, so that a job that has just finished has the seeds when it is opened again.
            with self._store.guarded():
                self._store.client.rpush(self._store.key("added"), *(seeds[number].url for number in chunk))
            answers = self._add_chunk([decisions[number].candidate for number in chunk], worker=worker)
            if not answers:
                return []
            for number, answer in zip(chunk, answers, strict=True):
                decisions[number] = not_new(decisions[number].candidate, answer) or decisions[number]
        logger.info("job %s: %d of %d seeds were added to the running job", self.job.name, len(wanted), len(seeds))
        return decisions

    def add_urls(self, candidates: Sequence[Candidate]) -> list[ScopeDecision]:
        """Add URLs of an operator that are in scope, without widening the scope. Return a decision for each URL.

        A URL that was seen before is rejected as `seen`, unless its candidate has `force`. The list is empty when the
        job has ended its work. Raises FrontierLost when the job is gone.
        """
        decisions = self.decide(candidates, len(candidates))
        wanted = [number for number, decision in enumerate(decisions) if isinstance(decision, Accepted)]
        for chunk in batched(wanted, _CHUNK):
            answers = self._add_chunk([decisions[number].candidate for number in chunk], worker="operator")
            if not answers:
                return []
            for number, answer in zip(chunk, answers, strict=True):
                decisions[number] = not_new(decisions[number].candidate, answer) or decisions[number]
        return decisions

    def set_limits(self, changes: Mapping[str, float | None], *, by: str = "") -> Limits:
        """Change limits of the running job, for all its workers from their next claim on; None removes a limit.

        Return the limits that are in force now. Raises JobError, and FrontierLost when the job is gone.
        """

        self.edit({"limits": dict(changes)}, by=by)
        logger.info("job %s: limits are now %s", self.job.name, self.job.profile.limits.model_dump(exclude_none=True))
        return self.job.profile.limits

    def edit(self, values: Mapping[str, Any], *, by: str = "", lists: Path | None = None) -> list[ProfileEdit]:
        """Change keys of the profile of the running job, for all its workers from their next claim on.

        `values` are nested as in a profile file; the key of a list may end with `+` or `-`, which adds or removes
        lines. `lists` is the folder of the list files of queue groups. Return the edits, which the job keeps and has
        after a restart. Queued URLs that a narrower scope rejects are ended when their turn comes. Links that were
        rejected before are not taken back. Raises ProfileEditRefused or another JobError, which changes nothing, and
        FrontierLost when the job is gone.
        """
        keys = keys_of(values)

        def changed(job: Job) -> Job:
            profile = edited(job.profile, values)
            check_meaning(profile, keys.intersection(SCOPE_KEYS))
            if "groups" in keys:
                groups_of(profile.groups, lists)
            _check_visitors(job.profile, profile)
            return job.model_copy(update={"profile": profile})

        edits = self._amend(changed, by=by)
        if "groups" in keys:
            self._put_groups(groups_of(self.job.profile.groups, lists))
        if {edit.key for edit in edits} & {"quotas", "limits.host_pages"}:
            self.wake_within_limits()
        for edit in edits:
            logger.info("job %s: %s was edited by %s", self.job.name, edit.key, by or "an operator")
        return edits

    def edits(self) -> list[ProfileEdit]:
        """Return the edits of the job's profile, in order."""
        with self._store.guarded():
            found = self._store.client.lrange(self._store.key("edits"), 0, -1)
        return [ProfileEdit.unpacked(text) for text in found]

    def set_groups(self, lines: Sequence[str], *, lists: Path | None = None, by: str = "") -> GroupList:
        """Replace the queue groups of the running job, for all its workers from their next claim on.

        `lines` are as in the profile, and `lists` is the folder of the list files. Return the groups that are in force
        now. Raises JobError, and FrontierLost when the job is gone.
        """
        self.edit({"groups": tuple(lines)}, by=by, lists=lists)
        return groups_of(lines, lists)

    def note_new_bytes(self, amounts: Mapping[tuple[QuotaOwner, str], int]) -> None:
        """Store how many new bytes each owner of such a quota has got so far: the job (''), a domain, host or seed."""
        arguments: list[str | int] = []
        for (owner, name), amount in amounts.items():
            arguments += [f"{owner}\n{name}", "new_bytes", amount]
        for chunk in batched(arguments, 3 * _CHUNK):
            self._store.run("used", *chunk)

    def spender_of(self, lease: Lease) -> Sequence[str]:
        """Return the domain and the seed whose quotas a visit counts for; nothing in a job without quotas."""
        if not self.job.profile.quotas:
            return ()
        return registered_domain(without_port(lease.host)), lease.source or ""

    def assign_groups(self, version: str, hosts: Sequence[str]) -> None:
        """Look up the queue groups of these hosts, and store them for all workers."""
        self._groups.assign(version, hosts)

    def wake_within_limits(self) -> None:
        """Take back the hosts and URLs whose limits and quotas are not reached any more.

        The steps are in Redis. When this process ends or Redis fails in between, the next claim of any worker goes on.
        """
        while self._store.run("wake", _CHUNK):
            pass

    def visit_now(self, urls: Sequence[str]) -> list[tuple[ScopeDecision, int]]:
        """Visit these canonical URLs of the running job before all others, also those that were visited before.

        Return for each a decision, and 1 if it is queued, 2 if it was queued and comes earlier now, 0 if it is being
        visited at this moment. The list is empty when the job has ended its work.
        """
        self._learn_scope()
        given = [Candidate(url, priority=Priority.HIGH, source=url, force=True) for url in urls]
        decisions = [self._scope.decide(candidate) for candidate in given]
        accepted = [decision.candidate for decision in decisions if isinstance(decision, Accepted)]
        answers: list[int] = []
        for chunk in batched(accepted, _CHUNK):
            arguments: list[ScriptArgument] = []
            for candidate in chunk:
                mark = self._store.fingerprint(candidate.url)
                arguments += [mark.id, mark.place, host_of(candidate.url), queue_score(candidate), pack(candidate)]
            found = list(self._store.run("now", *arguments))
            if not found:
                return []
            answers += found
        rest = iter(answers)
        logger.info("job %s: %d of %d URLs are visited now", self.job.name, len(accepted), len(urls))
        return [(decision, next(rest) if isinstance(decision, Accepted) else 0) for decision in decisions]

    def note_changes(self, changes: Iterable[tuple[str, int]]) -> int:
        """Visit URLs of a continuous crawl sooner which a sitemap or feed says have changed since their last visits.

        A change is a canonical URL and the ms since 1970. The shortest time of the profile, or of sheets, between two
        visits holds. Return the number of URLs that are due sooner now.
        """
        by_shortest: dict[int, list[tuple[str, int]]] = {}
        for url, changed in changes if self.visits_again else ():
            rules = self._revisit_rules(url)
            if rules.mode == "adaptive":
                by_shortest.setdefault(round(1000 * rules.min_seconds), []).append((url, changed))
        sooner = 0
        for shortest, found in by_shortest.items():
            for chunk in batched(found, _CHUNK):
                arguments: list[str | int] = [shortest]
                for url, changed in chunk:
                    arguments += [self._store.fingerprint(url).id, changed]
                sooner += int(self._store.run("changed", *arguments))
        return sooner

    def stored_job(self) -> Job:
        """Return the job as Redis has it, with the limits and seeds that operators have given since it began."""
        with self._store.guarded():
            stored = self._store.client.get(self._store.root)
        return Job.model_validate_json(stored) if stored else self.job

    def add_reject(self, pattern: str) -> None:
        """Visit no more URLs in which this regular expression is found, for all workers and later runs.

        A queued URL counts as excluded when its turn comes. Raises JobError for an expression that can't be used, and
        FrontierLost when the job is gone.
        """
        try:
            regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError) as error:
            raise JobError(f"{pattern[:200]!r} is no regular expression: {error}") from error
        self._store.run("scope", f"{_REJECT}{pattern}")
        logger.info("job %s: URLs with %s are rejected from now on", self.job.name, pattern)

    def added_seeds(self, since: int) -> list[str]:
        """Return the seeds that were added to the running job, without the first `since`."""
        with self._store.guarded():
            found = self._store.client.lrange(self._store.key("added"), since, -1)
        return [url.decode() for url in found]

    def follow_seed(self, url: str) -> None:
        """Widen the scope by this canonical URL, to which a seed redirects."""
        if self._scope.covers(url) is None:
            self._widen([url])
            logger.info("job %s: the scope now includes %s, since a seed redirects there", self.job.name, url)

    def mark_seen(self, urls: Iterable[str]) -> None:
        """Mark these canonical URLs as seen. A page's visit fetched them together with the page."""
        for chunk in batched(urls, _CHUNK):
            self._store.run("mark", *(part for url in chunk for part in self._store.fingerprint(url)))

    def robots(self, url: str) -> Robots | None:
        """Return the robots.txt of a URL; None when it must be fetched first."""
        return self._robots.get(url)

    def set_robots(self, url: str, status: int, body: bytes = b"") -> Robots:
        """Store the answer to /robots.txt of this URL's site for all workers, and return its rules."""
        return self._robots.put(url, status, body)

    def forget(self) -> None:
        """Delete all data of the job from Redis, also its seen set. Leases become stale."""
        for queue in (self.renders, self):
            while queue.sweep(all_leases=True):
                pass
        self._store.drop()
        if self.segments.folder is not None:
            drop_segments(self.segments.folder)
        self._forget_links()

    @property
    def politeness(self) -> Politeness:
        """Return the rules of politeness of the job."""
        return self._politeness

    def politeness_of(self, url: str) -> Politeness:
        """Return the rules of politeness for a URL: those of the job, with sheets and the least delay of its domain."""
        rules = self._politeness
        if self._has_polite_sheets:
            rules = rules.with_values(self.sheets.values_for(url))
        return rules.with_least_delay(self.job.profile.least_delay(host_of(url)))

    @property
    def visits_again(self) -> bool:
        """Return whether the profile, or a sheet, lets URLs be visited again."""
        return self.job.profile.revisit.is_on or self.sheets.visits_again

    def cookies_of(self, domain: str) -> str:
        """Return the text that `keep_cookies` stored for a registered domain; empty for none."""
        with self._store.guarded():
            found = self._store.client.hget(self._store.key("cookies"), domain)
        return found.decode() if found else ""

    def keep_cookies(self, domain: str, text: str) -> None:
        """Store the cookies of a registered domain for all workers of the job; an empty text removes them.

        With too many domains, the cookies of any other domain are removed.
        """
        client, key = self._store.client, self._store.key("cookies")
        with self._store.guarded():
            if not text:
                client.hdel(key, domain)
            elif client.hset(key, domain, text) and client.hlen(key) > _MOST_DOMAINS:
                client.hdel(key, next(other for other in client.hrandfield(key, 2) if other != domain.encode()))

    def max_links(self, url: str) -> int:
        """Return how many links are taken from the page with this URL."""
        own = self.sheets.values_for(url).max_links if len(self.sheets) else None
        return own if own is not None else self.job.profile.max_links

    def load_lists(self) -> None:
        """Read the list files that rules of the scope name. Raises JobError."""
        try:
            self._scope.load_lists()
        except ListFileError as error:
            raise JobError(f"job {self.job.name}: {error}") from error

    def decide(self, candidates: Iterable[Candidate], most: int) -> list[ScopeDecision]:
        """Return whether candidates are in scope, in order. Those beyond the first `most` accepted ones are rejected.

        Unlike `add`, this queues nothing.
        """
        self._learn_scope()
        return limited([self._scope.decide(candidate) for candidate in candidates], most)

    def addresses_of(self, host: str) -> Sequence[str]:
        """Return the addresses of a host, with a port or without; none when they are not found in time."""
        return self._lookups.names_of(host).addresses

    def rejected_by_addresses(self, lease: Lease) -> Rejected | None:
        """Return the rejection of a URL by a rule about the addresses of its host; None when there is none."""
        if "addresses" not in self._scope.needs:
            return None
        return self._rejected(lease, KnownFacts(self.addresses_of(lease.host)))

    def rejected_by_answer(self, lease: Lease, answer: FetchedAnswer) -> Rejected | None:
        """Return the rejection of a URL by a rule about its answer; None when there is none."""
        if "answer" not in self._scope.needs:
            return None
        addresses = self.addresses_of(lease.host) if "addresses" in self._scope.needs else None
        return self._rejected(lease, KnownFacts(addresses, answer))

    def _rejected(self, lease: Lease, known: KnownFacts) -> Rejected | None:
        """Return the rejection, which is counted and stored for the report."""
        rejected = self._scope.rejecting_rule(candidate_of(lease), known)
        if rejected is not None:
            self.note_rejected([rejected])
        return rejected

    def note_rejected(self, decisions: Sequence[ScopeDecision]) -> None:
        """Count rejected candidates, and store them for the reports."""
        timeouts = self._scope.take_timeouts()
        if arguments := rejection_arguments(decisions, timeouts):
            self._store.run("reject", *arguments)
        self._after_queued(decisions, has_timeouts=bool(timeouts))

    def close(self) -> None:
        """Close the connections to Redis."""
        self._lookups.close()
        self._store.client.close()

    def spiller(self, note: Callable[[str], None] = logger.warning) -> QueueSpiller:
        """Return what moves the ends of long queues to the folder of `segments` and back; a job has one at a time.

        `note` takes messages for people.
        """
        if self.segments.folder is None:
            raise ValueError("the frontier has no folder for segments")
        return QueueSpiller(self._store, self.segments.folder, self._settings.queue_memory, note)

    def _use(self, job: Job, changes: Sequence[bytes] = ()) -> None:
        """Use the rules of a job, and these changes of its scope."""
        prefixes = StoredPrefixes(self._store)
        scope = Scope(job, prefixes)
        scope.sheets.addresses_of = self.addresses_of
        _change(scope, changes)  # other threads get the scope with all of its changes
        self.job = job
        self._store.seen = job.profile.seen
        self._politeness = Politeness.of(self._settings, job.profile.politeness)
        self._prefixes, self._scope, self.sheets = prefixes, scope, scope.sheets
        self._has_polite_sheets = self.sheets.may_set(*POLITE_KEYS)
        self._has_revisit_sheets = self.sheets.may_set(*REVISIT_KEYS)
        self._scope_known, self._scope_length = 0, -1
        self._forget_links()

    def _put_groups(self, groups: GroupList) -> None:
        self._groups.put(groups)

    def share_counts(self) -> None:
        """Tell the further shards of the job what was changed in the whole job."""

    def _open(self, before: bytes, state: Sequence[str | int | float]) -> bool:
        """Store the job. Return False when another process changed the job first. Raises JobError."""
        return self._run_open(before, self.job.model_dump_json(), *state)

    def _run_open(self, before: bytes, job: str, *state: str | int | float) -> bool:
        answer = self._store.run("open", before, job, self._settings.shards, *state)
        if isinstance(answer, bytes):
            name, _, number = answer.decode("utf-8", "replace").partition("\n")
            raise JobError(
                f"frontier.shards is {self._settings.shards}, and the unfinished job {name} has {number}; both may "
                "visit one host, so let that job end first, or use its number"
            )
        return bool(answer)

    def _take_rules(self, other: Frontier) -> None:
        """Use the scope and the politeness of another frontier of the job."""
        self._politeness, self._has_polite_sheets = other._politeness, other._has_polite_sheets
        self._has_revisit_sheets = other._has_revisit_sheets
        self._prefixes, self._scope, self.sheets = other._prefixes, other._scope, other.sheets

    def _resumable(self, stored: bytes, asked: Job) -> Job | None:
        """Return the job that continues; None when the stored job is finished and differs, so that it starts over."""
        try:
            profile = with_edits(asked.profile, self.edits())
            return resumed(Job.model_validate_json(stored), asked.model_copy(update={"profile": profile}))
        except JobError:
            if self._is_unfinished():
                raise
        self._store.seen = Job.model_validate_json(stored).profile.seen
        self.forget()
        return None

    def _is_unfinished(self) -> bool:
        """Return whether the stored job has URLs to visit, to render or to visit again."""
        with self._store.guarded():
            if self._store.client.hexists(self._store.key("state"), "finished"):
                return False
        progress = self.reports.progress()
        return bool(progress.queued or progress.leased or progress.renders.depth or progress.revisits)

    def _learn_scope(self) -> None:
        """Widen the scope by the seeds that other workers found, and narrow it by the patterns of operators."""
        with self._learning:
            if self._has_claimed and self._scope_length == self._scope_known:
                return
            with self._store.guarded():
                found = self._store.client.lrange(self._store.key("scope"), self._scope_known, -1)
                is_edited = any(each.startswith(_EDITED.encode()) for each in found)
                changes = self._store.client.lrange(self._store.key("scope"), 0, -1) if is_edited else found
                # The job is read after its changes, so that the next call learns of an edit that comes in between.
                job = self.stored_job() if is_edited else self.job
            if job.profile != self.job.profile:
                found = changes
                self._use(job.model_copy(update={"seeds": self.job.seeds}), found)
            elif _change(self._scope, found):
                self._prefixes.forget_answers()
            self._scope_known = self._scope_length = self._scope_known + len(found)
            if any(entry != _EDITED.encode() for entry in found):
                self._forget_links()

    def _read_scope_again(self) -> None:
        """Take the job and all changes of its scope from Redis, which may have lost some of those that are known."""
        with self._learning:
            with self._store.guarded():
                changes = self._store.client.lrange(self._store.key("scope"), 0, -1)
            job = self.stored_job()  # as in `_learn_scope`, the job is read after its changes
            self._use(job.model_copy(update={"seeds": self.job.seeds}), changes)
            self._scope_known = self._scope_length = len(changes)

    def _former_widenings(self) -> list[str]:
        """Return the URLs by which an earlier release widened the scope of the job, without stored prefixes."""
        with self._store.guarded():
            found = self._store.client.lrange(self._store.key("scope"), 0, -1)
        others = tuple(mark.encode() for mark in (_REJECT, WIDER, _EDITED))
        return [entry.decode() for entry in found if not entry.startswith(others)]

    def _queue_seeds(self, urls: Iterable[str]) -> None:
        self._learn_scope()
        decisions = [self._scope.decide(Candidate(url, source=url, is_seed=True)) for url in urls]
        self._queued(decisions, None, LinkMemory(self.job.profile), "seeds")
        for decision in decisions:
            if isinstance(decision, Rejected) and decision.reason != "seen":
                seed = decision.candidate.url
                logger.warning(
                    "job %s: seed %s was rejected: %s (%s)", self.job.name, seed, decision.reason, decision.rule
                )

    def _has_waiting_seeds(self) -> bool:
        """Return whether seeds that are marked as seen may wait in the file."""
        with self._store.guarded():
            return bool(self._store.client.hexists(self._store.key("state"), "seeding"))

    def _widen(self, seeds: Iterable[str]) -> None:
        """Widen the scope of the running job by these canonical URLs, for all workers."""
        if self._scope.widen(seeds):
            self._forget_links()

    def _seeds_after(self, place: str, size: int) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield the URLs of the seeds in chunks, each with the number of seeds up to its end.

        Of a file, the seeds up to the noted place are left out.
        """
        number = 0
        if isinstance(self.job.seeds, SeedFile):
            with self._store.guarded():
                number = int(self._store.client.hget(self._store.key("state"), place) or 0)
            urls = self.job.seeds.urls(number)
        else:
            urls = (seed.url for seed in self.job.seeds)
        for chunk in batched(urls, size):
            number += len(chunk)
            yield number, chunk

    def _note_seeds(self, place: str, number: int) -> None:
        if isinstance(self.job.seeds, SeedFile):
            with self._store.guarded():
                self._store.client.hset(self._store.key("state"), place, number)

    def _spender(self, lease: Lease) -> Sequence[str]:
        return self.spender_of(lease)

    def _history_after(self, lease: Lease, ending: LeaseEnding, outcome: VisitOutcome) -> RevisitHistory | None:
        rules = self._revisit_rules(lease.url)
        if not rules.is_on or ending is LeaseEnding.AGAIN or outcome.code == crawl_log.OUT_OF_SCOPE:
            return None
        return after_visit(rules, lease.history, outcome.digest if ending is LeaseEnding.DONE else "")

    def _revisit_rules(self, url: str) -> RevisitRules:
        rules = self.job.profile.revisit
        return rules_with(rules, self.sheets.values_for(url)) if self._has_revisit_sheets else rules

    def rejecting_queued(self, leases: Sequence[Lease], scope_length: int) -> Sequence[Rejected | None]:
        """Return for each URL the rejection by a scope that was changed since the URL was queued; None for no such one.

        `scope_length` is the number of changes of the scope so far. A URL about which Redis does not answer is visited.
        """
        self._scope_length, self._has_claimed = scope_length, True
        with suppress(FrontierUnavailable):  # the leases are valid, and the next claim learns the changes
            self._learn_scope()
        scope, found = self._scope, list[Rejected | None]([None] * len(leases))
        if scope.may_reject_queued:
            with suppress(FrontierUnavailable):
                for number, lease in enumerate(leases):
                    found[number] = scope.rejecting_queued(candidate_of(lease))
        return found

    def _amend(self, change: Callable[[Job], Job], *, by: str = "") -> list[ProfileEdit]:
        """Change the stored job. Return the edits of its profile."""
        sent, edits = "", list[ProfileEdit]()
        while True:
            with self._store.guarded():
                stored = self._store.client.get(self._store.root)
            # When the stored job is gone, the script raises FrontierLost.
            old = Job.model_validate_json(stored) if stored else self.job
            if is_done := bool(sent) and stored == sent.encode():  # the first answer was lost
                job = old
            else:
                job = change(old)
                edits = edits_between(old.profile, job.profile, by=by, time=now_micros())
                lines = [edit.packed() for edit in edits]
                state = _limits(job.profile) if edits else []
                sent = job.model_dump_json()
                mark = _EDITED_SCOPE if has_other_scope(old.profile, job.profile) else _EDITED
                is_done = bool(self._store.run("amend", stored or b"", sent, mark, len(lines), *lines, *state))
            if is_done:
                with self._learning:
                    job = job.model_copy(update={"seeds": self.job.seeds})
                    if job.profile != self.job.profile:  # another process may have edited the profile before
                        self._use(job)
                    self.job = job
                return edits

    def _queued(self, decisions: list[ScopeDecision], lease: Lease | None, memory: LinkMemory, worker: str) -> Queued:
        """Queue the accepted candidates, and change the decisions about those that were seen before.

        `worker` is as in add.lua when there is no lease. Nothing was changed unless the answer is DONE.
        """
        wanted = [number for number, decision in enumerate(decisions) if isinstance(decision, Accepted)]
        chunks = list(batched(wanted, _CHUNK)) or [()]
        timeouts = self._scope.take_timeouts()
        rejected, stamp = rejection_arguments(decisions, timeouts), memory.stamp
        for chunk in chunks:
            arguments = self._add_arguments([decisions[number].candidate for number in chunk], lease, worker)
            counted = rejected if chunk is chunks[-1] else []
            if not (chunk or counted):
                break
            answer = self._store.run("links", stamp, len(arguments), *arguments, *counted)
            if not answer:
                if lease is not None:
                    logger.warning(
                        "job %s: links of %s were dropped, since its lease is over", self.job.name, lease.url
                    )
                return Queued.LEASE_OVER
            if len(answer) == 1 or not memory.is_of(answer[0]):
                return queued_between(memory.stamp, answer[0])
            stamp = b""
            for number, found in zip(chunk, answer[1], strict=True):
                decisions[number] = not_new(decisions[number].candidate, found) or decisions[number]
        self._after_queued(decisions, has_timeouts=bool(timeouts))
        return Queued.DONE

    def _after_queued(self, decisions: Sequence[ScopeDecision], *, has_timeouts: bool) -> None:
        """Store the rejected seeds, and the patterns that were switched off, and write the log of links."""
        if seeds := rejected_seeds(decisions):
            with self._store.guarded():
                self._store.client.hset(self._store.key("astray"), mapping=seeds)
        if self._note_switched_off() or has_timeouts:
            self._forget_links()
        if self.link_log is not None:
            self.link_log.note(decisions)

    def _forget_links(self) -> None:
        self._memory = LinkMemory(self.job.profile)

    def _note_switched_off(self) -> bool:
        """Store the patterns that were switched off since the last call. Return whether there are any."""
        switched_off = self._scope.take_switched_off()
        if switched_off:
            shown = {text: url[:SHOWN_URL] for text, url in switched_off.items()}
            with self._store.guarded():
                self._store.client.hset(self._store.key("slow"), mapping=shown)
        return bool(switched_off)

    def _add_chunk(self, candidates: Sequence[Candidate], *, worker: str) -> list[int]:
        return list(self._store.run("add", *self._add_arguments(candidates, None, worker)))

    def _add_arguments(
        self, candidates: Sequence[Candidate], lease: Lease | None, worker: str = ""
    ) -> list[ScriptArgument]:
        """Return the arguments of add.lua."""
        arguments: list[ScriptArgument] = [lease.id, lease.token, lease.worker] if lease else ["", "", worker]
        for candidate in candidates:
            mark = self._store.fingerprint(candidate.url)
            is_own_seed = candidate.is_seed and not candidate.hop_path
            place = mark.certain_place if candidate.is_seed else mark.place
            arguments += [mark.id, place, host_of(candidate.url), queue_score(candidate), pack(candidate)]
            arguments += [int(candidate.force), candidate.url if is_own_seed else ""]
        return arguments


def queued_between(before: bytes, now: bytes) -> Queued:
    """Return what has changed, by the stamp of a memory of links and the present stamp (links.lua)."""
    return Queued.CHANGED if before.rpartition(b" ")[0] == now.rpartition(b" ")[0] else Queued.OPENED_ANEW


def check_shards(job: str, shards: int, setting: int) -> None:
    """Raise FrontierUnavailable when a job that exists has another number of shards than the setting says."""
    if shards != setting:
        raise FrontierUnavailable(
            f"job {job} is spread over {shards} {'slot' if shards == 1 else 'slots'} of Redis, and frontier.shards is "
            f"{setting}; set frontier.shards to {shards} for this job"
        )


def _change(scope: Scope, changes: Iterable[bytes]) -> bool:
    """Take over changes of the scope. Return whether there may be more prefixes of seeds."""
    entries = [entry.decode() for entry in changes]
    scope.narrow(entry[len(_REJECT) :] for entry in entries if entry.startswith(_REJECT))
    scope.is_edited = scope.is_edited or _EDITED_SCOPE in entries
    return not all(entry.startswith((_REJECT, _EDITED)) for entry in entries)


def _limits(profile: Profile) -> list[str | int | float]:
    named = {**profile.limits.model_dump(), "quotas": packed(read_quotas(profile.quotas)) or None}
    return [text for name, value in named.items() for text in (name, "" if value is None else value)]


def _check_visitors(before: Profile, after: Profile) -> None:
    """Raise JobError for sheets that need other visitors than the running job has, or that make it continuous."""
    old, new = ({(each.visitor, each.rendering) for each in one.page_rules().all_rules()} for one in (before, after))
    if further := sorted(new - old):
        visitor, rendering = further[0]
        raise JobError(
            f"sheets: a sheet asks for visitor={visitor} rendering={rendering}, and the workers of the running job have"
            " no such visitor; stop the job, and start it again with the sheet in its profile"
        )
    was, now = (one.revisit.is_on or one.page_rules().visits_again for one in (before, after))
    if now and not was:
        raise JobError(
            "sheets: a sheet visits URLs again, and the running job visits no URL again; stop the job, and start it"
            " again with the sheet in its profile"
        )
