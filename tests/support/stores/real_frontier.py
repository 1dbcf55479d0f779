"""A frontier on a real Redis, and a hand on its clock: what is stored as due can be made due."""

from __future__ import annotations

from typing import Any, Final

import redis

from archive.settings import FrontierSettings
from archive.settings.values.cluster_url import is_cluster
from frontier.definition.job import Job, Profile
from frontier.lease import Lease
from frontier.queue import Frontier
from frontier.store import connect
from support.processes.waiting import until

PATIENT = FrontierSettings(min_delay_seconds=0, delay_factor=0, retry_seconds=0, max_retry_seconds=0)
"""No delays at all: for tests of everything but delays."""
_ANSWER_SECONDS: Final = 60.0
"""A Redis on a busy machine may need this long for an answer."""


def _server_of(url: str) -> redis.Redis:
    """A client of the server that has the jobs; of a cluster, that with their slot."""
    if not is_cluster(url):
        return redis.Redis.from_url(url, protocol=2)
    with connect(url, 10) as cluster:
        node = cluster.get_node_from_key("gf:{main}:")
    return redis.Redis(node.host, node.port, protocol=2)


class Bench:
    """Frontiers on one Redis, and looks into it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client: Any = _server_of(url)
        self._open: list[Frontier] = []

    def frontier(
        self,
        *seeds: str,
        name: str = "spring",
        settings: FrontierSettings = PATIENT,
        profile: Profile | None = None,
        opened: bool = True,
    ) -> Frontier:
        """The frontier of a job with these seeds, one of example.org when none are named."""
        job = Job.of(name, "garden", seeds or ["http://example.org/"], profile or Profile(scope="any"))
        frontier = Frontier(self.url, job, settings, timeout_seconds=_ANSWER_SECONDS)
        self._open.append(frontier)
        if opened:
            frontier.open_job()
        return frontier

    def keep(self, frontier: Frontier) -> None:
        """Close this frontier at the end."""
        self._open.append(frontier)

    def again(self, frontier: Frontier, settings: FrontierSettings = PATIENT) -> Frontier:
        """The same job in another process: nothing but its name is known there."""
        other = Frontier.of(self.url, frontier.job.name, settings, timeout_seconds=_ANSWER_SECONDS)
        self._open.append(other)
        return other

    def now(self) -> int:
        """Redis's clock, milliseconds."""
        seconds, micros = self.client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def host(self, name: str) -> dict[str, int]:
        """What is stored of a host in numbers: d, b, n, f and others."""
        stored = self.client.hgetall(f"gf:{{main}}:@{name}")
        return {field.decode(): int(value) for field, value in stored.items() if field != b"j"}

    def key(self, name: str, job: str = "spring") -> str:
        """A key of the job."""
        return f"gf:{{main}}:{job}:{name}"

    def make_due(self, *hosts: str, job: str = "spring") -> None:
        """Let the delay of these hosts be over."""
        for name in hosts:
            self.client.hset(f"gf:{{main}}:@{name}", "d", 0)
            self.client.zadd(self.key("ready", job), {name: 0}, xx=True)
            self.client.zadd(self.key("front", job), {name: 0}, xx=True)

    def make_retries_due(self, job: str = "spring") -> None:
        """Let the rest of all URLs be over."""
        for id in self.client.zrange(self.key("retry", job), 0, -1):
            self.client.zadd(self.key("retry", job), {id: 1})

    def expire(self, lease: Lease, job: str = "spring") -> None:
        """Let a lease run out."""
        self.client.zadd(self.key("leases", job), {lease.id: 1}, xx=True)

    def set_clock_back(self, ms: int, *jobs: str) -> None:
        """Let every stored time lie further ahead, as it does when Redis's clock is set back by so much."""
        for job in jobs or ("spring",):
            for name in ("ready", "front", "retry", "leases", "groupready", "due"):
                for member in self.client.zrange(self.key(name, job), 0, -1):
                    self.client.zincrby(self.key(name, job), ms, member)
            for name in ("clock", "last"):
                if self.client.hexists(self.key("state", job), name):
                    self.client.hincrby(self.key("state", job), name, ms)
            for url, kept in self.client.hgetall(self.key("robots", job)).items():
                times, rest = kept.split(b"\n", 1)
                later = ":".join(str(int(part) + ms) for part in times.split(b":"))
                self.client.hset(self.key("robots", job), url, later.encode() + b"\n" + rest)
            for field in self.client.hkeys(self.key("groups", job)):
                if field[:2] in (b"d:", b"s:"):
                    self.client.hincrby(self.key("groups", job), field, ms)
        for host in self.client.scan_iter("gf:{main}:@*"):
            for name in ("d", "s", "l"):
                if self.client.hexists(host, name):
                    self.client.hincrby(host, name, ms)

    def wait_until_written(self) -> None:
        """Return when Redis has handed all it acknowledged to the system: it may postpone that while it syncs."""

        def is_written() -> bool:
            told = self.client.info("persistence")
            return not told["aof_buffer_length"] and not told["aof_pending_bio_fsync"]

        until(is_written, what="Redis to write its append-only file")

    def close(self) -> None:
        """Close all connections."""
        for frontier in self._open:
            frontier.close()
        self.client.close()
