"""This bench fills the queue of a job in a Redis of its own, empties it, and measures both: time, CPU and memory."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import batched
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, Final

import redis
from rich.table import Table

from archive.settings import FrontierSettings
from archive.settings.values.cluster_url import is_cluster
from bench.peers.scrapy_queue import ScrapyQueueRound
from bench.process import resource_usage
from frontier.definition.job import Job, Profile, SeenRules
from frontier.definition.scope import Candidate
from frontier.lease import JobFinished, Lease
from frontier.politeness import VisitOutcome
from frontier.private_redis.server import EmbeddedRedis
from frontier.queue import Frontier
from frontier.seen import BUCKETS, bloom_filter
from frontier.segments.registry import SEGMENT_FOLDER
from frontier.shards import drop_job, frontier_for, frontier_of, shard_names, shard_of
from frontier.store import connect

_CHUNK: Final = 500
_JOB: Final = "bench"
_SAMPLE: Final = 100
_SAMPLED_KEYS: Final = 1_000
_POLL_SECONDS: Final = 0.01
_TOLD: Final = 500_000
"""The progress is told after so many URLs."""
_TIMEOUT_SECONDS: Final = 60.0
"""While Redis forks to rewrite the file of a long queue, it does not answer."""
_SETTINGS: Final = FrontierSettings(min_delay_seconds=0, delay_factor=0, retry_seconds=0, max_retry_seconds=0)
"""No delays: the queue alone is measured."""


_EXACT: Final = SeenRules()
_ROWS: Final = (
    ("URLs added a second", "{:,.0f}", "added_per_second"),
    ("links seen before, a second", "{:,.0f}", "known_per_second"),
    ("claim + finish a second", "{:,.0f}", "pairs_per_second"),
    ("CPU of Redis for each, µs", "{:.0f}", "redis_micros"),
    ("CPU of the worker for each, µs", "{:.0f}", "worker_micros"),
    ("step of a batch, p50 ms", "{:.2f}", "claim_p50_ms"),
    ("step of a batch, p99 ms", "{:.2f}", "claim_p99_ms"),
    ("bytes of a queued URL", "{:.0f}", "queued_bytes"),
    ("bytes of a finished URL", "{:.0f}", "seen_bytes"),
    ("bytes of a URL in the seen test", "{:.1f}", "test_bytes"),
    ("CPU of Redis for a link to a visited URL, µs", "{:.1f}", "known_micros"),
    ("bytes of an idle host", "{:.0f}", "idle_bytes"),
    ("restart of Redis, s", "{:.1f}", "restart_seconds"),
    ("URLs that wait in files", "{:,.0f}", "spilled"),
    ("memory that the bench took to add all URLs, MB", "{:.0f}", "loader_megabytes"),
    ("memory of Redis with the full queue, MB", "{:,.0f}", "full_megabytes"),
)
"""The name of each measure, its form, and the field of a round."""


@dataclass(frozen=True, slots=True)
class FrontierRound:
    """A queue was filled and emptied, with these costs."""

    hosts: int
    urls: int
    workers: int
    batch: int
    """URLs that a worker claims and finishes in one step."""
    waiting: int
    """Further hosts with one URL each, which wait for the end of their delays."""
    claims: int
    """URLs that were claimed and finished, of those that do not wait."""
    added_per_second: float
    known_per_second: float
    """Links a second that were seen before, most of which the worker remembers."""
    pairs_per_second: float
    """URLs a second that were claimed and finished."""
    redis_micros: float
    """CPU of Redis for each URL that was claimed and finished."""
    worker_micros: float
    """CPU of the workers for each such URL."""
    claim_p50_ms: float
    """Time of a step: a batch is finished, and the next one is claimed."""
    claim_p99_ms: float
    queued_bytes: float
    """Memory of Redis for each URL that waits, its host included."""
    seen_bytes: float
    """Memory of Redis for each URL that was finished, its host included. The hosts that wait do not count."""
    idle_bytes: float
    """Memory of Redis for each host that was visited and has no URL."""
    restart_seconds: float
    """Time until Redis answers when the server was killed with the full queue."""
    test_bytes: float
    """Memory of the seen test for each URL."""
    known_micros: float
    """CPU of Redis for each link to a visited URL, for a worker that does not remember the link."""
    spilled: int
    """URLs of long queues that waited in files, out of memory, when all had been added."""
    loader_megabytes: float
    """By how much the peak memory of the process that added the URLs has grown meanwhile."""
    full_megabytes: float
    """Memory of Redis when all URLs were queued, those of the hosts that wait included."""


@dataclass(frozen=True, slots=True)
class ServerShare:
    """A server of a cluster took so many calls of scripts, and so much CPU, while a queue was emptied."""

    address: str
    calls: int
    micros: float
    """CPU of this server for each URL that was claimed and finished by any server."""


@dataclass(frozen=True, slots=True)
class ServersRound:
    """The queue of a job on servers that ran before was filled and emptied."""

    hosts: int
    urls: int
    workers: int
    batch: int
    shards: int
    pairs_per_second: float
    worker_micros: float
    servers: Sequence[ServerShare]


def measure_servers(
    url: str, hosts: int, urls: int, workers: int, tell: Callable[[str], None], *, batch: int = 1, shards: int = 1
) -> ServersRound:
    """Fill and empty the queue of a job on the Redis or Redis Cluster at `url`, and share the costs among its servers.

    The job is dropped before and after. Raises FrontierUnavailable.
    """
    settings = _SETTINGS.model_copy(update={"shards": shards})
    job = Job.of(_JOB, "bench", ["http://seed.test/"], Profile(scope="any"))
    drop_job(url, _JOB, settings, timeout_seconds=60)
    frontier = frontier_for(url, job, settings)
    try:
        frontier.open_job()
        for chunk in batched(_candidates(hosts, urls), _CHUNK):
            frontier.add(chunk)
        tell(f"{urls:,} URLs added")
        servers = _servers(url)
        before = [_load(server) for server in servers]
        found = _emptied(url, workers, batch, urls, shards)
        after = [_load(server) for server in servers]
        pairs = sum(one.pairs for one in found)
        shares = [
            ServerShare(_address(server), calls, cpu / pairs * 1e6)
            for server, calls, cpu in (
                (server, new[0] - old[0], new[1] - old[1])
                for server, old, new in zip(servers, before, after, strict=True)
            )
        ]
        for server in servers:
            server.close()
        seconds = max(one.seconds for one in found)
        micros = sum(one.cpu_seconds for one in found) / pairs * 1e6
        return ServersRound(hosts, urls, workers, batch, shards, pairs / seconds, micros, shares)
    finally:
        frontier.close()
        drop_job(url, _JOB, settings, timeout_seconds=60)


def servers_table(found: ServersRound) -> Table:
    """Return the share of each server as a table."""
    made = Table(
        title=f"{found.urls:,} URLs on {found.hosts:,} hosts, {found.workers} workers, batches of {found.batch}, "
        f"{found.shards} shards: {found.pairs_per_second:,.0f} URLs a second, {found.worker_micros:.0f} µs of worker"
    )
    for name in ("server", "calls", "CPU for each URL, µs"):
        made.add_column(name, justify="left" if name == "server" else "right")
    for each in found.servers:
        made.add_row(each.address, f"{each.calls:,}", f"{each.micros:.0f}")
    return made


def _servers(url: str) -> list[Any]:
    """Return a client of each server that has slots."""
    with closing(connect(url, 10)) as client:
        if not is_cluster(url):
            return [redis.Redis.from_url(url, protocol=2)]
        nodes = sorted(client.get_primaries(), key=lambda node: int(node.port))
    return [redis.Redis(node.host, node.port, protocol=2) for node in nodes]


def _address(server: Any) -> str:
    kept = server.connection_pool.connection_kwargs
    return str(kept.get("path") or f"{kept['host']}:{kept['port']}")


def _load(server: Any) -> tuple[int, float]:
    """Return the number of calls of scripts so far, and the CPU seconds."""
    calls = server.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0)
    used = server.info("cpu")
    return int(calls), float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


def measure(
    hosts: int,
    urls: int,
    workers: int,
    tell: Callable[[str], None],
    *,
    batch: int = 1,
    waiting: int = 0,
    claims: int | None = None,
    shards: int = 1,
    rules: SeenRules = _EXACT,
) -> FrontierRound:
    """Fill the queue of a job with so many URLs on so many hosts, and empty it. Raises RedisProblem.

    The workers take `batch` URLs in one step, and end after `claims` URLs, by default after all. As many as `waiting`
    further hosts have a URL and wait. The hosts are spread over `shards` slots. `rules` have the method of the seen
    test. The ends of long queues wait in files, as in a crawl.
    """
    claims = min(claims or urls, urls)
    settings = _SETTINGS.model_copy(update={"shards": shards})
    # The guard of the Redis may still make a lock file while the folder is removed.
    with (
        tempfile.TemporaryDirectory(prefix="gf-bench-", ignore_cleanup_errors=True) as folder,
        EmbeddedRedis(Path(folder)) as server,
        ExitStack() as stack,
    ):
        client: Any = stack.enter_context(closing(redis.Redis.from_url(server.url, protocol=2)))
        job = Job.of(_JOB, "bench", ["http://seed.test/"], Profile(scope="any", seen=rules))
        frontier = stack.enter_context(
            closing(frontier_for(server.url, job, settings, timeout_seconds=_TIMEOUT_SECONDS))
        )
        frontier.open_job()
        frontier.segments.folder = Path(folder) / SEGMENT_FOLDER
        stack.enter_context(frontier.spiller(tell))
        empty = _memory(client)
        peak, began = _peak_megabytes(), time.perf_counter()
        for number, chunk in enumerate(batched(_candidates(hosts, urls), _CHUNK), 1):
            frontier.add(chunk)
            if number * _CHUNK % _TOLD == 0:
                redis_megabytes, ours = _memory(client) / 1e6, _peak_megabytes()
                tell(f"{number * _CHUNK:,} URLs added; Redis has {redis_megabytes:,.0f} MB, the bench {ours:,.0f} MB")
        added = urls / (time.perf_counter() - began)
        loader = _peak_megabytes() - peak
        tell(f"{urls:,} URLs added: {added:,.0f} a second")
        queued = (_memory(client) - empty) / urls
        known, began = min(claims, 50_000), time.perf_counter()
        for chunk in batched(_candidates(hosts, known), _CHUNK):
            frontier.add(chunk)
        again = known / (time.perf_counter() - began)
        if waiting:
            _add_waiting(frontier, client, waiting, shards)
            tell(f"{waiting:,} hosts wait")
        full, spilled = _memory(client), _spilled(client, shards)
        restart = _restarted(client, server)
        tell(f"Redis was killed, and answered again after {restart:.1f} s")
        queued_memory = _memory(client)
        pid = int(client.info("server")["process_id"])  # that of the new server
        before = resource_usage(pid).redis_cpu
        found = _emptied(server.url, workers, batch, claims, shards)
        after = resource_usage(pid).redis_cpu
        pairs = sum(one.pairs for one in found)
        seconds = max(one.seconds for one in found)
        times = sorted(milliseconds for one in found for milliseconds in one.claims)
        tell(f"{pairs:,} URLs claimed and finished: {pairs / seconds:,.0f} a second")
        # A URL that was finished gave back a part of the memory that it took in the queue.
        seen = queued - (queued_memory - _memory(client)) / pairs
        known_micros = _known_micros(server.url, pid, _candidates(hosts, known), settings) / known
        idle = _idle_bytes(client, min(hosts, pairs), shards)
        test = _test_bytes(client, rules, shards) / (urls + waiting)
        return FrontierRound(
            hosts,
            urls,
            workers,
            batch,
            waiting,
            pairs,
            added,
            again,
            pairs / seconds,
            (after - before) / pairs * 1e6,
            sum(one.cpu_seconds for one in found) / pairs * 1e6,
            times[len(times) // 2],
            times[min(len(times) - 1, int(len(times) * 0.99))],
            queued,
            seen,
            idle,
            restart,
            test,
            known_micros,
            spilled,
            loader,
            full / 1e6,
        )


def table(found: FrontierRound, scrapy: ScrapyQueueRound | None = None, *, bloom: FrontierRound | None = None) -> Table:
    """Return the costs as a table, with those of a Bloom filter and of scrapy's disk queue when they were measured."""
    made = Table(
        title=f"{found.urls:,} URLs on {found.hosts:,} hosts, {found.workers} workers, batches of {found.batch}, "
        f"{found.claims:,} of the URLs claimed, {found.waiting:,} hosts that wait"
    )
    made.add_column("measure")
    made.add_column("value", justify="right")
    if bloom is not None:
        made.add_column("with a Bloom filter", justify="right")
    for name, text, field in _ROWS:
        made.add_row(name, *(text.format(getattr(each, field)) for each in (found, bloom) if each is not None))
    if scrapy is not None:
        for name, value in (
            ("requests pushed a second", f"{scrapy.pushed_per_second:,.0f}"),
            ("requests popped a second", f"{scrapy.popped_per_second:,.0f}"),
            ("bytes of a queued request", f"{scrapy.bytes:.0f}"),
        ):
            made.add_row(f"scrapy's disk queue: {name}", value)
    return made


