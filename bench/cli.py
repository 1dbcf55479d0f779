"""`ghostfleet bench` has one command for each bench."""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
from rich.console import Console

from admin.models.errors import DatabaseRefused, UseCaseError
from bench.admin_site import screen as screen_bench
from bench.admin_site.filled_database import Amounts
from bench.admin_site.page_requests import TARGET_MS, PageTimes
from bench.admin_site.pages import PagesPlan, measure_all, pages_table
from bench.crawls import crawl as crawl_bench
from bench.crawls import frontier as frontier_bench
from bench.crawls import ghosts as ghost_bench
from bench.crawls import harvests as harvesting
from bench.crawls import qa as qa_bench
from bench.crawls import revisits as revisit_bench
from bench.faults.cli import faults
from bench.peers import KINDS, PeerUnavailable, scrapy_queue
from bench.peers.peer import cache_folder
from bench.proxies import hostile_neighbours, soak
from bench.proxies.hostile import KINDS as HOSTILE_KINDS
from bench.proxies.report import ReportRow, as_json, comparison, rows, table
from bench.proxies.rounds import Bench, BenchPlan, RoundResult
from bench.traffic.corpus import FILES
from frontier.definition.job import SeenRules
from frontier.lease_queue import MOST_EXCHANGED
from frontier.private_redis.server import RedisProblem
from frontier.store import FrontierUnavailable

SCHEMES: Final = ("http", "connect", "absolute")
OURS: Final = "ghostfleet"
TABLE_WIDTH: Final = 110
MILLION: Final = 1_000_000


@click.group()
def bench() -> None:
    """Measure this installation and other proxies on this machine."""


