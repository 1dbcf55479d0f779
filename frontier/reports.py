"""What a job's frontier tells of itself: progress in constant time, and reports as streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import batched
from typing import Any, Final, Literal, get_args

from frontier.lease import Progress
from frontier.record import unpack
from frontier.scope import Candidate
from frontier.store import Store

type UrlState = Literal["queued", "leased", "failed", "excluded"]

_SCAN: Final = 500


@dataclass(frozen=True, slots=True)
class UrlReport:
    """A URL that is not done. `code` is 0 while it has not ended; `candidate` is None if its record is damaged."""

    state: UrlState
    candidate: Candidate | None
    code: int = 0


@dataclass(frozen=True, slots=True)
class SeedReport:
    """What became of a seed, as in Heritrix's seeds report."""

    url: str
    state: str
    """queued, done, failed, excluded or again; queued and again are still to be visited."""
    code: int
    redirect: str | None


@dataclass(frozen=True, slots=True)
class HostReport:
    """What was visited of a host, and what is left."""

    host: str
    pages: int
    bytes: int
    queued: int
    aside: str | None
    """Why the host was set aside; then `queued` URLs count as excluded."""


@dataclass(frozen=True, slots=True)
class RejectedLink:
    """A link that was not taken in, and the rule that decided."""

    url: str
    via: str | None
    reason: str
    rule: str


class Reports:
    """Reports of one job."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def progress(self) -> Progress:
        """Where the job stands, read at one moment; its cost does not depend on the job's size."""
        flat, leased, hosts, waiting, due_ms, paused, stopped = self._store.run("progress")
        counts = {name.decode(): int(value) for name, value in batched(flat, 2)}
        return Progress(
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
        )

    def urls(self, state: UrlState) -> Iterator[UrlReport]:
        """URLs in this state, as a stream; while workers are busy, some may be missed or told twice.

        URLs that are done are not kept here: the crawl.log has them, and `seeds` those of the seeds.
        """
        if state not in get_args(UrlState.__value__):
            raise ValueError(f"no report of URLs in state {state!r}; there are queued, leased, failed and excluded")
        yield from self._ended(state)
        yield from self._open(state)

    def seeds(self) -> Iterator[SeedReport]:
        """The state of each seed, as a stream."""
        for _, line in self._scan("seeds"):
            state, code, redirect, url = line.decode("utf-8", "replace").split("\n", 3)
            yield SeedReport(url, state, int(code), redirect or None)

    def hosts(self) -> Iterator[HostReport]:
        """Every host with a visit that ended well, or set aside, as a stream."""
        store = self._store
        for host, pages in self._scan("pages"):
            yield self._host(host, int(pages))
        for host, _ in self._scan("aside"):
            with store.guarded():
                visited = store.client.hexists(store.key("pages"), host)
            if not visited:
                yield self._host(host, 0)

    def rejected(self) -> Iterator[RejectedLink]:
        """The last rejected links, newest first. Links seen already are counted only."""
        with self._store.guarded():
            lines = self._store.client.lrange(self._store.key("rejected"), 0, -1)
        for line in lines:
            url, via, reason, rule = json.loads(line)
            yield RejectedLink(url, via, reason, rule)

    def _ended(self, state: UrlState) -> Iterator[UrlReport]:
        for _, line in self._scan("ended"):
            ending, code, record = line.split(b"\n", 2)
            if ending.decode() == state:
                yield UrlReport(state, unpack(record), int(code))

    def _open(self, state: UrlState) -> Iterator[UrlReport]:
        aside = self._aside()
        records = ((id, record) for id, record in self._scan("u") if not id.startswith(b"t:"))
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

    def _host(self, host: bytes, pages: int) -> HostReport:
        store, name = self._store, host.decode()
        with store.guarded():
            fetched = int(store.client.hget(store.key("hostbytes"), host) or 0)
            queued = int(store.client.zcard(store.key(f"q:{name}")))
            aside = store.client.hget(store.key("aside"), host)
        return HostReport(name, pages, fetched, queued, aside.decode() if aside else None)

    def _aside(self) -> set[bytes]:
        with self._store.guarded():
            return set(self._store.client.hkeys(self._store.key("aside")))

    def _scan(self, name: str) -> Iterator[tuple[bytes, Any]]:
        with self._store.guarded():
            yield from self._store.client.hscan_iter(self._store.key(name), count=_SCAN)
