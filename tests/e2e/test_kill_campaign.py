"""Promise 3, at length: processes of a crawl are killed with -9 at random, and no page is lost.

The bounds: each kill may cost one more visit of each page that was being visited at that moment, and after a kill of
Redis also of the pages that were finished within its last two seconds, since `appendfsync everysec` may lose those.
Politeness is never broken: the origin itself writes down when each request came.

With a Redis Cluster, the server that has the job is killed, and either starts again or is replaced by its replica. The
crawl says in one line that it waits.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from redis import Redis, RedisError
from support.browsers.garden_crawl import COLLECTION, QUICK, fetched
from support.processes.machine_needs import redis_server
from support.processes.waiting import until
from support.stores.redis_cluster import RedisCluster

from archive.warc.upkeep.check import check
from bench.crawls.crawl_site import DOMAIN, CrawlSite, SiteProcess, SiteVisit, read_visits
from bench.process import our_command, source_environment, tree
from frontier.private_redis.socket_path import socket_path

ADDRESS: Final = "127.0.0.83"
DELAY: Final = 0.3
CLOCK: Final = 0.01
"""Redis counts milliseconds of another clock than the origin."""
WORKERS: Final = 8
VICTIMS: Final = ("worker-", "worker-", "proxy-", "redis-server", "redis-keeper", "indexer-", "command")
KEPT_SECONDS: Final = 2.0
SERVER: Final = "server of the cluster"
WAITS: Final = "waiting for Redis: "


type Killer = Callable[[Path], None]
"""Kills the server of the cluster that has the job. The path is the file with what the command says."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A process was killed after so many requests."""

    victim: str
    requests: int