def _listed(_: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    known = {
        "schemes": SCHEMES,
        "crawlers": crawl_bench.CRAWLERS,
        "kinds": (*HOSTILE_KINDS, hostile_neighbours.ALL),
        "sites": ghost_bench.SITES,
    }.get(parameter.name or "", tuple(KINDS))
    names = [name.strip() for name in value.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is unknown; choose from {', '.join(known)}")
    return names


@bench.command()
@click.option(
    "--requests", default=FILES, show_default=True, type=click.IntRange(1), help="Number of requests in a round."
)
@click.option(
    "--seconds", default=600.0, show_default=True, type=click.FloatRange(1), help="Longest round, in seconds."
)
@click.option(
    "--rounds",
    default=3,
    show_default=True,
    type=click.IntRange(1),
    help="Number of rounds; each round measures every peer.",
)
@click.option(
    "--connections", default=32, show_default=True, type=click.IntRange(1), help="Number of client connections."
)
@click.option(
    "--processes", default=1, show_default=True, type=click.IntRange(1), help="Number of processes of our proxy."
)
@click.option("--schemes", default=",".join(SCHEMES), show_default=True, callback=_listed, help="Schemes to measure.")
@click.option("--peers", default="ghostfleet,warcprox", show_default=True, callback=_listed, help="Proxies to measure.")
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to which the results are written as JSON."
)
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def proxy(
    requests: int,
    seconds: float,
    rounds: int,
    connections: int,
    processes: int,
    schemes: Sequence[str],
    peers: Sequence[str],
    output: Path | None,
    as_data: bool,
) -> None:
    """Measure the speed, CPU and memory of recording proxies, and whether each response is in a WARC file.

    The load requests 4,000 distinct files of 23 KB on average, two thirds of them text, once each on keep-alive
    connections. Compression, deduplication and durability are on. A peer is installed from PyPI into an environment
    of its own before its first measurement.
    """
    plan = BenchPlan([KINDS[name]() for name in peers], schemes, rounds, requests, seconds, connections, processes)
    found = _measure(plan)
    data = as_json(plan, found)
    file = output or cache_folder("results") / f"proxy-{datetime.now(UTC):%Y%m%d%H%M%S}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data, "utf-8")
    if as_data:
        click.echo(data)
    else:
        title = f"{requests:,} files of 23 KB, {connections} connections, {rounds} rounds, {processes} processes"
        Console(width=max(Console().width, TABLE_WIDTH)).print(table(found, title))
        for line in comparison(found, OURS):
            click.echo(line)
        click.echo(f"results: {file}")
    if any(row.missing or row.damaged for row in found if row.peer == OURS):
        raise click.ClickException(
            f"our proxy acknowledged responses that are in no WARC file; their URLs are in {file}"
        )


bench.add_command(faults)


@bench.command()
@click.option("--pages", default=60, show_default=True, type=click.IntRange(1), help="Visits of each site.")
@click.option(
    "--sites",
    default=",".join(ghost_bench.SITES),
    show_default=True,
    callback=_listed,
    help="Sites to visit: plain, heavy, demo.",
)
@click.option(
    "--brozzler",
    "brozzler_pages",
    default=0,
    metavar="N",
    type=click.IntRange(0),
    help="Visits of each site by brozzler.",
)
@click.option("--soak", is_flag=True, help="Fail when memory grows by more than 20 % or a process stays behind.")
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def ghosts(pages: int, sites: Sequence[str], brozzler_pages: int, soak: bool, as_data: bool) -> None:
    """Measure pages per minute, CPU and memory of one worker that visits pages with a browser.

    The pages are on this machine, and each visit is recorded by a proxy. CPU and memory are those of the worker and of
    all processes of its browser.

    With --brozzler, brozzler is installed from PyPI, and visits pages of the same sites through the same proxy.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that no process stays behind
    if not ghost_bench.is_measurable():
        raise click.ClickException("this bench reads memory from /proc/PID/smaps_rollup, which only Linux has")

    def tell(one: ghost_bench.GhostRound) -> None:
        click.echo(f"{one.crawler}, {one.site}: {one.pages_per_minute:.1f} pages a minute", err=True)

    try:
        found = ghost_bench.measure(sites, pages, tell, brozzler_pages)
    except PeerUnavailable as error:
        raise click.ClickException(str(error)) from None
    if as_data:
        results = [
            # The long parts come first, so that the end of the output tells the result.
            {"stages": one.stages, "peak_parts": one.peak_parts}
            | dataclasses.asdict(one)
            | {"cpu_per_page": one.cpu_per_page, "pages_per_minute": one.pages_per_minute}
            for one in found
        ]
        click.echo(json.dumps(results, indent=1))
    else:
        console = Console(width=max(Console().width, TABLE_WIDTH))
        console.print(ghost_bench.memory_table(found))
        console.print(ghost_bench.stage_table(found))
        console.print(ghost_bench.table(found))
    if any(one.failed for one in found):
        raise click.ClickException("visits failed; the column failed has their number")
    if soak and not all(one.is_flat for one in found if one.crawler == ghost_bench.OURS):
        raise click.ClickException("memory grew by more than 20 %, or a process of the browser stayed behind")


@bench.command()
@click.option("--presses", default=100, show_default=True, type=click.IntRange(1), help="Presses of the pointer.")
@click.option(
    "--moves", default=125.0, show_default=True, type=click.FloatRange(0, 1000), help="Moves of the pointer a second."
)
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def screen(presses: int, moves: float, as_data: bool) -> None:
    """Measure how soon a press changes the picture of a browser that is steered in the admin page.

    Capture process, browser and site run on this machine, and the bench takes the part of the person's page. The goal
    is a p95 below 150 ms. The command fails when a press was lost or came out of its turn, and not for its time.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that no process stays behind
    try:
        found = screen_bench.measure(presses, moves, lambda text: click.echo(text, err=True))
    except (screen_bench.ScreenBenchFailed, DatabaseRefused, UseCaseError) as error:
        raise click.ClickException(str(error)) from error
    if as_data:
        click.echo(json.dumps(dataclasses.asdict(found)))
    else:
        click.echo(
            f"{found.presses} presses beside {found.moves_per_second:g} moves a second: p50 {found.p50_ms:g} ms, "
            f"p95 {found.p95_ms:g} ms (goal {screen_bench.GOAL_MS:g} ms), at most {found.max_ms:g} ms"
        )
    if not found.is_whole:
        raise click.ClickException(
            f"of {found.presses} presses, {found.counted} arrived, and {found.in_order} in their turn"
        )


@bench.command()
@click.option("--pages", default=40, show_default=True, type=click.IntRange(2), help="Pages of the site.")
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1), help="Pages visited at a time.")
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def qa(pages: int, workers: int, as_data: bool) -> None:
    """Measure a QA session beside the crawl that it judges.

    A site on this machine is crawled with browsers, and QA judges its pages with as many workers. Then QA follows a
    second crawl, and the lag between the capture and the judgement of each page is measured.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that no process stays behind
    if not ghost_bench.is_measurable():
        raise click.ClickException("this bench reads memory from /proc/PID/smaps_rollup, which only Linux has")
    try:
        found = qa_bench.measure(pages, workers, lambda text: click.echo(text, err=True))
    except qa_bench.QaBenchFailed as error:
        raise click.ClickException(str(error)) from None
    if as_data:
        click.echo(json.dumps(dataclasses.asdict(found), indent=1))
    else:
        Console(width=max(Console().width, TABLE_WIDTH)).print(qa_bench.table(found))
        for line in qa_bench.lines(found):
            click.echo(line)
    if found.judged_pages < 2 * pages or found.damaged_pages:
        raise click.ClickException(f"{2 * pages - found.judged_pages} pages unjudged, {found.damaged_pages} damaged")


@bench.command()
@click.option("--pages", default=5_000, show_default=True, type=click.IntRange(1), help="Pages of the site.")
@click.option("--hosts", default=50, show_default=True, type=click.IntRange(1), help="Hosts of the site.")
@click.option("--workers", default=16, show_default=True, type=click.IntRange(1, 256), help="Pages visited at once.")
@click.option(
    "--peers",
    "crawlers",
    default=",".join(crawl_bench.CRAWLERS),
    show_default=True,
    callback=_listed,
    help="Crawlers to measure.",
)
@click.option("--profile", is_flag=True, help="Show the three largest costs of one of our workers.")
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def crawl(pages: int, hosts: int, workers: int, crawlers: Sequence[str], profile: bool, as_data: bool) -> None:
    """Measure a crawl without a browser, beside scrapy that crawls through warcprox.

    The site is on this machine: pages of 5 KB with 39 links, most of which lead to pages that are known already. Each
    page must be in a WARC file at the end, and no host has to wait. Peers, and py-spy for --profile, are installed from
    PyPI into environments of their own.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that no process stays behind
    if hosts > pages:
        raise click.BadParameter(f"{hosts} is more than --pages {pages}; each host has a page", param_hint="--hosts")
    if not ghost_bench.is_measurable():
        raise click.ClickException("this bench reads memory from /proc/PID/smaps_rollup, which only Linux has")
    plan = crawl_bench.CrawlPlan(pages, hosts, workers, crawlers, profile)
    try:
        found = crawl_bench.measure(plan, lambda text: click.echo(text, err=True))
    except (crawl_bench.CrawlBenchFailed, PeerUnavailable) as error:
        raise click.ClickException(str(error)) from None
    if as_data:
        click.echo(json.dumps([dataclasses.asdict(one) for one in found], indent=1))
    else:
        Console(width=max(Console().width, TABLE_WIDTH)).print(crawl_bench.table(plan, found))
        for line in crawl_bench.lines(found):
            click.echo(line)
    if any(one.kept < pages for one in found if one.crawler == OURS):
        raise click.ClickException("pages of our crawl are in no WARC file; the column lost has their number")


