"""The frontier reports the progress of a job in constant time, and its URLs, seeds and hosts as streams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import batched, chain, islice
from typing import Any, Final, Literal, get_args

from frontier.definition.groups import GroupList, members_text
from frontier.definition.quotas import QuotaOwner, Quotas, reached_text
from frontier.definition.revisit import RevisitHistory
from frontier.definition.scope import Candidate
from frontier.lease import BloomProgress, JobProgress, RenderProgress, Wait, WaitKind
from frontier.packing import unpack
from frontier.seen import BLOCK_BYTES, bloom_filter
from frontier.segments.registry import SegmentRegistry
from frontier.store import RENDERS, Store, stored_number

type UrlState = Literal["queued", "leased", "failed", "excluded"]

_SCAN: Final = 500
_NAMED_WAITS: Final = 3
_OF_JOB: Final = 14
"""Values of the job in the answer of progress.lua; those of its renders follow."""
_TURNS: Final = 2**41
"""Scores of one group among the hosts that wait (common.lua)."""
_SAMPLED_BLOCKS: Final = 16
"""The bits of so many blocks tell how full a Bloom filter is: every URL has the same chance to be in each block."""
_LAG_STEPS: Final = 8
"""Classes of lags in each doubling (common.lua)."""


@dataclass(frozen=True, slots=True)
class UrlReport:
    """The report describes a URL that is not done.

    `code` is 0 until the URL has ended. `candidate` is None when its record is damaged.
    """

    state: UrlState
    candidate: Candidate | None
    code: int = 0


@dataclass(frozen=True, slots=True)
class SeedReport:
    """The report has the state of a seed, as in Heritrix's seeds report."""

    url: str
    state: str
    """queued, done, failed, excluded or again. A seed that is queued or again will be visited."""
    code: int
    redirect: str | None


@dataclass(frozen=True, slots=True)
class RejectedSeed:
    """A seed, or the target of its redirect, was rejected by the rule."""

    url: str
    reason: str
    rule: str


@dataclass(frozen=True, slots=True)
class SeedFacts:
    """The frontier knows this about a seed; a report and a rejection are None when there are none."""

    url: str
    report: SeedReport | None = None
    astray: RejectedSeed | None = None


@dataclass(frozen=True, slots=True)
class HostReport:
    """The report counts the visited and the queued URLs of a host."""

    host: str
    pages: int
    bytes: int
    queued: int
    aside: str | None
    """The reason why the host was set aside. Its queued URLs then count as excluded."""


@dataclass(frozen=True, slots=True)
class HostQueue:
    """A host queue says how many URLs of a host are queued, when the next one may be visited, and why not now."""

    host: str
    queued: int
    due_seconds: float
    """0 when the host can be visited now, or when only the end of a visit or of a block decides."""
    aside: str = ""
    """Why the host was set aside; empty when it was not."""
    wait: Wait | None = None
    """Why the host waits; None when it can be visited now, was set aside, or has only documents beyond the limit."""
    is_beyond: bool = False
    """The job's limit of pages keeps the rest of the queue back."""
    visits: int = 0
    """Visits of the host that go on now, of this job or another one."""
    failures: int = 0
    """Failed visits in a row."""
    session_visits: int = 0
    """Visits of the host's session so far, by `host_queue`; 0 when no session goes on."""


@dataclass(frozen=True, slots=True)
class GroupReport:
    """The report has the state of a queue group."""

    name: str
    members: str
    """The members, of which some are named."""
    parallel: int
    delay_seconds: float
    hosts: int
    """Hosts of the group that were due at least once."""
    waiting: int
    """Hosts that wait for the group, with those of renders."""
    visits: int
    """Visits of the group that go on."""
    visited: int
    """Visits of the group that began so far."""
    due_seconds: float
    """The time until the delay of the group ends."""


@dataclass(frozen=True, slots=True)
class RevisitReport:
    """The report has the history of a URL of a continuous crawl, and when it is visited again."""

    url: str
    state: str
    """waiting (until it is due), queued, resting (before a retry), visited (a visit goes on) or ended."""
    due_seconds: float | None
    """The time until the URL is due; 0 when it is due, None when it is not visited again."""
    since_seconds: float | None
    """The time since the last visit; None before the first one has ended."""
    history: RevisitHistory | None
    """None before the first visit has ended."""