@dataclass(frozen=True, slots=True)
class _Work:
    """A worker claimed and finished so many URLs. `claims` are milliseconds."""

    pairs: int
    seconds: float
    cpu_seconds: float
    claims: Sequence[float]


def _emptied(url: str, workers: int, batch: int, urls: int, shards: int) -> list[_Work]:
    """Let processes claim and finish all URLs that may be visited; return what each of them did."""
    context = multiprocessing.get_context("spawn")
    left = context.Value("q", urls)
    running = []
    for number in range(workers):
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, url, f"worker-{number}", batch, left, shards))
        process.start()
        theirs.close()
        running.append((process, ours))
    for _, pipe in running:
        pipe.recv()  # the worker has its connection
    for _, pipe in running:
        pipe.send("go")
    found: list[_Work] = [pipe.recv() for _, pipe in running]
    for process, pipe in running:
        process.join()
        pipe.close()
    return found


def _work(pipe: Pipe, url: str, name: str, batch: int, left: Any, shards: int) -> None:
    """Claim and finish URLs until `left` of them are left for all workers."""
    frontier = frontier_of(url, _JOB, _SETTINGS.model_copy(update={"shards": shards}), timeout_seconds=_TIMEOUT_SECONDS)
    pipe.send("ready")
    pipe.recv()
    outcome = VisitOutcome(200, bytes=5_000, duration_ms=10)
    names = [f"{name}-{number}" for number in range(batch)]
    pairs, claims, held = 0, [], list[Lease]()
    began, cpu = time.perf_counter(), time.process_time()
    while left.value > 0 or held:
        at = time.perf_counter()
        wanted = names if left.value > len(held) else ()
        exchange = frontier.exchange([(lease, outcome) for lease in held], wanted)
        pairs += len(held)
        with left.get_lock():
            left.value -= len(held)
        held = [claim for claim in exchange.claims if isinstance(claim, Lease)]
        if held:
            claims.append((time.perf_counter() - at) * 1000)
        elif any(isinstance(claim, JobFinished) for claim in exchange.claims):
            break
    pipe.send(_Work(pairs, time.perf_counter() - began, time.process_time() - cpu, claims))
    frontier.close()