@bench.command()
@click.option("--hosts", default=1_000, show_default=True, type=click.IntRange(1), help="Hosts of the URLs.")
@click.option("--urls", default=50_000, show_default=True, type=click.IntRange(1), help="URLs in the queue.")
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1), help="Processes that claim URLs.")
@click.option(
    "--batch",
    default=1,
    show_default=True,
    type=click.IntRange(1, MOST_EXCHANGED),
    help="URLs that a worker finishes and claims in one step.",
)
@click.option(
    "--waiting", default=0, show_default=True, type=click.IntRange(0), help="Further hosts, which wait with a URL each."
)
@click.option("--claims", type=click.IntRange(1), help="URLs that are claimed and finished; all of them by default.")
@click.option(
    "--shards", default=1, show_default=True, type=click.IntRange(1, 64), help="Slots over which the hosts are spread."
)
@click.option(
    "--redis", "redis_url", help="A Redis or Redis Cluster that runs, to show the calls and the CPU of each server."
)
@click.option("--with-bloom", is_flag=True, help="Measure the seen test by a Bloom filter too.")
@click.option("--with-scrapy", is_flag=True, help="Measure scrapy's disk queue too; it is installed from PyPI.")
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def frontier(
    hosts: int,
    urls: int,
    workers: int,
    batch: int,
    waiting: int,
    claims: int | None,
    shards: int,
    redis_url: str | None,
    with_bloom: bool,
    with_scrapy: bool,
    as_data: bool,
) -> None:
    """Measure the queue of a job: URLs added, claimed and finished a second, CPU and memory of Redis.

    Nothing is fetched, and only the hosts of --waiting have to wait. Without --redis, the Redis is one of its own in a
    temporary folder. The Bloom filter of --with-bloom is made for the URLs of the queue and one false positive in a
    thousand.
    """

    def tell(text: str) -> None:
        click.echo(text, err=True)

    try:
        if redis_url is not None:
            shared = frontier_bench.measure_servers(redis_url, hosts, urls, workers, tell, batch=batch, shards=shards)
            if as_data:
                click.echo(json.dumps(dataclasses.asdict(shared), indent=1))
            else:
                Console(width=max(Console().width, TABLE_WIDTH)).print(frontier_bench.servers_table(shared))
            return
        measure = partial(frontier_bench.measure, hosts, urls, workers, tell, batch=batch, shards=shards)
        found = measure(waiting=waiting, claims=claims)
        filtered = SeenRules(method="bloom", expected_urls=max(urls + waiting, 1_000), false_positives=0.001)
        bloom = measure(waiting=waiting, claims=claims, rules=filtered) if with_bloom else None
        theirs = scrapy_queue.measure(hosts, urls) if with_scrapy else None
    except (RedisProblem, PeerUnavailable, FrontierUnavailable) as error:
        raise click.ClickException(str(error)) from error
    if as_data:
        scrapy = dataclasses.asdict(theirs) if theirs else None
        facts = {"bloom": dataclasses.asdict(bloom) if bloom else None, "scrapy": scrapy}
        click.echo(json.dumps({**dataclasses.asdict(found), **facts}, indent=1))
    else:
        Console(width=max(Console().width, TABLE_WIDTH)).print(frontier_bench.table(found, theirs, bloom=bloom))