@dataclass(frozen=True, slots=True)
class RejectedLink:
    """A link was rejected for this reason, by this rule."""

    url: str
    via: str | None
    reason: str
    rule: str


class Reports:
    """The reports of one job."""

    def __init__(self, store: Store, segments: SegmentRegistry | None = None) -> None:
        self._store = store
        self._segments = segments

    def active_workers(self) -> set[str]:
        """Return the names of the worker processes that visit a URL of the job, or render one."""
        found = set[str]()
        for store in (self._store, self._store.renders()):
            with store.guarded():
                held = store.client.hgetall(store.key("lease"))
            # A lease has its token and the name of a worker's thread, which ends in a number.
            leases = (value for key, value in held.items() if key[:2] not in (b"c:", b"f:", b"g:"))
            found |= {lease.decode().partition("\n")[2].rpartition("-")[0] for lease in leases}
        return found

    def progress(self) -> JobProgress:
        """Return the progress of the job at one moment. The cost does not depend on the size of the job."""
        answer = self._store.run("progress", _NAMED_WAITS)
        flat, leased, hosts, waiting, due_ms, paused, stopped, *named, paused_ms, added, groups, due, first_due = (
            answer[:_OF_JOB]
        )
        waits = [*self._waits(*named), *(_group_wait(name, ms / 1000) for name, ms in batched(groups, 2))]
        if first_due >= 0 and len(waits) < _NAMED_WAITS:
            waits.append(Wait(f"{due:,} {'URL' if due == 1 else 'URLs'}", WaitKind.DUE, first_due / 1000))
        counts = {name.decode(): int(value) for name, value in batched(flat, 2)}
        return JobProgress(
            **{name: counts.get(name, 0) for name in ("queued", "done", "failed", "excluded", "bytes", "retries")},
            swept=counts.get("swept", 0),
            leased=leased,
            hosts=hosts,
            hosts_waiting=waiting,
            next_due_seconds=None if due_ms < 0 else due_ms / 1000,
            codes={int(name[2:]): value for name, value in counts.items() if name.startswith("c:")},
            rejected={name[2:]: value for name, value in counts.items() if name.startswith("r:")},
            paused=paused.decode() if paused else None,
            stopped=stopped.decode() if stopped else None,
            pages=counts.get("pages", 0),
            fetched_along=counts.get("along", 0),
            spilled=counts.get("spilled", 0),
            lost=counts.get("spill_lost", 0),
            paused_seconds=paused_ms / 1000 if paused else None,
            added=added,
            waits=tuple(waits),
            revisits=due,
            renders=_render_progress(*answer[_OF_JOB:]),
            bloom=self._bloom_progress(),
        )

    def _bloom_progress(self) -> BloomProgress | None:
        store, rules = self._store, self._store.seen
        if (found := bloom_filter(rules)) is None:
            return None
        looked_at = min(found.blocks, _SAMPLED_BLOCKS)
        with store.guarded():
            pipeline = store.client.pipeline(transaction=False)
            for number in range(looked_at):
                pipeline.bitcount(store.key(f"bloom:{number * found.blocks // looked_at}"))
            urls = found.urls(sum(pipeline.execute()) / (looked_at * 8 * BLOCK_BYTES))
        return BloomProgress(urls, rules.expected_urls, found.rate(urls), found.dropped(urls))

    def has_renders(self) -> bool:
        """Return whether a page of the job was ever queued for a render."""
        return self._store.has_renders()

    def lags(self) -> dict[int, int]:
        """Return the number of finished renders by lag, as `lag_quantile` takes them."""
        renders = self._store.renders()
        with renders.guarded():
            found = renders.client.hgetall(renders.key("lags"))
        return {int(step): int(number) for step, number in found.items()}

    def urls(self, state: UrlState) -> Iterator[UrlReport]:
        """Yield the URLs in this state, as a stream. While workers are busy, a URL may be missing or come twice.

        Redis does not keep URLs that are done. They are in crawl.log, and seeds also in `seeds`.
        """
        if state not in get_args(UrlState.__value__):
            raise ValueError(f"state = {state!r} has no report; choose queued, leased, failed or excluded")
        yield from self._ended(state)
        yield from self._open(state)
        if state in ("queued", "excluded") and self._segments is not None:
            aside = self._store.aside()
            for host, entries in self._segments.entries():
                if (host.encode() in aside) == (state == "excluded"):
                    yield from (UrlReport(state, unpack(entry.record)) for entry in entries)

    def seeds(self) -> Iterator[SeedReport]:
        """Yield the state of each seed, as a stream."""
        for _, line in self._store.scan("seeds"):
            yield _seed_report(line)

    def facts_of_seeds(self, urls: Iterable[str]) -> Iterator[SeedFacts]:
        """Yield what is known about each of these seeds, in their order, as a stream."""
        store = self._store
        for chunk in batched(urls, _SCAN):
            with store.guarded():
                found = store.client.hmget(store.key("seeds"), [store.fingerprint(url).id for url in chunk])
                astray = store.client.hmget(store.key("astray"), list(chunk))
            for url, line, rejection in zip(chunk, found, astray, strict=True):
                yield SeedFacts(url, line and _seed_report(line), rejection and _rejected_seed(rejection))

    def hosts(self) -> Iterator[HostReport]:
        """Yield every host that has successful visits or queued URLs, or was set aside, as a stream."""
        store = self._store
        for chunk in batched(self._store.scan("pages"), _SCAN):
            yield from self._hosts({host: int(pages) for host, pages in chunk})
        reported = set[bytes]()
        with store.guarded():
            waiting = self._queued_hosts()
            beyond = ((host, 0) for host in store.client.sscan_iter(store.key("beyond"), count=_SCAN))
            for chunk in batched(chain(waiting, beyond, self._store.scan("aside"), self._store.scan("spilled")), _SCAN):
                hosts = list(dict.fromkeys(host for host, _ in chunk if host not in reported))
                reported.update(hosts)
                if hosts:
                    pages = store.client.hmget(store.key("pages"), hosts)
                    yield from self._hosts({host: 0 for host, known in zip(hosts, pages, strict=True) if not known})

    def waiting_hosts(self) -> Iterator[str]:
        """Yield the hosts that have queued URLs and are not set aside, as a stream."""
        store = self._store
        with store.guarded():
            for host, _ in self._queued_hosts():
                yield host.decode("utf-8", "replace")
            for host in store.client.sscan_iter(store.key("beyond"), count=_SCAN):
                yield host.decode("utf-8", "replace")

    def longest_queues(self, most: int, *, looked_at: int = 5_000) -> list[HostQueue]:
        """Return the hosts with the longest queues, longest first; of many hosts, the first `looked_at` are compared.

        The cost does not depend on the size of the job.
        """
        store = self._store
        with store.guarded():
            now = store.now_ms()
            parked = {host for host, _ in islice(store.client.zscan_iter(store.key("parked")), looked_at)}
            ready = [(host, "", False) for host, _ in islice(self._queued_hosts(), 2 * looked_at)]
            aside = islice(store.client.hscan_iter(store.key("aside")), looked_at)
            beyond = islice(store.client.sscan_iter(store.key("beyond")), looked_at)
            found = [*ready, *((host, why.decode("utf-8", "replace"), False) for host, why in aside)]
            found += [(host, "", True) for host in beyond]
            spilled = {host: int(count) for host, count in store.client.hgetall(store.key("spilled")).items()}
            known = {host for host, _, _ in found}
            found += [(host, "", False) for host in spilled if host not in known]
            counted: list[tuple[int, str, str, bool]] = []
            for chunk in batched(dict.fromkeys(found), _SCAN):
                pipeline = store.client.pipeline(transaction=False)
                names = [host.decode("utf-8", "replace") for host, _, _ in chunk]
                for name in names:
                    pipeline.zcard(store.key(f"q:{name}"))
                for name, (host, why, is_beyond), count in zip(names, chunk, pipeline.execute(), strict=True):
                    counted.append((int(count) + spilled.get(host, 0), name, why, is_beyond))
            longest = nlargest(most, counted, key=lambda each: each[:2])
            pipeline = store.client.pipeline(transaction=False)
            for _, name, _, _ in longest:
                pipeline.hmget(store.host_key(name), "d", "n", "j", "f", "e", "b")
            states = pipeline.execute()
        queues = [
            self._queue(name, count, why, is_beyond, state, now)
            for (count, name, why, is_beyond), state in zip(longest, states, strict=True)
        ]
        return [self._with_group(queue) if queue.host.encode() in parked else queue for queue in queues]

    def _with_group(self, queue: HostQueue) -> HostQueue:
        """Return the queue of a host that waits for its group, unless something else keeps it longer."""
        if queue.wait is not None or queue.aside or queue.is_beyond:
            return queue
        return replace(queue, wait=Wait(self.group_of(queue.host), WaitKind.GROUP))

    def _queued_hosts(self) -> Iterator[tuple[bytes, float]]:
        """Yield the hosts that have queued URLs: first those of their own turn, then those of groups.

        A host may come twice.
        """
        for name in ("ready", "parked"):
            yield from self._store.client.zscan_iter(self._store.key(name), count=_SCAN)

    def host_queue(self, host: str) -> HostQueue:
        """Return the queue of one host, which may be empty."""
        store = self._store
        with store.guarded():
            now = store.now_ms()
            queued = int(store.client.zcard(store.key(f"q:{host}")))
            queued += int(store.client.hget(store.key("spilled"), host) or 0)
            aside = store.client.hget(store.key("aside"), host) or b""
            is_beyond = bool(store.client.sismember(store.key("beyond"), host))
            state = store.client.hmget(store.host_key(host), "d", "n", "j", "f", "e", "b")
            session = int(store.client.hget(store.key("sessions"), host) or 0)
        queue = self._queue(host, queued, aside.decode("utf-8", "replace"), is_beyond, state, now)
        return replace(queue, session_visits=session)

    def _queue(
        self, host: str, queued: int, aside: str, is_beyond: bool, state: Sequence[bytes | None], now: int
    ) -> HostQueue:
        """Return the queue of a host, of the host's fields d, n, j, f, e and b."""
        due, visits, failures, code, block = (stored_number(state[at]) for at in (0, 1, 3, 4, 5))
        due_ms, block_ms = max(due - now, 0), max(block - now, 0)
        waits = due_ms > 0 or block_ms > 0 or visits > 0
        row = (host.encode(), due_ms, visits, state[2] or b"", failures, code, block_ms)
        wait = next(self._waits(row, ())) if waits and not aside and not is_beyond else None
        due_seconds = 0.0 if aside else max(due_ms, block_ms) / 1000
        return HostQueue(host, queued, due_seconds, aside, wait, is_beyond, visits, failures)

    def groups(self) -> list[GroupReport]:
        """Return the queue groups in the order in which they are compared with a host."""
        store, renders = self._store, self._store.renders()
        with store.guarded():
            pipeline = store.client.pipeline(transaction=False)
            pipeline.get(store.key("groupdef"))
            pipeline.hgetall(store.key("groups"))
            text, fields = pipeline.execute()
            now = store.now_ms()
            defined = GroupList.unpacked(text or b"[]").groups
            for each in (store, renders):
                for number in range(len(defined)):
                    first = number * _TURNS
                    pipeline.zcount(each.key("parked"), first, f"({first + _TURNS}")
            counts = pipeline.execute() if defined else []
        reports = []
        for number, group in enumerate(defined):
            name = group.name.encode()
            kinds = (b"n:", b"v:", b"h:", b"d:")
            visits, visited, hosts, due = (stored_number(fields.get(kind + name)) for kind in kinds)
            reports.append(
                GroupReport(
                    group.name,
                    members_text(group),
                    group.parallel,
                    group.delay_ms / 1000,
                    hosts=hosts,
                    waiting=counts[number] + counts[len(defined) + number],
                    visits=visits,
                    visited=visited,
                    due_seconds=min(max(due - now, 0), group.delay_ms) / 1000,
                )
            )
        return reports

    def group_of(self, host: str) -> str:
        """Return the name of the queue group to which a host was found to belong; empty for none."""
        with self._store.guarded():
            found = self._store.client.hget(self._store.key("hostgroups"), host)
        return found.decode("utf-8", "replace").rpartition("\n")[2] if found else ""

    def revisit(self, url: str) -> RevisitReport | None:
        """Return the report of a canonical URL; None when the job does not know the URL."""
        mark, store = self._store.fingerprint(url), self._store
        with store.guarded():
            pipeline = store.client.pipeline(transaction=False)
            pipeline.hget(store.key("revisits"), mark.id)
            pipeline.zscore(store.key("due"), mark.id)
            pipeline.hmget(store.key("state"), "dueshift", "revisit")
            pipeline.zscore(store.key("leases"), mark.id)
            pipeline.zscore(store.key("retry"), mark.id)
            pipeline.hexists(store.key("u"), mark.id)
            kept, due, (shift, is_continuous), leased, rests, is_open = pipeline.execute()
        if not (is_open or store.was_seen(mark)):
            return None
        now = store.now_ms()
        last, _, packed = (kept or b"").partition(b"\n")[0].decode().partition(" ")
        state = "visited" if leased is not None else "resting" if rests is not None else "queued" if is_open else ""
        due_seconds = 0.0 if state else None
        # URLs of an earlier attempt that are due some time are not visited when the job visits no URL again.
        if not state and due is not None and is_continuous:
            state, due_seconds = "waiting", max(due + stored_number(shift) - now, 0) / 1000
        return RevisitReport(
            url,
            state or "ended",
            due_seconds,
            max(now - int(last), 0) / 1000 if last.isdecimal() else None,
            RevisitHistory.unpacked(packed),
        )

    def limits(self) -> dict[str, float]:
        """Return the limits of the job that are in force now, by their keys in the profile."""
        names = ("pages", "bytes", "seconds", "host_pages", "urls")
        with self._store.guarded():
            found = self._store.client.hmget(self._store.key("state"), *names)
        return {name: float(value) for name, value in zip(names, found, strict=True) if value is not None}

    def quotas(self) -> Quotas:
        """Return the quotas of the job that are in force now, by owner and kind."""
        with self._store.guarded():
            found = self._store.client.hget(self._store.key("state"), "quotas")
        return json.loads(found) if found else {}

    def reached_quota(self, owner: QuotaOwner = "job", name: str = "") -> str:
        """Return the quota that the job, a domain, a host or a seed has reached; empty when there is none."""
        with self._store.guarded():
            found = self._store.client.hget(self._store.key("spent"), f"{owner}\n{name}")
        return reached_text(found.decode()) if found else ""

    def switched_off_patterns(self) -> dict[str, str]:
        """Return the patterns that a worker switched off, as their search took too long, each with such a URL."""
        with self._store.guarded():
            found = self._store.client.hgetall(self._store.key("slow"))
        return {text.decode("utf-8", "replace"): url.decode("utf-8", "replace") for text, url in found.items()}

    def rejected(self) -> Iterator[RejectedLink]:
        """Yield the latest rejected links, newest first. Links that were seen before are only counted."""
        with self._store.guarded():
            lines = self._store.client.lrange(self._store.key("rejected"), 0, -1)
        for line in lines:
            url, via, reason, rule = json.loads(line)
            yield RejectedLink(url, via, reason, rule)

    def _ended(self, state: UrlState) -> Iterator[UrlReport]:
        for _, line in self._store.scan("ended"):
            ending, code, record = line.split(b"\n", 2)
            if ending.decode() == state:
                yield UrlReport(state, unpack(record), int(code))

    def _open(self, state: UrlState) -> Iterator[UrlReport]:
        aside = self._store.aside()
        # A job of an earlier release has tries (`t:ID`, `l:ID`) among the records.
        records = ((id, record) for id, record in self._store.scan("u") if b":" not in id)
        for chunk in batched(records, _SCAN):
            with self._store.guarded():
                pipeline = self._store.client.pipeline(transaction=False)
                for id, _ in chunk:
                    pipeline.zscore(self._store.key("leases"), id)
                    pipeline.zscore(self._store.key("retry"), id)
                scores = pipeline.execute()
            for (_, record), (leased, waits) in zip(chunk, batched(scores, 2), strict=True):
                is_aside = waits is None and record.partition(b"\n")[0] in aside
                if state == ("leased" if leased is not None else "excluded" if is_aside else "queued"):
                    yield UrlReport(state, unpack(record))

    def _hosts(self, pages: Mapping[bytes, int]) -> Iterator[HostReport]:
        """Yield these hosts, given with their documents."""
        store = self._store
        with store.guarded():
            pipeline = store.client.pipeline(transaction=False)
            for host in pages:
                pipeline.hget(store.key("hostbytes"), host)
                pipeline.zcard(store.key(f"q:{host.decode()}"))
                pipeline.hget(store.key("aside"), host)
                pipeline.hget(store.key("spilled"), host)
            answers = pipeline.execute()
        for (host, documents), (fetched, queued, aside, spilled) in zip(
            pages.items(), batched(answers, 4), strict=True
        ):
            why = aside.decode() if aside else None
            yield HostReport(host.decode(), documents, int(fetched or 0), queued + int(spilled or 0), why)

    def _waits(self, hosts: Sequence[Any], urls: Sequence[Any]) -> Iterator[Wait]:
        """Yield the waiting hosts and the resting URLs in the answer of progress.lua."""
        for host, due_ms, visits, job, failures, code, block_ms in batched(hosts, 7):
            name, holder = host.decode("utf-8", "replace"), job.decode("utf-8", "replace")
            if block_ms > due_ms:
                yield Wait(name, WaitKind.BLOCKED, block_ms / 1000)
            elif visits and holder.removesuffix(RENDERS) != self._store.job:
                yield Wait(name, WaitKind.HELD, job=holder.removesuffix(RENDERS))
            elif visits:
                yield Wait(name, WaitKind.VISITED)
            elif failures:
                yield Wait(name, WaitKind.RETRY, due_ms / 1000, code=code)
            else:
                yield Wait(name, WaitKind.DELAY, due_ms / 1000)
        for record, due_ms, _ in batched(urls, 3):
            candidate = unpack(record)
            if candidate is not None:
                yield Wait(candidate.url, WaitKind.RETRY, due_ms / 1000)


