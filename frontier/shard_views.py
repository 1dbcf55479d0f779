"""Reports, commands and queues of a job with several shards (`shards`) join the answers of the shards.

What belongs to a host or a URL is asked of its shard, and what belongs to the whole job of the first shard.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from heapq import nlargest
from itertools import chain, zip_longest
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from archive.url import host_of
from frontier.control import FOREVER_SECONDS, Controls
from frontier.definition.quotas import QuotaOwner
from frontier.lease import BloomProgress, JobProgress, Lease, RenderProgress
from frontier.outside_queues import HostCounts, OutsideQueues, OutsideUrlState
from frontier.queues.desk import QueueDesk, RestoredUrl, SeenBlock
from frontier.queues.entry import ENTRY_STATES, EntryState, QueueEntry
from frontier.reports import (
    GroupReport,
    HostQueue,
    HostReport,
    RejectedLink,
    Reports,
    RevisitReport,
    SeedFacts,
    SeedReport,
    UrlReport,
    UrlState,
    lag_quantile,
)
from frontier.segments.registry import Segment, SegmentRegistry
from frontier.segments.segment_file import SegmentEntry
from frontier.segments.spiller import QueueSpiller
from frontier.store import Store

type ShardOf = Callable[[str], int]
"""Return the shard of a URL, or of a host."""
type AddOpened = Callable[[int, Callable[[], list[bool] | None]], list[bool] | None]
"""Add URLs to a shard, which is opened if it is sealed. Return None when the job has ended."""

_SHARD: Final = "shard"
_SCAN: Final = 500


class ShardedReports(Reports):
    """The reports of one job with several shards."""

    def __init__(self, store: Store, shards: Sequence[Reports], shard_of_url: ShardOf, shard_of_host: ShardOf) -> None:
        super().__init__(store)
        self._shards = shards
        self._shard_of_url = shard_of_url
        self._shard_of_host = shard_of_host

    def active_workers(self) -> set[str]:
        """Return the names of the worker processes that visit a URL of the job, or render one."""
        return set[str]().union(*(shard.active_workers() for shard in self._shards))

    def progress(self) -> JobProgress:
        """Return the progress of the job: the sums of the shards, each at its own moment."""
        found = [shard.progress() for shard in self._shards]
        return joined_progress(found, self.lags() if any(each.renders.is_used for each in found) else {})

    def has_renders(self) -> bool:
        """Return whether a page of the job was ever queued for a render."""
        return any(shard.has_renders() for shard in self._shards)

    def lags(self) -> dict[int, int]:
        """Return the number of finished renders by lag, as `lag_quantile` takes them."""
        return dict(sum((Counter(shard.lags()) for shard in self._shards), Counter[int]()))

    def urls(self, state: UrlState) -> Iterator[UrlReport]:
        """Yield the URLs in this state, as a stream. While workers are busy, a URL may be missing or come twice."""
        return chain.from_iterable(shard.urls(state) for shard in self._shards)

    def seeds(self) -> Iterator[SeedReport]:
        """Yield the state of each seed, as a stream."""
        return chain.from_iterable(shard.seeds() for shard in self._shards)

    def facts_of_seeds(self, urls: Iterable[str]) -> Iterator[SeedFacts]:
        """Yield what is known about each of these seeds, in their order, as a stream."""
        for chunk in _chunks(urls):
            # The first shard has the rejections of all seeds.
            facts = {each.url: each for each in self._shards[0].facts_of_seeds(chunk)}
            for shard, found in _by_shard(chunk, self._shard_of_url).items():
                for each in self._shards[shard].facts_of_seeds(found):
                    facts[each.url] = replace(facts[each.url], report=each.report)
            yield from (facts[url] for url in chunk)

    def hosts(self) -> Iterator[HostReport]:
        """Yield every host that has successful visits or queued URLs, or was set aside, as a stream."""
        return chain.from_iterable(shard.hosts() for shard in self._shards)

    def waiting_hosts(self) -> Iterator[str]:
        """Yield the hosts that have queued URLs and are not set aside, as a stream."""
        return chain.from_iterable(shard.waiting_hosts() for shard in self._shards)

    def longest_queues(self, most: int, *, looked_at: int = 5_000) -> list[HostQueue]:
        """Return the hosts with the longest queues, longest first; of many hosts, some of each shard are compared."""
        found = (queue for shard in self._shards for queue in shard.longest_queues(most, looked_at=looked_at))
        return nlargest(most, found, key=lambda queue: (queue.queued, queue.host))

    def host_queue(self, host: str) -> HostQueue:
        """Return the queue of one host, which may be empty."""
        return self._shards[self._shard_of_host(host)].host_queue(host)

    def groups(self) -> list[GroupReport]:
        """Return the queue groups in the order in which they are compared with a host."""
        return [
            replace(
                together[0],
                hosts=sum(each.hosts for each in together),
                waiting=sum(each.waiting for each in together),
                visits=sum(each.visits for each in together),
                visited=sum(each.visited for each in together),
                due_seconds=max(each.due_seconds for each in together),
            )
            for together in zip(*(shard.groups() for shard in self._shards), strict=False)
        ]

    def group_of(self, host: str) -> str:
        """Return the name of the queue group to which a host was found to belong; empty for none."""
        return self._shards[self._shard_of_host(host)].group_of(host)

    def revisit(self, url: str) -> RevisitReport | None:
        """Return the report of a canonical URL; None when the job does not know the URL."""
        return self._shards[self._shard_of_url(url)].revisit(url)

    def reached_quota(self, owner: QuotaOwner = "job", name: str = "") -> str:
        """Return the quota that the job, a domain, a host or a seed has reached; empty when there is none."""
        shard = self._shard_of_host(name) if owner in ("host", "domain") else 0
        return self._shards[shard].reached_quota(owner, name)

    def rejected(self) -> Iterator[RejectedLink]:
        """Yield the latest rejected links, those of each shard newest first."""
        for together in zip_longest(*(shard.rejected() for shard in self._shards)):
            yield from (link for link in together if link is not None)


def joined_progress(shards: Sequence[JobProgress], lags: Mapping[int, int]) -> JobProgress:
    """Return the progress of a job with these shards, of which the first has the state of the whole job."""
    first = shards[0]
    dues = [each.next_due_seconds for each in shards if each.next_due_seconds is not None]
    sums = {
        name: sum(getattr(each, name) for each in shards)
        for name in (
            *("queued", "leased", "done", "failed", "excluded", "hosts", "hosts_waiting", "bytes", "retries", "swept"),
            *("pages", "fetched_along", "spilled", "lost", "revisits"),
        )
    }
    waits = sorted((wait for each in shards for wait in each.waits), key=lambda wait: wait.seconds)
    return replace(
        first,
        **sums,
        next_due_seconds=min(dues, default=None),
        codes=dict(sum((Counter(each.codes) for each in shards), Counter[int]())),
        rejected=dict(sum((Counter(each.rejected) for each in shards), Counter[str]())),
        waits=tuple(waits[: max(len(each.waits) for each in shards)]),
        renders=_joined_renders([each.renders for each in shards], lags),
        bloom=_joined_blooms([each.bloom for each in shards if each.bloom is not None]),
    )


def _joined_blooms(shards: Sequence[BloomProgress]) -> BloomProgress | None:
    """Return the progress of the filters of all shards, with the false-positive rate of the fullest one."""
    if not shards:
        return None
    return replace(
        max(shards, key=lambda each: each.false_positives),
        urls=sum(each.urls for each in shards),
        dropped=sum(each.dropped for each in shards),
    )


def _joined_renders(shards: Sequence[RenderProgress], lags: Mapping[int, int]) -> RenderProgress:
    oldest = [each.oldest_seconds for each in shards if each.oldest_seconds is not None]
    sums = {
        name: sum(getattr(each, name) for each in shards)
        for name in ("queued", "leased", "done", "failed", "excluded", "retries", "lag_seconds")
    }
    return replace(
        shards[0],
        **sums,
        oldest_seconds=max(oldest, default=None),
        p95_seconds=lag_quantile(lags, 0.95),
    )


class ShardedControls(Controls):
    """The controls of one job with several shards. Commands to the whole job go to the first shard, which is copied."""

    def __init__(
        self, store: Store, shards: Sequence[Controls], shard_of_host: ShardOf, tell_shards: Callable[[], None]
    ) -> None:
        super().__init__(store)
        self._shards = shards
        self._shard_of_host = shard_of_host
        self._tell_shards = tell_shards

    def block_host(self, host: str, seconds: float = FOREVER_SECONDS) -> None:
        """Let no job visit a host for `seconds`. The host's URLs stay queued."""
        self._shards[self._shard_of_host(host)].block_host(host, seconds)

    def set_host_aside(self, host: str, reason: str) -> bool:
        """Set a host aside for this job: its URLs count as excluded. Return False when it was set aside before."""
        return self._shards[self._shard_of_host(host)].set_host_aside(host, reason)

    def wake_host(self, host: str) -> bool:
        """End a block, forget the host's failures, and take it back into the job. Return whether this changed
        something.
        """
        return self._shards[self._shard_of_host(host)].wake_host(host)

    def hosts_aside(self) -> dict[str, str]:
        """Return the hosts that were set aside, also for renders alone, with the reason."""
        return {host: why for shard in self._shards for host, why in shard.hosts_aside().items()}

    def _command(self, name: str, reason: str = "") -> bool:
        changed = super()._command(name, reason)
        self._tell_shards()
        return changed


