"""The queue desk reads the URLs of one job from Redis as streams, and changes its queues.

A stream keeps a few hundred URLs in memory. While workers are busy, a URL may be missing in a stream or come twice.
Each change is a script in Redis, so that a URL is either changed or claimed by a worker, never both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched, islice
from typing import Final, Literal

from archive import crawl_log
from archive.url import host_of
from frontier.definition.job import JobError
from frontier.definition.scope import Candidate
from frontier.packing import pack, queue_score, unpack
from frontier.queues.entry import ENTRY_STATES, EntryState, QueueEntry
from frontier.seen import BUCKETS, BloomFilter, bloom_filter, fingerprint_of
from frontier.segments.registry import SegmentRegistry
from frontier.store import ScriptArgument, Store

_SCAN: Final = 500
_BLOCKS: Final = 50
"""Blocks of a Bloom filter in one answer of Redis."""
_SEQUENCES: Final = 1 << 40
"""A score is the priority and depth times this number, plus the order (common.lua)."""


@dataclass(frozen=True, slots=True)
class RestoredUrl:
    """A restored URL is taken into a job with the state that it had elsewhere: queued, failed, excluded or done."""

    candidate: Candidate
    state: str = "queued"
    code: int = 0
    tries: int = 0
    rest_seconds: float = 0.0
    order: int | None = None
    """None puts the URL behind those that are queued already."""


@dataclass(frozen=True, slots=True)
class SeenBlock:
    """A block of the Bloom filter of seen URLs has a number from 0 on, and bits."""

    filter: BloomFilter
    number: int
    bits: bytes


class QueueDesk:
    """The desk of one job. It is safe to share between threads."""

    def __init__(self, store: Store, segments: SegmentRegistry | None = None) -> None:
        self._store = store
        self._segments = segments

    def renders(self) -> QueueDesk:
        """Return the desk of the job's renders."""
        return QueueDesk(self._store.renders())

    def entries(
        self, states: Collection[EntryState] = ENTRY_STATES, wanted: Callable[[str], bool] | None = None
    ) -> Iterator[QueueEntry]:
        """Yield the URLs in these states, in no order. `wanted` decides by the URL, before more is read of it.

        Waiting URLs of a host that was set aside are excluded. Redis does not keep URLs that are done.
        """
        if {"failed", "excluded"} & set(states):
            yield from self._ended(states, wanted)
        aside = self._store.aside()
        for found in self._chunks(wanted):
            yield from (entry for entry in self._open(found, aside) if entry.state in states)
        if self._segments is not None and {"queued", "excluded"} & set(states):
            yield from self._spilled(self._segments, states, wanted, aside)

    def waiting(self, host: str, most: int) -> list[QueueEntry]:
        """Return the first URLs in the queue of a host, in the order in which they will be visited."""
        store = self._store
        with store.guarded():
            ids = store.client.zrange(store.key(f"q:{host}"), 0, most - 1)
        aside = self._store.aside()
        return [entry for chunk in batched(ids, _SCAN) for entry in self._open(self._records(chunk), aside)]

    def leased_of(self, host: str, most: int) -> list[QueueEntry]:
        """Return URLs of a host that are being visited."""
        return self._of_host("leases", host, most, looked_at=None)

    def resting_of(self, host: str, most: int, *, looked_at: int | None = None) -> list[QueueEntry]:
        """Return URLs of a host that rest after a failure. At most `looked_at` resting URLs of all hosts are read."""
        return self._of_host("retry", host, most, looked_at=looked_at)

    def resting(self) -> int:
        """Return the number of URLs that rest after a failure."""
        with self._store.guarded():
            return int(self._store.client.zcard(self._store.key("retry")))

    def seen(self) -> Iterator[list[str]]:
        """Yield the fingerprints of all URLs that were seen, as a stream of lists.

        Of a job whose seen test is a Bloom filter, these are the fingerprints of seeds; `seen_blocks` has the others.
        """
        store = self._store
        for buckets in batched(range(BUCKETS), _SCAN):
            with store.guarded():
                pipeline = store.client.pipeline(transaction=False)
                for bucket in buckets:
                    pipeline.smembers(store.key(f"seen:{bucket}"))
                found = pipeline.execute()
            marks = [mark.decode() for members in found for mark in members]
            yield from (list(chunk) for chunk in batched(marks, _SCAN))

    def add_seen(self, marks: Iterable[str]) -> int:
        """Add fingerprints to those of the URLs that were seen. Return how many were new."""
        added = 0
        for chunk in batched(marks, _SCAN):
            found = (fingerprint_of(int(mark), self._store.seen) for mark in chunk)
            added += int(self._store.run("mark", *(part for mark in found for part in mark)))
        return added

    def seen_blocks(self) -> Iterator[SeenBlock]:
        """Yield the blocks of the Bloom filter of seen URLs, as a stream; none of a job whose seen test is exact."""
        store, found = self._store, bloom_filter(self._store.seen)
        for numbers in batched(range(found.blocks if found else 0), _BLOCKS):
            with store.guarded():
                pipeline = store.client.pipeline(transaction=False)
                for number in numbers:
                    pipeline.get(store.key(f"bloom:{number}"))
                blocks = pipeline.execute()
            for number, bits in zip(numbers, blocks, strict=True):
                if found and bits:
                    yield SeenBlock(found, number, bits)

    def add_seen_block(self, block: SeenBlock) -> None:
        """Add a block to the Bloom filter of seen URLs. Raises JobError when the job has no filter of this shape."""
        if block.filter != bloom_filter(self._store.seen):
            rules = self._store.seen
            raise JobError(
                f"a Bloom filter of {block.filter.blocks} blocks and {block.filter.hashes} bits a URL can't be used"
                f" with seen.method = {rules.method!r}, expected_urls = {rules.expected_urls}, false_positives ="
                f" {rules.false_positives:g}; import into a job with the table seen of the exported one"
            )
        self._store.run("block", block.number, block.bits)

    def delete(self, urls: Iterable[str], code: int = crawl_log.DELETED) -> int:
        """Delete queued URLs, which then count as excluded with this code. Return how many were deleted.

        A URL that is being visited, or has ended, stays as it is. Raises FrontierLost.
        """
        return self.end(urls, "excluded", code)

    def end(self, urls: Iterable[str], ending: Literal["done", "failed", "excluded"], code: int) -> int:
        """End queued URLs without a visit. Return how many ended now. Raises FrontierLost."""
        ended = 0
        for chunk in batched(urls, _SCAN):
            ended += int(self._store.run("end", ending, code, *(self._store.fingerprint(url).id for url in chunk)))
        return ended

    def restore(self, urls: Sequence[RestoredUrl]) -> list[bool] | None:
        """Take in URLs with their states. Return for each whether it was new; None when the job is finished.

        The scope is not asked. Raises FrontierLost.
        """
        answers: list[bool] = []
        for chunk in batched(urls, _SCAN):
            arguments: list[ScriptArgument] = []
            for each in chunk:
                mark = self._store.fingerprint(each.candidate.url)
                place = mark.certain_place if each.candidate.is_seed else mark.place
                arguments += [mark.id, place, host_of(each.candidate.url), queue_score(each.candidate)]
                arguments += [pack(each.candidate), each.state, each.code, each.tries, round(each.rest_seconds * 1000)]
                arguments.append("" if each.order is None else each.order)
            answer = self._store.run("restore", *arguments)
            if answer == b"":
                return None
            answers += [found == 1 for found in answer]
        return answers

    def forget_seen(self, mark: str, urls: Iterable[str]) -> int:
        """Forget that these canonical URLs were seen, once for each `mark`, so that they can be added again.

        Return how many were forgotten. A URL that is queued or leased stays as it is.
        """
        forgotten = 0
        for chunk in batched(urls, _SCAN):
            arguments = [part for url in chunk for part in self._store.fingerprint(url)]
            forgotten += int(self._store.run("forget", mark, *arguments))
        return forgotten

    def note_forgotten(self, number: int) -> None:
        """Let all workers forget which links they know, since so many URLs are no longer seen in another shard."""
        with self._store.guarded():
            self._store.client.hincrby(self._store.key("state"), "unseen", number)

    def add_totals(self, pages: Mapping[str, int], sizes: Mapping[str, int], seconds: float) -> None:
        """Add documents and bytes by host, and working time, to those that the limits of the job count."""
        store = self._store
        with store.guarded():
            pipeline = store.client.pipeline(transaction=False)
            for name, by_host in (("pages", pages), ("hostbytes", sizes)):
                for host, number in by_host.items():
                    pipeline.hincrby(store.key(name), host, number)
            pipeline.hincrby(store.key("count"), "pages", sum(pages.values()))
            pipeline.hincrby(store.key("count"), "bytes", sum(sizes.values()))
            pipeline.hincrby(store.key("state"), "active", round(seconds * 1000))
            pipeline.execute()

    def drop_marks(self) -> None:
        """Drop the marks of `forget_seen`."""
        with self._store.guarded():
            self._store.client.delete(self._store.key("forced"))

    def _spilled(
        self,
        segments: SegmentRegistry,
        states: Collection[EntryState],
        wanted: Callable[[str], bool] | None,
        aside: Collection[bytes],
    ) -> Iterator[QueueEntry]:
        for host, entries in segments.entries():
            state: EntryState = "excluded" if host.encode() in aside else "queued"
            for each in entries if state in states else ():
                candidate = unpack(each.record)
                if candidate is not None and (wanted is None or wanted(candidate.url)):
                    yield QueueEntry(state, candidate, _order(each.record), tries=each.tries, lost=each.lost)

    def _ended(self, states: Collection[EntryState], wanted: Callable[[str], bool] | None) -> Iterator[QueueEntry]:
        for _, line in self._store.scan("ended"):
            ending, code, record = line.split(b"\n", 2)
            state: EntryState = "failed" if ending == b"failed" else "excluded"
            candidate = unpack(record) if state in states else None
            if candidate is not None and (wanted is None or wanted(candidate.url)):
                yield QueueEntry(state, candidate, _order(record), code=int(code))

    def _chunks(self, wanted: Callable[[str], bool] | None) -> Iterator[list[tuple[bytes, bytes, Candidate]]]:
        """Yield the records of URLs that are queued or leased, in lists."""
        found: list[tuple[bytes, bytes, Candidate]] = []
        for id, record in self._store.scan("u"):
            candidate = unpack(record)
            if candidate is not None and (wanted is None or wanted(candidate.url)):
                found.append((id, record, candidate))
            if len(found) >= _SCAN:
                yield found
                found = []
        if found:
            yield found

    def _records(self, ids: Sequence[bytes]) -> list[tuple[bytes, bytes, Candidate]]:
        if not ids:
            return []
        with self._store.guarded():
            records = self._store.client.hmget(self._store.key("u"), ids)
        read = ((id, record, unpack(record)) for id, record in zip(ids, records, strict=True) if record is not None)
        return [(id, record, candidate) for id, record, candidate in read if candidate is not None]

    def _open(self, found: Sequence[tuple[bytes, bytes, Candidate]], aside: Collection[bytes]) -> Iterator[QueueEntry]:
        """Yield the entries of URLs that are queued or leased."""
        if not found:
            return
        store, ids = self._store, [id for id, _, _ in found]
        with store.guarded():
            pipeline = store.client.pipeline(transaction=False)
            pipeline.zmscore(store.key("leases"), ids)
            pipeline.zmscore(store.key("retry"), ids)
            pipeline.hmget(store.key("tries"), [b"t:" + id for id in ids])
            pipeline.hmget(store.key("tries"), [b"l:" + id for id in ids])
            pipeline.hmget(store.key("lease"), ids)
            leases, rests, tries, losses, holders = pipeline.execute()
        now = store.now_ms()
        values = zip(found, leases, rests, tries, losses, holders, strict=True)
        for (_, record, candidate), lease, rest, tried, lost, holder in values:
            state: EntryState = "queued"
            if lease is not None:
                state = "leased"
            elif rest is None and record.partition(b"\n")[0] in aside:
                state = "excluded"
            yield QueueEntry(
                state,
                candidate,
                _order(record),
                tries=int(tried or 0),
                lost=int(lost or 0),
                rest_seconds=0.0 if rest is None else max(rest - now, 0) / 1000,
                lease_seconds=0.0 if lease is None else max(lease - now, 0) / 1000,
                worker=(holder or b"").decode("utf-8", "replace").partition("\n")[2] if lease is not None else "",
            )

    def _of_host(self, name: str, host: str, most: int, *, looked_at: int | None) -> list[QueueEntry]:
        store = self._store
        with store.guarded():
            ids = (id for id, _ in store.client.zscan_iter(store.key(name), count=_SCAN))
            chunks = list[list[tuple[bytes, bytes, Candidate]]]()
            kept = 0
            for chunk in batched(islice(ids, looked_at), _SCAN):
                own = [each for each in self._records(chunk) if each[1].partition(b"\n")[0] == host.encode()]
                chunks.append(own)
                kept += len(own)
                if kept >= most:
                    break
        entries = [entry for chunk in chunks for entry in self._open(chunk, ())]
        return sorted(entries, key=lambda entry: (entry.rest_seconds, entry.order))[:most]


def _order(record: bytes) -> int:
    """Return the order of a URL, which is in the score of its record."""
    try:
        return int(record.split(b"\n", 2)[1]) % _SEQUENCES
    except (IndexError, ValueError):
        return 0