def _render_progress(
    flat: Sequence[bytes], leased: int, oldest_ms: int, lags: Sequence[bytes], workers: bytes
) -> RenderProgress:
    """Return the progress of the renders in the answer of progress.lua."""
    counts = {name.decode(): int(value) for name, value in batched(flat, 2)}
    return RenderProgress(
        **{name: counts.get(name, 0) for name in ("queued", "done", "failed", "excluded", "retries")},
        leased=leased,
        oldest_seconds=None if oldest_ms < 0 else oldest_ms / 1000,
        p95_seconds=lag_quantile({int(step): int(number) for step, number in batched(lags, 2)}, 0.95),
        lag_seconds=counts.get("lag_ms", 0) / 1000,
        workers=int(workers) if workers else None,
    )


def lag_quantile(renders: Mapping[int, int], share: float) -> float | None:
    """Return the lag in seconds that this share of the renders did not exceed; None for no render.

    `renders` has the number of renders by eight times the binary logarithm of their lag in milliseconds, rounded down.
    The result is at most a tenth too high.
    """
    wanted = share * sum(renders.values())
    reached = 0
    for step, number in sorted(renders.items()):
        reached += number
        if reached >= wanted:
            return round(2 ** ((step + 1) / _LAG_STEPS) / 1000, 3)
    return None


def _seed_report(line: bytes) -> SeedReport:
    state, code, redirect, url = line.decode("utf-8", "replace").split("\n", 3)
    return SeedReport(url, state, int(code), redirect or None)


def _rejected_seed(line: bytes) -> RejectedSeed:
    reason, rule, url = line.decode("utf-8", "replace").split("\n", 2)
    return RejectedSeed(url, reason, rule)


def _group_wait(name: bytes, seconds: float) -> Wait:
    return Wait(name.decode("utf-8", "replace"), WaitKind.GROUP, seconds)