class ShardedDesk(QueueDesk):
    """The desk of one job with several shards."""

    def __init__(
        self,
        store: Store,
        shards: Sequence[QueueDesk],
        shard_of_url: ShardOf,
        shard_of_host: ShardOf,
        add_opened: AddOpened,
    ) -> None:
        super().__init__(store)
        self._shards = shards
        self._shard_of_url = shard_of_url
        self._shard_of_host = shard_of_host
        self._add_opened = add_opened

    def renders(self) -> QueueDesk:
        """Return the desk of the job's renders."""
        renders = [shard.renders() for shard in self._shards]
        return ShardedDesk(self._store.renders(), renders, self._shard_of_url, self._shard_of_host, self._add_opened)

    def entries(
        self, states: Collection[EntryState] = ENTRY_STATES, wanted: Callable[[str], bool] | None = None
    ) -> Iterator[QueueEntry]:
        """Yield the URLs in these states, in no order. `wanted` decides by the URL, before more is read of it."""
        return chain.from_iterable(shard.entries(states, wanted) for shard in self._shards)

    def waiting(self, host: str, most: int) -> list[QueueEntry]:
        """Return the first URLs in the queue of a host, in the order in which they will be visited."""
        return self._shards[self._shard_of_host(host)].waiting(host, most)

    def leased_of(self, host: str, most: int) -> list[QueueEntry]:
        """Return URLs of a host that are being visited."""
        return self._shards[self._shard_of_host(host)].leased_of(host, most)

    def resting_of(self, host: str, most: int, *, looked_at: int | None = None) -> list[QueueEntry]:
        """Return URLs of a host that rest after a failure. At most `looked_at` resting URLs of its shard are read."""
        return self._shards[self._shard_of_host(host)].resting_of(host, most, looked_at=looked_at)

    def resting(self) -> int:
        """Return the number of URLs that rest after a failure."""
        return sum(shard.resting() for shard in self._shards)

    def seen(self) -> Iterator[list[str]]:
        """Yield the fingerprints of all URLs that were seen, as a stream of lists."""
        return chain.from_iterable(shard.seen() for shard in self._shards)

    def add_seen(self, marks: Iterable[str]) -> int:
        """Add fingerprints to those of the URLs that were seen. Return how many were new in one shard at least.

        A fingerprint does not tell the host, so that each shard gets all of them.
        """
        return sum(max(shard.add_seen(chunk) for shard in self._shards) for chunk in _chunks(marks))

    def seen_blocks(self) -> Iterator[SeenBlock]:
        """Yield the blocks of the Bloom filters of all shards, as a stream; none of a job whose seen test is exact."""
        return chain.from_iterable(shard.seen_blocks() for shard in self._shards)

    def add_seen_block(self, block: SeenBlock) -> None:
        """Add a block to the Bloom filter of each shard. Raises JobError when the job has no filter of this shape."""
        for shard in self._shards:
            shard.add_seen_block(block)

    def end(self, urls: Iterable[str], ending: Literal["done", "failed", "excluded"], code: int) -> int:
        """End queued URLs without a visit. Return how many ended now. Raises FrontierLost."""
        return sum(
            self._shards[shard].end(found, ending, code)
            for chunk in _chunks(urls)
            for shard, found in _by_shard(chunk, self._shard_of_url).items()
        )

    def restore(self, urls: Sequence[RestoredUrl]) -> list[bool] | None:
        """Take in URLs with their states. Return for each whether it was new; None when the job is finished."""
        answers = [False] * len(urls)
        numbers = defaultdict[int, list[int]](list)
        for number, each in enumerate(urls):
            numbers[self._shard_of_url(each.candidate.url)].append(number)
        for shard, own in numbers.items():
            found = self._add_opened(shard, partial(self._shards[shard].restore, [urls[number] for number in own]))
            if found is None:
                return None
            for number, is_new in zip(own, found, strict=True):
                answers[number] = is_new
        return answers

    def forget_seen(self, mark: str, urls: Iterable[str]) -> int:
        """Forget that these canonical URLs were seen, once for each `mark`, so that they can be added again.

        Return how many were forgotten. A URL that is queued or leased stays as it is.
        """
        forgotten = 0
        for chunk in _chunks(urls):
            for shard, found in _by_shard(chunk, self._shard_of_url).items():
                forgotten += self._shards[shard].forget_seen(mark, found)
        if forgotten:
            for desk in self._shards:
                desk.note_forgotten(forgotten)
        return forgotten

    def add_totals(self, pages: Mapping[str, int], sizes: Mapping[str, int], seconds: float) -> None:
        """Add documents and bytes by host, and working time, to those that the limits of the job count."""
        for number, shard in enumerate(self._shards):
            own_pages, own_sizes = (
                {host: amount for host, amount in by_host.items() if self._shard_of_host(host) == number}
                for by_host in (pages, sizes)
            )
            shard.add_totals(own_pages, own_sizes, seconds)

    def drop_marks(self) -> None:
        """Drop the marks of `forget_seen`."""
        for shard in self._shards:
            shard.drop_marks()