@bench.command()
@click.option("--pages", default=40, show_default=True, type=click.IntRange(1), help="Pages of each rate of change.")
@click.option("--days", default=30.0, show_default=True, type=click.FloatRange(1, 3_650), help="Simulated days.")
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def revisits(pages: int, days: float, as_data: bool) -> None:
    """Compare schedules of continuous crawls in simulated time: fetches, missed changes, staleness.

    Pages change at known rates. The frontier and a Redis of its own decide which page is visited when.
    """
    try:
        found = revisit_bench.measure(pages, days, lambda text: click.echo(text, err=True))
    except RedisProblem as error:
        raise click.ClickException(str(error)) from error
    if as_data:
        click.echo(json.dumps([dataclasses.asdict(each) for each in found], indent=1))
    else:
        Console(width=max(Console().width, TABLE_WIDTH)).print(revisit_bench.table(found))


@bench.command("soak")
@click.option("--seconds", default=600.0, show_default=True, type=click.FloatRange(1), help="Seconds of load.")
@click.option("--every", default=60.0, show_default=True, type=click.FloatRange(0.1), help="Seconds between samples.")
@click.option(
    "--scheme", default="connect", show_default=True, type=click.Choice(SCHEMES), help="Scheme of the requests."
)
@click.option(
    "--connections", default=32, show_default=True, type=click.IntRange(1), help="Number of client connections."
)
def soak_command(seconds: float, every: float, scheme: str, connections: int) -> None:
    """Load our proxy for a long time and report whether its memory and file descriptors grow."""
    found = soak.soak(seconds, every, scheme, connections, lambda sample: click.echo(str(sample)))
    click.echo(f"{found.acknowledged:,} requests were answered, {found.errors:,} failed.")
    if found.problem:
        raise click.ClickException(found.problem)
    click.echo(
        f"Growth in the second half: {found.mb_per_hour:+.1f} MB and {found.descriptors_per_hour:+.1f} descriptors "
        "per hour."
    )
    if not found.is_flat or found.errors:
        raise click.ClickException(
            "memory or file descriptors grow" if not found.is_flat else f"{found.errors:,} requests failed"
        )
    click.echo("Memory and file descriptors do not grow.")


@bench.command()
@click.option(
    "--requests", default=1000, show_default=True, type=click.IntRange(1), help="Number of requests in a round."
)
@click.option(
    "--connections", default=4, show_default=True, type=click.IntRange(1), help="Number of client connections."
)
@click.option(
    "--seconds", default=120.0, show_default=True, type=click.FloatRange(1), help="Longest round, in seconds."
)
@click.option(
    "--kinds",
    default=",".join((*HOSTILE_KINDS, hostile_neighbours.ALL)),
    show_default=True,
    callback=_listed,
    help="Kinds of hostile origins.",
)
@click.option(
    "--rate",
    default=0,
    show_default=True,
    type=click.IntRange(0),
    help="Bytes per second that a hostile origin sends; 0 is no limit.",
)
def neighbours(requests: int, connections: int, seconds: float, kinds: Sequence[str], rate: int) -> None:
    """Measure how long clients of an honest origin wait while hostile origins use the same recording process.

    A hostile origin sends messages that consist almost entirely of framing, on two connections, at the given rate or
    as fast as the proxy reads them.
    """
    found: list[hostile_neighbours.WaitTimes] = []
    load = hostile_neighbours.HonestLoad(requests, connections, seconds, rate)
    for one in hostile_neighbours.measure(kinds, load):
        click.echo(f"{one.beside}: p99 {one.p99_ms:.1f} ms", err=True)
        found.append(one)
    Console(width=max(Console().width, TABLE_WIDTH)).print(hostile_neighbours.table(found))
    if any(one.errors for one in found):
        raise click.ClickException("requests to the honest origin failed; the column err has their number")


