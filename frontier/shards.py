"""The hosts of a job are spread over several slots of Redis, its shards (setting `frontier.shards`).

A stable hash of the registered domain says in which shard a host lies. So the pauses of a host, its limits and quotas,
and those of its domain stay in one slot, and jobs with the same number of shards share them. Each shard has the keys
of a whole job (`store`). The first shard, with the tag of a job without further shards, also has what belongs to no
host: the job as JSON, the scope with the prefixes of the seeds, edits, added seeds, and commands. `Frontier` works on
a job with one shard, and `ShardedFrontier` on a job with several ones, by one `HostShard` for each.

**Links.** The links of a page are added first to the shard of the page, which checks the lease, and then to the other
shards. The visit is finished after that. When the worker dies in between, the page is visited again, and the links that
were added are seen. A link of a visit whose lease expires in between may be added; another worker visits the page.
This order does not help when a server of Redis loses its last changes, as in a failover to a replica that lags behind.
The server of the page may keep the end of the visit while the server of a link loses the link. The page is not visited
again, so that the link is lost unless another page has it. The same order within one server does not have this gap,
since a server that loses the links loses the end of the visit, too, if the visit ended before.

**Claims.** A worker finishes a visit and claims the next URL in the same shard, in one call. After `_STAY` leases, and
when a shard has no URL that may be visited now, the worker asks the next shard. Workers begin at different shards.

**Counts.** One process reads the counts of all shards each second, and stores in each shard the sums of the others,
together with the state of the whole job (`share.lua`). Claims compare the limits of the job with both. So a job goes
beyond a limit by the visits that end between two counts, and by one visit of each shard. What the job and each seed
have used of their quotas is shared in the same way (`used.lua`), for those seeds that have used something since the
last count. The quotas of hosts and domains are exact.

**Queue groups.** In the same step, and more often while workers are idle, the visits at the same time of each queue
group are shared out among the shards in which its hosts wait, so that the limits of a group are exact (`group_turns`).

**The end.** A shard that is empty says nothing about the job, since a visit in another shard may add links to it. The
work of a job is never without a shard that has work: a link is added to its shard while the lease of its page is held
in another one. A worker to whom all shards have said that they are empty tries to end the job (`seal.lua`):

1. The first shard says how many attempts were broken so far, if it is empty.
2. Each other shard is sealed in one step with the check that it is empty. A sealed shard refuses links of other shards
   and of operators. So from now on, nothing comes into the sealed shards, unless somebody breaks the attempt.
3. The first shard ends the job in one step with two checks: it is empty, and no attempt was broken since step 1.

A process that is refused by a sealed shard counts a broken attempt in the first shard, and opens the seal after that,
unless the job is finished by then. When the URLs are in the shard, the process counts a broken attempt again, since
another attempt may have sealed the shard before the seal was opened. If a visit added a link into a sealed shard, the
attempt therefore fails in step 3, whatever became of the link and of the visit in the meantime. If the link comes into
a shard that is not sealed yet, the shard or one that the link leads to is not empty in its own turn, or a link went
into a sealed shard. A seal that an attempt leaves behind needs no care: the next attempt checks again that the shard is
empty.
"""

from __future__ import annotations

import json
import logging
import time
from binascii import crc_hqx
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import batched, count
from typing import Any, Final
from zlib import crc32

from archive.settings import FrontierSettings
from archive.url import host_of
from frontier.definition.edits import ProfileEdit
from frontier.definition.groups import GroupList
from frontier.definition.job import Job, JobError
from frontier.definition.networks import without_port
from frontier.definition.quotas import QuotaKind, QuotaOwner, Quotas
from frontier.definition.scope import Accepted, Candidate, Rejected, ScopeDecision, registered_domain
from frontier.group_turns import STEP, pass_turns
from frontier.groups import GroupBook
from frontier.lease import Claim, JobFinished, JobStopped, Lease, Pause
from frontier.lease_queue import MOST_EXCHANGED, ExchangeAnswer, LeaseQueue
from frontier.links.memory import LinkMemory, not_new
from frontier.links.rejections import rejection_arguments
from frontier.missing_pages import MissingPageAnswers
from frontier.name_lookups import NameLookups
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier, Queued, queued_between
from frontier.renders import RenderQueue
from frontier.reports import Reports
from frontier.robots.rules import Robots
from frontier.segments.spiller import QueueSpiller
from frontier.shard_views import (
    ShardedControls,
    ShardedDesk,
    ShardedOutside,
    ShardedReports,
    ShardedSegments,
    ShardedSpiller,
)
from frontier.store import FrontierUnavailable, ScriptArgument, Store, stored_number