def _add_waiting(frontier: Frontier, client: Any, hosts: int, shards: int) -> None:
    """Add hosts with a URL each, whose last visits have left them a delay of an hour."""
    due = int(client.time()[0]) * 1000 + 3_600_000
    tags = _tags(shards)
    for chunk in batched(range(hosts), _CHUNK):
        names = [f"waiting{number}.test" for number in chunk]
        frontier.add(Candidate(f"http://{name}/", "L", via="http://seed.test/", depth=1) for name in names)
        pipeline = client.pipeline(transaction=False)
        for name in names:
            shard = tags[shard_of(name, shards)]
            pipeline.hset(f"{shard}@{name}", mapping={"d": due, "n": 0, "f": 0, "s": due - 3_600_000, "j": _JOB})
            pipeline.zadd(f"{shard}{_JOB}:ready", {name: due}, xx=True)
        pipeline.execute()


def _restarted(client: Any, server: EmbeddedRedis) -> float:
    """Kill the server, and return the seconds until it answers again."""
    pid = int(client.info("server")["process_id"])
    os.kill(pid, signal.SIGKILL)
    pause, began = threading.Event(), time.perf_counter()
    while not server.revive():
        pause.wait(_POLL_SECONDS)
    return time.perf_counter() - began


def _idle_bytes(client: Any, hosts: int, shards: int) -> float:
    """Return the bytes of a host without URLs: its hash, and its fields in the counts by host."""
    tags, names = _tags(shards), [f"host{number}.test" for number in range(min(hosts, _SAMPLE))]
    sample = [client.memory_usage(f"{tags[shard_of(name, shards)]}@{name}") or 0 for name in names]
    fields = [f"{shard}{_JOB}:{name}" for shard in tags for name in ("pages", "hostbytes")]
    counts = [client.memory_usage(name, samples=0) or 0 for name in fields]
    return sum(sample) / len(sample) + sum(counts) / hosts