@bench.command()
@click.option(
    "--configurations", default=100_000, show_default=True, type=click.IntRange(1), help="Domains of the snapshot."
)
@click.option("--million", is_flag=True, help="The same as --configurations 1000000.")
@click.option("--database-url", metavar="URL", help="An empty PostgreSQL database.  [SQLite in a temporary folder]")
@click.option("--pages", is_flag=True, help="Measure pages of the site instead of the generation of jobs.")
@click.option("--jobs", default=MILLION, show_default=True, type=click.IntRange(100), help="Jobs, with --pages.")
@click.option(
    "--history", default=10 * MILLION, show_default=True, type=click.IntRange(100), help="History rows, with --pages."
)
@click.option(
    "--requests", default=200, show_default=True, type=click.IntRange(1), help="Requests of each page, with --pages."
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder in which the databases of --pages stay, to be used again.",
)
@click.option("--only", default="", metavar="TEXT", help="Measure only pages whose name has this text.")
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def harvests(
    configurations: int,
    million: bool,
    database_url: str | None,
    pages: bool,
    jobs: int,
    history: int,
    requests: int,
    keep: Path | None,
    only: str,
    as_data: bool,
) -> None:
    """Measure how long it takes to generate the jobs of a snapshot harvest, and in how much memory.

    The snapshot is generated twice; both times it must give the same jobs.

    With --pages: measure how fast the admin site answers with a million jobs and ten million history rows, on SQLite
    and on a private PostgreSQL when it is installed, or on the database of --database-url.
    """
    if pages:
        plan = PagesPlan(Amounts(jobs, history, jobs), requests, database_url, keep, only)
        _measure_pages(plan, as_data)
        return
    wanted = MILLION if million else configurations
    with TemporaryDirectory(prefix="ghostfleet-bench-") as folder:
        url = database_url or f"sqlite:///{folder}/admin.db"
        try:
            harvesting.fill(url, wanted, lambda text: click.echo(text, err=True))
            found = [harvesting.measured(url, name) for name in ("first", "second")]
        except (DatabaseRefused, UseCaseError) as error:
            raise click.ClickException(str(error)) from error
    if as_data:
        click.echo(json.dumps([dataclasses.asdict(one) for one in found], indent=2))
    else:
        for one in found:
            click.echo(
                f"{one.configurations:,} configurations in {one.jobs:,} jobs: {one.seconds:.1f} s,"
                f" {one.per_second:,.0f} a second; memory {one.early_peak_mb:.0f} MB in the first fifth,"
                f" {one.peak_mb:.0f} MB at most; hash {one.content_hash[:16]}"
            )
    if found[0].content_hash != found[1].content_hash:
        raise click.ClickException("the same configurations gave different jobs")


def _measure_pages(plan: PagesPlan, as_data: bool) -> None:
    found: list[PageTimes] = []
    try:
        for one in measure_all(plan, lambda text: click.echo(text, err=True)):
            click.echo(f"{one.database}: {one.page}: p95 {one.p95_ms:,.0f} ms", err=True)
            found.append(one)
    except (DatabaseRefused, UseCaseError) as error:
        raise click.ClickException(str(error)) from error
    if as_data:
        click.echo(json.dumps([{**dataclasses.asdict(one), "is_slow": one.is_slow} for one in found], indent=2))
    else:
        Console(width=max(Console().width, TABLE_WIDTH)).print(pages_table(found))
    if slow := [one for one in found if one.is_slow]:
        names = ", ".join(dict.fromkeys(f"{one.page} ({one.database})" for one in slow))
        raise click.ClickException(f"p95 is {TARGET_MS:g} ms or more, or requests failed: {names}")


def _measure(plan: BenchPlan) -> list[ReportRow]:
    running = Bench(plan)
    measured: list[RoundResult] = []
    try:
        for one in running.run(lambda text: click.echo(text, err=True)):
            measured.append(one)
    except PeerUnavailable as error:
        raise click.ClickException(str(error)) from error
    finally:
        running.close()
    return rows(measured)