logger = logging.getLogger(__name__)

SHARE_SECONDS: Final = 1.0
"""The counts of all shards are read once in this time, while workers claim."""
_SLOTS: Final = 16_384
_STAY: Final = 8
"""A worker takes so many leases from one shard before it asks the next one."""
_BUSY_SECONDS: Final = 0.25
_TRIES: Final = 100
"""A sealed shard is opened so often for one call."""
_CHUNK: Final = 1_000
_IDLE_SECONDS: Final = 0.25
"""While a worker finds nothing to visit, the turns of queue groups are passed on after this time."""
_NO_COUNTS: Final = "0 0 0 0 0"
_OF_JOB: Final = (
    *("pages", "bytes", "seconds", "host_pages", "urls", "quotas", "revisit", "scope", "opening"),
    *("paused", "paused_at", "held", "held_at", "stopped"),
)
"""These fields of the state are those of the whole job. The first shard has them, and the others get copies."""
_COUNTED: Final[tuple[QuotaKind, ...]] = ("urls", "bytes", "seconds", "errors")
"""The kinds of quotas that the scripts in Redis count."""
_MOST_RECOUNTED: Final = 10_000
"""A step counts at most this number of seeds for each shard. Further seeds wait for the next step."""


def shard_names(first: str, number: int) -> list[str]:
    """Return the hash tags of the shards of a job, so that their slots are spread evenly over those of a cluster."""
    names = [first]
    start = _region(first, number)
    for step in range(1, number):
        wanted = (start + step) % number
        names.append(next(name for try_ in count() if _region(name := f"{first}={step}.{try_}", number) == wanted))
    return names


def frontier_for(redis_url: str, job: Job, settings: FrontierSettings, *, timeout_seconds: float = 5) -> Frontier:
    """Return the frontier of a job, with as many shards as the setting says."""
    kind = Frontier if settings.shards == 1 else ShardedFrontier
    return kind(redis_url, job, settings, timeout_seconds=timeout_seconds)


def frontier_of(redis_url: str, name: str, settings: FrontierSettings, *, timeout_seconds: float = 5) -> Frontier:
    """Return the frontier of a job that was opened elsewhere.

    Raises FrontierLost when there is no such job, and FrontierUnavailable, also when the job has another number of
    shards than the setting says.
    """
    kind = Frontier if settings.shards == 1 else ShardedFrontier
    return kind.of(redis_url, name, settings, timeout_seconds=timeout_seconds)


@contextmanager
def reports_of(redis_url: str, name: str, settings: FrontierSettings, *, timeout_seconds: float) -> Iterator[Reports]:
    """Yield the reports of a job, whatever the number of its shards is."""
    with _stores(redis_url, name, settings, timeout_seconds) as stores:
        reports = [Reports(store) for store in stores]
        number = len(stores)
        yield (
            reports[0]
            if number == 1
            else ShardedReports(
                stores[0], reports, lambda url: shard_of(host_of(url), number), lambda host: shard_of(host, number)
            )
        )


def drop_job(redis_url: str, name: str, settings: FrontierSettings, *, timeout_seconds: float) -> None:
    """Delete all keys of a job, whatever the number of its shards is. Raises FrontierUnavailable."""
    with _stores(redis_url, name, settings, timeout_seconds) as stores:
        for store in reversed(stores):
            store.drop()


@contextmanager
def _stores(redis_url: str, name: str, settings: FrontierSettings, timeout_seconds: float) -> Iterator[Sequence[Store]]:
    first = Store(redis_url, settings.shard, name, timeout_seconds=timeout_seconds)
    with closing(first.client):
        number = first.shards()
        with first.guarded():
            stored = first.client.get(first.root)
        if stored:
            with suppress(ValueError):  # a job that can't be read can be dropped
                first.seen = Job.model_validate_json(stored).profile.seen
        yield [first, *(first.of_shard(tag) for tag in shard_names(settings.shard, number)[1:])]


def _region(tag: str, number: int) -> int:
    return crc_hqx(tag.encode(), 0) % _SLOTS * number // _SLOTS


@lru_cache(maxsize=65_536)
def shard_of(host: str, number: int) -> int:
    """Return the shard of a host, with a port or without, among so many shards."""
    domain = registered_domain(without_port(host))
    return int.from_bytes(blake2b(domain.encode("utf-8", "surrogatepass"), digest_size=8).digest()) % number