class ShardedOutside(OutsideQueues):
    """The queues of one job with several shards, as a program outside sees them."""

    def __init__(self, store: Store, shards: Sequence[OutsideQueues], shard_of_host: ShardOf) -> None:
        super().__init__(store)
        self._shards = shards
        self._shard_of_host = shard_of_host

    def due_hosts(self, start: int, most: int) -> tuple[list[str], int]:
        """Return hosts that have a URL to visit now, from place `start` on, and the number of all these hosts."""
        return _page([shard.due_hosts for shard in self._shards], start, most)

    def all_hosts(self, start: int, most: int) -> tuple[list[str], int]:
        """Return hosts with queued URLs from place `start` on, and their number. Hosts that wait are among them."""
        return _page([shard.all_hosts for shard in self._shards], start, most)

    def host_counts(self, host: str) -> HostCounts:
        """Return the counts of a host."""
        return self._of(host).host_counts(host)

    def bring_forward(self, host: str, per_host: int) -> bool:
        """Let the next claim in the host's shard look at this host first. Return False when it can't be visited now."""
        return self._of(host).bring_forward(host, per_host)

    def held_lease(self, url: str, workers: str) -> Lease | None:
        """Return the lease of a canonical URL; None unless a worker holds it whose name begins with `workers`."""
        return self._of(host_of(url)).held_lease(url, workers)

    def state(self, url: str) -> OutsideUrlState:
        """Return the state of a canonical URL."""
        return self._of(host_of(url)).state(url)

    def _of(self, host: str) -> OutsideQueues:
        return self._shards[self._shard_of_host(host)]