def _spilled(client: Any, shards: int) -> int:
    """Return how many URLs wait in files."""
    return sum(int(client.hget(f"{tag}{_JOB}:count", "spilled") or 0) for tag in _tags(shards))


def _known_micros(url: str, redis_pid: int, candidates: Iterable[Candidate], settings: FrontierSettings) -> float:
    """Return the CPU of Redis, in microseconds, while a new worker adds these visited URLs."""
    frontier = frontier_of(url, _JOB, settings)
    before = resource_usage(redis_pid).redis_cpu
    for chunk in batched(candidates, _CHUNK):
        frontier.add(chunk)
    used = resource_usage(redis_pid).redis_cpu - before
    frontier.close()
    return used * 1e6


def _test_bytes(client: Any, rules: SeenRules, shards: int) -> float:
    """Return the bytes of the seen test: those of some keys, for all of them."""
    found = bloom_filter(rules)
    keys, name = (found.blocks, "bloom") if found else (BUCKETS, "seen")
    places = range(0, keys, max(keys // _SAMPLED_KEYS, 1))
    sample = [
        client.memory_usage(f"{tag}{_JOB}:{name}:{place}", samples=0) or 0 for tag in _tags(shards) for place in places
    ]
    return sum(sample) / len(places) * keys


def _tags(shards: int) -> list[str]:
    """Return the begins of the keys of all shards."""
    return [f"gf:{{{name}}}:" for name in shard_names(_SETTINGS.shard, shards)]


def _candidates(hosts: int, urls: int) -> Iterator[Candidate]:
    """Yield the URLs, host after host in turns, as links of a page."""
    for number in range(urls):
        host, page = number % hosts, number // hosts
        url = f"http://host{host}.test/section/{page % 50}/page-{page}.html"
        yield Candidate(url, "L", via="http://seed.test/", source="http://seed.test/", depth=1)


def _memory(client: Any) -> int:
    """Return the bytes that the data of Redis take, without scripts and buffers, which come and go."""
    info = client.info("memory")
    apart = sum(int(info.get(name, 0)) for name in ("used_memory_scripts", "mem_clients_normal", "mem_aof_buffer"))
    return int(info["used_memory"]) - apart


def _peak_megabytes() -> float:
    """Return the largest memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