class HostShard(Frontier):
    """A shard has the hosts of a job that lie in one slot. The scope and all rules are those of the whole job."""

    def __init__(self, whole: ShardedFrontier, store: Store, settings: FrontierSettings) -> None:
        self._whole = whole
        self._set_up(whole.job, store, settings)
        self._lookups.close()
        self._lookups = whole.lookups
        self._groups = GroupBook(store, whole.lookups)

    def _use(self, job: Job, changes: Sequence[bytes] = ()) -> None:
        self._take_rules(self._whole)
        self.job = job
        self._store.seen = job.profile.seen

    def note_rejected(self, decisions: Sequence[ScopeDecision]) -> None:
        """Count rejected candidates."""
        self._whole.note_rejected(decisions)

    def rejecting_queued(self, leases: Sequence[Lease], scope_length: int) -> Sequence[Rejected | None]:
        """Return for each URL the rejection by a scope that was changed since the URL was queued."""
        return self._whole.rejecting_queued(leases, scope_length)

    def put_groups(self, groups: GroupList) -> None:
        """Replace the queue groups, whose turns in the shard are still to come."""
        self._groups.put(groups, has_turns=True)

    def use(self, job: Job) -> None:
        """Take over the rules of the whole job."""
        self._use(job)

    @property
    def store(self) -> Store:
        """Return the store of the shard."""
        return self._store

    def _learn_scope(self) -> None:
        self._whole.learn_scope()