class ShardedSegments(SegmentRegistry):
    """The registry of a job with several shards. Each shard after the first has a folder in that of the job."""

    def __init__(self, store: Store, shards: Sequence[SegmentRegistry]) -> None:
        self._shards = shards
        super().__init__(store)

    @property
    def folder(self) -> Path | None:
        """Return the folder of the job; None where it can't be read."""
        return self._shards[0].folder

    @folder.setter
    def folder(self, folder: Path | None) -> None:
        for number, shard in enumerate(self._shards):
            shard.folder = folder if number == 0 or folder is None else folder / f"{_SHARD}{number}"

    def segments(self) -> list[Segment]:
        """Return all segments, those of a host in the order of the queue."""
        return [segment for shard in self._shards for segment in shard.segments()]

    def entries(self) -> Iterator[tuple[str, list[SegmentEntry]]]:
        """Yield the URLs in segments that will be queued again, in lists, each with the host."""
        return chain.from_iterable(shard.entries() for shard in self._shards)


class ShardedSpiller(QueueSpiller):
    """The spillers of all shards work together, each in a thread of its own."""

    def __init__(self, spillers: Sequence[QueueSpiller]) -> None:
        self._spillers = spillers
        self._running = ExitStack()

    def __enter__(self) -> Self:
        for spiller in self._spillers:
            self._running.enter_context(spiller)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._running.close()

    def look(self) -> None:
        """Write and read segments once, as needed. Raises OSError, FrontierUnavailable and FrontierLost."""
        for spiller in self._spillers:
            spiller.look()


def _page(
    readers: Sequence[Callable[[int, int], tuple[list[str], int]]], start: int, most: int
) -> tuple[list[str], int]:
    """Return names from place `start` on, and the number of all names, which the readers have one after another."""
    found, total = list[str](), 0
    for read in readers:
        names, number = read(max(start - total, 0), max(most - len(found), 0) or 1)
        if start < total + number and len(found) < most:
            found += names[: most - len(found)]
        total += number
    return found, total


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for text in texts:
        chunk.append(text)
        if len(chunk) >= _SCAN:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _by_shard(urls: Sequence[str], shard_of_url: ShardOf) -> dict[int, list[str]]:
    found = defaultdict[int, list[str]](list)
    for url in urls:
        found[shard_of_url(url)].append(url)
    return found