@pytest.mark.timeout(3_000)
@pytest.mark.parametrize(
    ("pages", "hosts", "kills"),
    [(240, 24, 4), pytest.param(20_000, 500, 40, marks=pytest.mark.slow)],
    ids=["short", "long"],
)
def test_no_page_is_lost_and_no_host_is_hurried_by_kills(
    pages: int, hosts: int, kills: int, home: Path, tmp_path: Path
) -> None:
    redis_server()
    number = int(os.environ.get("GHOSTFLEET_KILL_SEED", random.SystemRandom().randrange(1_000_000)))
    print(f"GHOSTFLEET_KILL_SEED={number}")
    draw = random.Random(number)
    plan = sorted(draw.sample(range(pages // 20, pages * 9 // 10), kills))
    with _site(pages, hosts, tmp_path / "visits") as server:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(server.site.seeds), "utf-8")
        done = _crawl(home, seeds, tmp_path / "visits", [Kill(draw.choice(VICTIMS), at) for at in plan])
    _assert_whole(server.site, home, tmp_path / "visits", done)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("replicas", [0, 1], ids=["comes back", "is replaced"])
def test_a_crawl_outlives_the_server_of_a_cluster_that_has_its_job(replicas: int, home: Path, tmp_path: Path) -> None:
    pages, hosts = 240, 24
    with RedisCluster(tmp_path / "redis", replicas=replicas) as cluster, _site(pages, hosts, tmp_path / "v") as site:
        shard = next(name for name in map(str, range(100)) if cluster.owner(f"gf:{{{name}}}:") == 0)

        def kill(said: Path) -> None:
            before = said.read_text("utf-8").count(WAITS)
            cluster.servers[0].kill()
            until(lambda: said.read_text("utf-8").count(WAITS) > before, what="the line about Redis", within=90)
            if not replicas:
                cluster.servers[0].start()

        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(site.site.seeds), "utf-8")
        named = f"{cluster.url},127.0.0.1:{cluster.servers[-1].port}"
        settings = {"GHOSTFLEET_REDIS__URL": named, "GHOSTFLEET_FRONTIER__SHARD": shard}
        plan = [Kill("worker-", 40), Kill(SERVER, 80), Kill("command", 140), Kill("proxy-", 180)]
        done = _crawl(home, seeds, tmp_path / "v", plan, settings, kill)
    said = (tmp_path / "said").read_text("utf-8")
    assert said.count(WAITS) == 1, said
    _assert_whole(site.site, home, tmp_path / "v", done)


def _assert_whole(site: CrawlSite, home: Path, written: Path, kills: list[Kill]) -> None:
    """Each page was captured, none was visited more often than the kills explain, and no host was hurried."""
    visits = read_visits(written)
    expected = {site.url(host, page) for host in range(site.hosts) for page in range(site.pages_of(host))}
    print(
        f"{len(visits)} visits of {len(expected)} pages, {len(kills)} kills: {Counter(each.victim for each in kills)}"
    )
    assert expected - {capture.url for capture in fetched(home) if capture.status == 200} == set()
    assert list(check(home / "collections" / COLLECTION / "archive")) == []
    _assert_bounds(visits, kills, len(expected))
    _assert_polite(visits)


def _assert_bounds(visits: list[SiteVisit], kills: list[Kill], pages: int) -> None:
    """No page was visited more often than the kills explain."""
    often = Counter((visit.host, visit.page) for visit in visits)
    again = len(visits) - pages
    kept = 0
    for kill in kills:
        if kill.victim in ("redis-server", "redis-keeper", "command", SERVER):
            end = visits[min(kill.requests, len(visits) - 1)].time
            kept += sum(end - KEPT_SECONDS <= visit.time <= end for visit in visits)
    bound = WORKERS * len(kills) + kept
    print(f"{again} visits more than pages, at most {max(often.values())} of one page; the bound is {bound}")
    assert max(often.values()) <= 1 + len(kills)
    assert again <= bound


def _assert_polite(visits: list[SiteVisit]) -> None:
    """Two requests of a host are never closer than the delay."""
    times: defaultdict[int, list[float]] = defaultdict(list)
    for visit in visits:
        times[visit.host].append(visit.time)
    gaps = {host: min(after - before for before, after in pairwise(found)) for host, found in times.items()}
    print(f"the shortest gap of a host is {min(gaps.values()):.3f} s")
    assert {host: gap for host, gap in gaps.items() if gap < DELAY - CLOCK} == {}


def _crawl(
    home: Path,
    seeds: Path,
    visits: Path,
    plan: list[Kill],
    settings: Mapping[str, str] | None = None,
    kill_server: Killer | None = None,
) -> list[Kill]:
    """Run the command to its end, again after each kill of the command itself. Return the kills."""
    left, done = list(plan), list[Kill]()
    while True:
        begun = _requests(visits)
        with _command(home, seeds, settings or {}) as crawl:
            # A command whose Redis dies while it starts says so and ends, so that kills wait for its first visit.
            until(lambda: crawl.poll() is not None or _is_under_way(crawl.pid, home, visits, begun), what="a visit")  # noqa: B023
            while left:
                at, victim = left[0].requests, left[0].victim
                until(lambda at=at: _requests(visits) >= at or crawl.poll() is not None, what="requests", within=900)  # type: ignore[misc]
                if crawl.poll() is not None:
                    break
                if settings is None:
                    until(
                        lambda: not _is_at_risk(home) or crawl.poll() is not None,
                        what="pages that lost a worker",
                        within=90,
                    )
                if victim == SERVER and kill_server is not None:
                    kill_server(home.parent / "said")
                    done.append(Kill(victim, _requests(visits)))
                    del left[0]
                    continue
                if not (found := _processes(crawl.pid, home, victim)):
                    # The victim of an earlier kill is not back yet.
                    until(lambda: _processes(crawl.pid, home, victim) or crawl.poll() is not None, what=victim)  # noqa: B023
                    continue
                os.kill(found[0], signal.SIGKILL)
                done.append(Kill(victim, _requests(visits)))
                del left[0]
                if victim == "command":
                    crawl.wait(60)
                    break
            code = crawl.wait(1_500)
            if code != -signal.SIGKILL:
                said = (home.parent / "said").read_text("utf-8")
                assert code == 0, said[-3_000:]
                return done


@contextmanager
def _command(home: Path, seeds: Path, settings: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    job = ("--collection", COLLECTION, "--job", "campaign", "--scope", "host", "--delay", str(DELAY))
    fetch = ("--allow-private", "--resolve", f"*.{DOMAIN}={ADDRESS}", "--workers", str(WORKERS))
    with (home.parent / "said").open("ab") as said:
        process = subprocess.Popen(
            our_command("crawl", "--seeds-file", str(seeds), "--home", str(home), *job, *fetch),
            env={**source_environment(), **QUICK, **settings},
            stdout=said,
            stderr=said,
        )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@contextmanager
def _site(pages: int, hosts: int, visits: Path) -> Iterator[SiteProcess]:
    visits.touch()
    server = SiteProcess(ADDRESS, pages, hosts, visits)
    try:
        yield server
    finally:
        server.close()


def _is_at_risk(home: Path) -> bool:
    """Return whether a page is in progress that has lost a worker. With a second one, the crawl gives the page up."""
    with suppress(RedisError), Redis.from_url(f"unix://{socket_path(home / 'redis')}") as client:
        for leases in client.scan_iter("gf:*:leases"):
            ids = client.zrange(leases, 0, -1)
            lost = [b"l:" + each for each in ids]
            if lost and any(client.hmget(leases.removesuffix(b"leases") + b"tries", lost)):
                return True
    return False


def _requests(visits: Path) -> int:
    return visits.read_bytes().count(b"\n")


def _is_under_way(crawl: int, home: Path, visits: Path, begun: int) -> bool:
    return _requests(visits) > begun and bool(_processes(crawl, home, "worker-"))


def _processes(crawl: int, home: Path, victim: str) -> list[int]:
    """The processes of a crawl that play a part."""
    if victim == "command":
        return [crawl]
    word = victim if victim == "redis-server" else f"ghostfleet: {victim}"
    found = []
    for pid in tree(crawl, str(home)):
        with suppress(OSError):
            if word in Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"):
                found.append(pid)
    return found