class _Places:
    """The places say in which shard each worker claims next."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken: dict[str, tuple[int, int]] = {}
        self._kept: dict[str, Lease] = {}
        """Leases by worker, for which another shard did not answer in the same call."""

    def keep(self, worker: str, lease: Lease) -> None:
        """Keep a lease for the next claim of its worker."""
        self._kept[worker] = lease

    def kept(self, worker: str, renew: Callable[[Lease], bool]) -> Lease | None:
        """Return and forget the lease that was kept for a worker, if the lease is not over."""
        lease = self._kept.get(worker)
        if lease is None:
            return None
        is_held = renew(lease)  # the lease is kept when Redis does not answer
        self._kept.pop(worker, None)
        return lease if is_held else None

    def of(self, worker: str) -> int:
        """Return the shard that a worker asks first."""
        return self._taken.get(worker, (crc32(worker.encode()) % self._number, 0))[0]

    def note_lease(self, worker: str, shard: int) -> None:
        """Note a lease, and let the worker go on to the next shard when it has enough of this one."""
        before, leases = self._taken.get(worker, (shard, 0))
        leases = leases + 1 if before == shard else 1
        self._taken[worker] = ((shard + 1) % self._number, 0) if leases >= _STAY else (shard, leases)


class ShardedQueue(LeaseQueue):
    """The queue hands out the URLs, or the renders, of all shards of a job. It is safe to share between threads."""

    _queues: Sequence[LeaseQueue]
    _places: _Places

    def exchange(
        self,
        finished: Sequence[tuple[Lease, VisitOutcome]],
        workers: Sequence[str],
        *,
        lease_seconds: float | None = None,
    ) -> ExchangeAnswer:
        """Finish visits and claim a URL for each of these workers, with one call for each shard that is asked.

        Each visit ends as by `finish`, and each claim is as by `claim`. At most `MOST_EXCHANGED` visits and as many
        claims are taken. Raises FrontierLost.
        """
        if max(len(finished), len(workers)) > MOST_EXCHANGED:
            raise ValueError(f"at most {MOST_EXCHANGED} visits are exchanged in one step")
        self._before_exchange()
        endings = [LeaseEnding.STALE] * len(finished)
        claims: list[Claim | None] = [None] * len(workers)
        rejected: list[tuple[Lease, Rejected]] = []
        try:
            for number, worker in enumerate(workers):
                claims[number] = self._places.kept(worker, self.renew)
            self._ask_shards(finished, workers, endings, claims, rejected, lease_seconds)
        except FrontierUnavailable:
            for worker, claim in zip(workers, claims, strict=True):
                if isinstance(claim, Lease):
                    self._places.keep(worker, claim)
            raise
        return ExchangeAnswer(tuple(endings), tuple(claims), tuple(rejected))

    def _ask_shards(
        self,
        finished: Sequence[tuple[Lease, VisitOutcome]],
        workers: Sequence[str],
        endings: list[LeaseEnding],
        claims: list[Claim | None],
        rejected: list[tuple[Lease, Rejected]],
        lease_seconds: float | None,
    ) -> None:
        """Finish the visits, and make the claims that are None. The answers are put into the lists."""
        pauses: list[list[Pause]] = [[] for _ in workers]
        visits = _grouped(enumerate(self._shard_of(lease.host) for lease, _ in finished))
        asking = _grouped(
            (number, self._places.of(worker)) for number, worker in enumerate(workers) if claims[number] is None
        )
        for _ in self._queues:
            further = defaultdict[int, list[int]](list)
            for shard in sorted({*visits, *asking}):
                ending, asked = visits.pop(shard, []), asking.get(shard, [])
                answer = self._queues[shard].exchange(
                    [finished[number] for number in ending],
                    [workers[number] for number in asked],
                    lease_seconds=lease_seconds,
                )
                rejected += answer.rejected
                for number, found in zip(ending, answer.endings, strict=True):
                    endings[number] = found
                for number, claim in zip(asked, answer.claims, strict=True):
                    if isinstance(claim, Pause):
                        pauses[number].append(claim)
                        further[(shard + 1) % len(self._queues)].append(number)
                    else:
                        claims[number] = claim
                        if isinstance(claim, Lease):
                            self._places.note_lease(workers[number], shard)
            asking = further
            if not asking:
                break
        if waiting := [number for numbers in asking.values() for number in numbers]:
            end = (
                self._end_of_job()
                if all(each.why == "empty" for number in waiting for each in pauses[number])
                else None
            )
            for number in waiting:
                claims[number] = end or self._idle(_shortest(pauses[number]))

    def give_back(
        self, lease: Lease, reason: str, *, retry_after: float | None = None, counts: bool = True
    ) -> LeaseEnding:
        """Give a URL back because of a problem on our side. Return what becomes of it, as from `finish`."""
        return self._queue_of(lease).give_back(lease, reason, retry_after=retry_after, counts=counts)

    def visit_again(self, lease: Lease, outcome: VisitOutcome, seconds: float) -> LeaseEnding:
        """Finish a visit whose worker wants the URL back after `seconds`. This was no try, and the host rests."""
        return self._queue_of(lease).visit_again(lease, outcome, seconds)

    def renew(self, lease: Lease) -> bool:
        """Extend a lease to its full time from now. Return False when the lease is over."""
        return self._queue_of(lease).renew(lease)

    def note_delay(self, lease: Lease, crawl_delay_seconds: float | None) -> None:
        """Keep the delay of a host before the first visit ends. It holds after a visit that is broken off."""
        self._queue_of(lease).note_delay(lease, crawl_delay_seconds)

    def sweep(self, *, all_leases: bool = False) -> int:
        """Take back the expired leases, or some of all leases, and return their number."""
        return sum(queue.sweep(all_leases=all_leases) for queue in self._queues)

    def take_back(self, workers: str, *, counts: bool) -> int:
        """Take back the leases of workers whose names begin with `workers`, and return their number."""
        return sum(queue.take_back(workers, counts=counts) for queue in self._queues)

    def _queue_of(self, lease: Lease) -> LeaseQueue:
        return self._queues[self._shard_of(lease.host)]

    def _shard_of(self, host: str) -> int:
        return shard_of(host, len(self._queues))

    def _before_exchange(self) -> None:
        raise NotImplementedError

    def _idle(self, pause: Pause) -> Pause:
        """Return the pause of a worker that finds nothing to visit."""
        raise NotImplementedError

    def _end_of_job(self) -> JobFinished | JobStopped | None:
        raise NotImplementedError


def _grouped(pairs: Iterable[tuple[int, int]]) -> defaultdict[int, list[int]]:
    """Return the numbers by shard, of pairs of a number and a shard."""
    found = defaultdict[int, list[int]](list)
    for number, shard in pairs:
        found[shard].append(number)
    return found


def _shortest(pauses: Sequence[Pause]) -> Pause:
    """Return the shortest pause of the shards that have work."""
    waiting = [each for each in pauses if each.why != "empty"]
    return min(waiting, key=lambda each: each.seconds, default=Pause(_BUSY_SECONDS, "busy"))


class ShardedRenders(ShardedQueue, RenderQueue):
    """The queue hands out the renders of all shards of a job. It is safe to share between threads."""

    def __init__(self, whole: ShardedFrontier, store: Store, settings: FrontierSettings) -> None:
        super().__init__(whole, store, settings)
        self._whole = whole
        self._shards = whole.shards
        self._queues = [shard.renders for shard in whole.shards]
        self._places = _Places(len(self._queues))

    def add(self, lease: Lease, embeds: Sequence[Candidate], *, links: int = 0) -> bool:
        """Queue the render of a leased page, and leave those embeds to the render whose hosts are in the page's shard.

        The other embeds are queued for the plain crawler. So a render may fetch such an embed a second time.
        """
        own = self._shard_of(lease.host)
        accepted = self._whole.decide(embeds, max(self._whole.max_links(lease.url) - links, 0))
        homes = [self._shard_of(host_of(decision.candidate.url)) for decision in accepted]
        foreign = [
            decision.candidate
            for decision, home in zip(accepted, homes, strict=True)
            if isinstance(decision, Accepted) and home != own
        ]
        if foreign:
            self._whole.add(foreign, lease)
        left = [embed for embed, home in zip(embeds, homes, strict=True) if home == own]
        return self._shards[own].renders.add(lease, left, links=links + len(foreign))

    def _before_exchange(self) -> None:
        self._whole.share_if_due()

    def _idle(self, pause: Pause) -> Pause:
        return self._whole.idle(pause)

    def _end_of_job(self) -> JobFinished | JobStopped | None:
        return self._whole.end_of_job()


class _ShardedMissingPages(MissingPageAnswers):
    """The answers lie in the shards, by folder."""

    def __init__(self, store: Store, shards: Sequence[Frontier]) -> None:
        super().__init__(store)
        self._shards = shards

    def get(self, kind: str, folder: str) -> str | None:
        """Return the answer; None for the one caller that has to ask; an empty text while another one asks."""
        return self._answers_of(folder).get(kind, folder)

    def put(self, kind: str, folder: str, answer: str) -> None:
        """Store an answer for all workers."""
        self._answers_of(folder).put(kind, folder, answer)

    def _answers_of(self, folder: str) -> MissingPageAnswers:
        return self._shards[crc32(folder.encode("utf-8", "surrogatepass")) % len(self._shards)].missing_pages


class ShardedFrontier(ShardedQueue, Frontier):
    """The frontier hands out the URLs of one job whose hosts are spread over several shards.

    It is safe to share between threads, and has the interface of a frontier with one shard.
    """

    shards: Sequence[HostShard] = ()

    def _set_up(self, job: Job, store: Store, settings: FrontierSettings) -> None:
        super()._set_up(job, store, settings)
        stores = [store, *(store.of_shard(name) for name in shard_names(settings.shard, settings.shards)[1:])]
        self.shards = [HostShard(self, each, settings) for each in stores]
        self._queues = self.shards
        self._places = _Places(len(stores))
        self._share_at = 0.0
        self._is_idle = False
        self._turns = count()
        shards = self.shards
        self.segments = ShardedSegments(store, [shard.segments for shard in shards])
        of_url, of_host = self.shard_of_url, self.shard_of_host
        self.desk = ShardedDesk(store, [shard.desk for shard in shards], of_url, of_host, self._add_opened)
        self.reports = ShardedReports(store, [shard.reports for shard in shards], of_url, of_host)
        self.controls = ShardedControls(store, [shard.controls for shard in shards], of_host, self.share_counts)
        self.outside = ShardedOutside(store, [shard.outside for shard in shards], of_host)
        self.missing_pages = _ShardedMissingPages(store, shards)
        self.renders = ShardedRenders(self, store, settings)

    @property
    def lookups(self) -> NameLookups:
        """Return the look-ups of names, which all shards share."""
        return self._lookups

    def shard_of_host(self, host: str) -> int:
        """Return the number of the shard in which a host lies."""
        return shard_of(host, len(self.shards))

    def shard_of_url(self, url: str) -> int:
        """Return the number of the shard in which a canonical URL lies."""
        return shard_of(host_of(url), len(self.shards))

    def learn_scope(self) -> None:
        """Take over what has changed in the scope."""
        self._learn_scope()

    def share_if_due(self) -> None:
        """Share the counts of all shards, unless a process has done so in the last second.

        While a worker is idle, pass the turns of queue groups on, unless a process has done so in the last quarter.
        """
        now = time.monotonic()
        if now >= self._share_at:
            self._share_at = now + SHARE_SECONDS
            if self._is_first("counted", SHARE_SECONDS):
                self.share_counts()
        elif self._is_idle:
            self._is_idle = False
            if self._is_first("passed", _IDLE_SECONDS):
                self._pass_turns(1)

    def idle(self, pause: Pause) -> Pause:
        """Return the pause of a worker that finds nothing to visit. With queue groups, the worker soon claims again."""
        if not self.job.profile.groups:
            return pause
        self._is_idle = True
        return Pause(min(pause.seconds, _IDLE_SECONDS), pause.why)

    def _is_first(self, name: str, seconds: float) -> bool:
        """Return whether no process of the job has been here in the last `seconds`, about."""
        with self._store.guarded():
            return bool(self._store.client.set(self._store.key(name), 1, nx=True, px=round(900 * seconds)))

    def _pass_turns(self, distance: int) -> None:
        pass_turns([shard.store for shard in self.shards], self._groups, distance)

    def end_of_job(self) -> JobFinished | JobStopped | None:
        """End the job if all its shards are empty, and return the end; None when there is work somewhere."""
        broken = int(self._store.run("seal", "look"))
        if broken == -2:
            return JobFinished()
        if broken < 0:
            return None
        is_beyond = False
        for shard in self.shards[1:]:
            sealed = int(shard.store.run("seal", "seal"))
            if not sealed:
                return None
            is_beyond = is_beyond or sealed == 2
        match int(self._store.run("seal", "end", broken, int(is_beyond))):
            case 1:
                return JobFinished()
            case 2:
                return JobStopped("limit-pages")
            case _:
                return None

    def visit_now(self, urls: Sequence[str]) -> list[tuple[ScopeDecision, int]]:
        """Visit these canonical URLs of the running job before all others, also those that were visited before.

        Return for each a decision, and 1 if it is queued, 2 if it was queued and comes earlier now, 0 if it is being
        visited at this moment. The list is empty when the job has ended its work.
        """
        found: dict[str, tuple[ScopeDecision, int]] = {}
        for shard, own in self._by_shard(urls).items():
            answers = self._add_opened(shard, partial(self.shards[shard].visit_now, own))
            if answers is None:
                return []
            found |= dict(zip(own, answers, strict=True))
        return [found[url] for url in urls]

    def add_reject(self, pattern: str) -> None:
        """Visit no more URLs in which this regular expression is found, for all workers and later runs.

        Raises JobError for an expression that can't be used, and FrontierLost when the job is gone.
        """
        super().add_reject(pattern)
        self.share_counts()

    def unvisited_seed_hosts(self) -> int:
        """Return how many hosts wait since seeds of the job's file were queued, without a visit of a host so far.

        The hosts that wait for a higher limit of pages are counted, too.
        """
        return sum(shard.unvisited_seed_hosts() for shard in self.shards)

    def cookies_of(self, domain: str) -> str:
        """Return the text that `keep_cookies` stored for a registered domain; empty for none."""
        return self.shards[shard_of(domain, len(self.shards))].cookies_of(domain)

    def keep_cookies(self, domain: str, text: str) -> None:
        """Store the cookies of a registered domain for all workers of the job; an empty text removes them."""
        self.shards[shard_of(domain, len(self.shards))].keep_cookies(domain, text)

    def note_changes(self, changes: Iterable[tuple[str, int]]) -> int:
        """Visit URLs of a continuous crawl sooner which a sitemap or feed says have changed since their last visits.

        Return the number of URLs that are due sooner now.
        """
        by_shard = defaultdict[int, list[tuple[str, int]]](list)
        for url, changed in changes:
            by_shard[self.shard_of_url(url)].append((url, changed))
        return sum(self.shards[shard].note_changes(found) for shard, found in by_shard.items())

    def note_new_bytes(self, amounts: Mapping[tuple[QuotaOwner, str], int]) -> None:
        """Store how many new bytes each owner of such a quota has got so far: the job (''), a domain or a host."""
        for shard in self.shards:
            shard.note_new_bytes(amounts)

    def mark_seen(self, urls: Iterable[str]) -> None:
        """Mark these canonical URLs as seen. A page's visit fetched them together with the page."""
        for shard, found in self._by_shard(urls).items():
            self.shards[shard].mark_seen(found)

    def robots(self, url: str) -> Robots | None:
        """Return the robots.txt of a URL; None when it must be fetched first."""
        return self.shards[self.shard_of_url(url)].robots(url)

    def set_robots(self, url: str, status: int, body: bytes = b"") -> Robots:
        """Store the answer to /robots.txt of this URL's site for all workers, and return its rules."""
        return self.shards[self.shard_of_url(url)].set_robots(url, status, body)

    def forget(self) -> None:
        """Delete all data of the job from Redis, also its seen set. Leases become stale."""
        for shard in reversed(self.shards):  # the first shard says that there is a job
            shard.forget()
        self._forget_links()

    def spiller(self, note: Callable[[str], None] = logger.warning) -> QueueSpiller:
        """Return what moves the ends of long queues to the folder of `segments` and back; a job has one at a time."""
        return ShardedSpiller([shard.spiller(note) for shard in self.shards])

    def _before_exchange(self) -> None:
        self.share_if_due()

    def _idle(self, pause: Pause) -> Pause:
        return self.idle(pause)

    def _end_of_job(self) -> JobFinished | JobStopped | None:
        return self.end_of_job()

    def _use(self, job: Job, changes: Sequence[bytes] = ()) -> None:
        super()._use(job, changes)
        for shard in self.shards:
            shard.use(job)

    def _put_groups(self, groups: GroupList) -> None:
        for shard in self.shards:
            shard.put_groups(groups)
        self._pass_turns(STEP)

    def wake_within_limits(self) -> None:
        """Take back the hosts and URLs whose limits and quotas are not reached any more."""
        for shard in self.shards:
            shard.wake_within_limits()

    def _resumable(self, stored: bytes, asked: Job) -> Job | None:
        """Return the job that continues; None when the job starts over, also since Redis has lost one of its shards."""
        for shard in self.shards:  # a shard that is dropped has the filter of the stored job
            shard.store.seen = Job.model_validate_json(stored).profile.seen
        with self._store.guarded():
            are_there = [self._store.client.exists(shard.store.root) for shard in self.shards]
        if all(are_there):
            return super()._resumable(stored, asked)
        logger.warning("job %s: Redis has lost a shard of the frontier, so that the job starts over", self.job.name)
        for shard in reversed(self.shards):
            shard.store.drop()
        return None

    def _open(self, before: bytes, state: Sequence[str | int | float]) -> bool:
        """Store the job in its further shards first, so that no worker finds a shard missing."""
        state = [*state, "others", _NO_COUNTS]
        text = f"a further shard of {self._store.root}"
        for shard in self.shards[1:]:
            store, is_open = shard.store, False
            store.finish_drop()
            while not is_open:
                with store.guarded():
                    stored = store.client.get(store.root)
                    is_first_lost = stored and not before and not store.client.exists(self._store.root)
                if is_first_lost:  # the job begins anew
                    store.drop()
                    stored = b""
                is_open = bool(store.run("open", stored or b"", text, 1, *state))
            with store.guarded():
                store.client.hdel(store.key("state"), "seeding")
        try:
            if not super()._open(before, state):
                return False
        except JobError:
            self._drop_further_shards(before)
            raise
        self._store.run("seal", "break")  # an attempt to end the job before it was opened anew
        self.share_counts()
        return True

    def _drop_further_shards(self, before: bytes) -> None:
        """Delete the keys in the further shards of a job that was not opened, unless the job existed before."""
        with self._store.guarded():
            is_there = before or self._store.client.exists(self._store.root)
        for shard in () if is_there else self.shards[1:]:
            shard.store.drop()

    def _widen(self, seeds: Iterable[str]) -> None:
        super()._widen(seeds)
        self.share_counts()

    def _amend(self, change: Callable[[Job], Job], *, by: str = "") -> list[ProfileEdit]:
        edits = super()._amend(change, by=by)
        self.share_counts()
        return edits

    def share_counts(self) -> None:
        """Store in each shard the state of the job and the counts of the others, and pass the turns of groups on."""
        home = self._store
        with home.guarded():
            pipeline = home.client.pipeline(transaction=False)
            pipeline.hmget(home.key("state"), _OF_JOB)
            for shard in self.shards:
                store = shard.store
                pipeline.hmget(store.key("count"), "done", "along", "pages", "bytes")
                pipeline.zcard(store.key("leases"))
            state, *found = pipeline.execute()
        counts = [[*map(stored_number, counted), leases] for counted, leases in batched(found, 2)]
        sums = [sum(column) for column in zip(*counts, strict=True)]
        copies = [part for name, value in zip(_OF_JOB, state, strict=True) for part in (name, value or b"")]
        for shard, own in zip(self.shards, counts, strict=True):
            others = " ".join(str(max(total - part, 0)) for total, part in zip(sums, own, strict=True))
            shard.store.run("share", others, *(copies if shard is not self.shards[0] else ()))
        if quotas := state[_OF_JOB.index("quotas")]:
            self._share_quotas(json.loads(quotas))
        self._pass_turns(STEP)

    def _share_quotas(self, quotas: Quotas) -> None:
        """Store in each shard what the job and its seeds have used in the others, and look which quotas are reached."""
        stores = [shard.store for shard in self.shards]
        kinds = {owner: [kind for kind in _COUNTED if kind in quotas.get(owner, {})] for owner in ("job", "seed")}
        owners = {"job\n"}
        with self._store.guarded():
            if kinds["seed"]:
                pipeline = self._store.client.pipeline(transaction=False)
                for store in stores:
                    pipeline.spop(store.key("recount"), _MOST_RECOUNTED)
                owners.update(name.decode("utf-8", "replace") for names in pipeline.execute() for name in names)
        amounts = ((owner, kind) for owner in sorted(owners) for kind in kinds[owner.partition("\n")[0]])
        for chunk in batched(amounts, _CHUNK):
            with self._store.guarded():
                pipeline = self._store.client.pipeline(transaction=False)
                for store in stores:
                    pipeline.hmget(store.key("used"), *(f"{owner}\n{kind}" for owner, kind in chunk))
                used = [[stored_number(amount) for amount in found] for found in pipeline.execute()]
            sums = [sum(column) for column in zip(*used, strict=True)]
            for store, own in zip(stores, used, strict=True):
                others = zip(chunk, sums, own, strict=True)
                store.run(
                    "used",
                    *(part for (owner, kind), total, amount in others for part in (owner, f"+{kind}", total - amount)),
                )

    def _by_shard(self, urls: Iterable[str]) -> Mapping[int, list[str]]:
        found = defaultdict[int, list[str]](list)
        for url in urls:
            found[self.shard_of_url(url)].append(url)
        return found

    def _accepted_by_shard(self, decisions: Sequence[ScopeDecision]) -> defaultdict[int, list[int]]:
        """Return the numbers of the accepted candidates, by shard."""
        return _grouped(
            (number, self.shard_of_url(decision.candidate.url))
            for number, decision in enumerate(decisions)
            if isinstance(decision, Accepted)
        )

    def _run_added(self, shard: int, name: str, *arguments: ScriptArgument) -> Any:
        """Run a script that adds URLs to a shard. Open the shard if it is sealed. Return '' when the job has ended."""
        return self._add_opened(shard, lambda: self.shards[shard].store.run(name, *arguments)) or b""

    def _add_opened[T](self, shard: int, add: Callable[[], T]) -> T | None:
        """Add URLs to a shard, with an `add` whose answer is false for a sealed shard, which is opened then.

        Return the answer; None when the job has ended. An attempt to end the job may have sealed the shard again before
        the URLs came, so that the attempts that go on are broken once more.
        """
        for try_ in range(_TRIES):
            if answer := add():
                return answer if not try_ or self._store.run("seal", "break") else None
            if not self._open_shard(shard):
                return None
        raise FrontierUnavailable(f"job {self.job.name} is ending; add the URLs again in a moment")

    def _open_shard(self, shard: int) -> bool:
        """Break the attempts to end the job, and open a sealed shard then. Return False when the job has ended."""
        if shard == 0 or not self._store.run("seal", "break"):
            return False
        store = self.shards[shard].store
        with store.guarded():
            store.client.hdel(store.key("state"), "finished")
        return True

    def _add_chunk(self, candidates: Sequence[Candidate], *, worker: str) -> list[int]:
        answers = [0] * len(candidates)
        by_shard = _grouped(enumerate(self.shard_of_url(candidate.url) for candidate in candidates))
        for shard, numbers in by_shard.items():
            asked = [candidates[number] for number in numbers]
            found = self._run_added(
                shard, "add", *self._add_arguments(asked, None, "seeds" if worker == "seeds" else "operator")
            )
            if not found:
                return []
            for number, answer in zip(numbers, found, strict=True):
                answers[number] = answer
        return answers

    def _queued(self, decisions: list[ScopeDecision], lease: Lease | None, memory: LinkMemory, worker: str) -> Queued:
        """Queue the accepted candidates, first those in the shard of the page, where the lease is checked."""
        by_shard = self._accepted_by_shard(decisions)
        timeouts = self._scope.take_timeouts()
        rejected = rejection_arguments(decisions, timeouts)
        if lease is not None:
            own = self.shard_of_host(lease.host)
        else:
            own = next(iter(by_shard), next(self._turns) % len(self.shards))
        for shard in (own, *(each for each in by_shard if each != own)):
            chunks = list(batched(by_shard.get(shard, ()), _CHUNK)) or [()]
            for chunk in chunks:
                counted = rejected if shard == own and chunk is chunks[-1] else []
                if not (chunk or counted or (lease is not None and by_shard)):
                    break
                holder = lease if shard == own else None
                is_flag = lease is None and (shard == 0 or worker not in ("", "operator"))
                flag = worker if is_flag else "operator"
                added = [decisions[number].candidate for number in chunk]
                arguments = self._add_arguments(added, holder, flag)
                stamp = memory.stamp_of(shard)
                if holder is not None:
                    answer = self.shards[shard].store.run("links", stamp, len(arguments), *arguments, *counted)
                else:
                    answer = self._run_added(shard, "links", stamp, len(arguments), *arguments, *counted)
                if not answer:
                    if lease is not None:
                        logger.warning(
                            "job %s: links of %s were dropped, since its lease is over", self.name, lease.url
                        )
                    return Queued.LEASE_OVER
                if len(answer) == 1 or not memory.is_of_shard(shard, answer[0]):
                    return queued_between(memory.stamp_of(shard), answer[0])
                for number, found in zip(chunk, answer[1], strict=True):
                    decisions[number] = not_new(decisions[number].candidate, found) or decisions[number]
        self._after_queued(decisions, has_timeouts=bool(timeouts))
        return Queued.DONE
