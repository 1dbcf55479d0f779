"""This bench crawls a generated site without a browser, beside a peer: URLs a second, CPU, memory and first URL."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from rich.table import Table

from bench.crawls.crawl_site import DOMAIN, CountedRequests, CrawlSite, SiteProcess
from bench.peers import PeerUnavailable, scrapy_crawl
from bench.peers.peer import install
from bench.process import ProcessUsage, our_command, process_usages, source_environment, stop
from bench.traffic import warc_check

OURS: Final = "ghostfleet"
SCRAPY: Final = "scrapy-warcprox"
CRAWLERS: Final = (OURS, SCRAPY)
ADDRESS: Final = "127.0.1.1"
"""The address of all hosts; warcprox refuses 127.0.0.1."""
_SAMPLE_SECONDS: Final = 0.25
KINDS: Final = ("worker", "proxy", "indexer", "redis-server")
"""Kinds of our processes, by words of their titles; all others are one kind."""
_PROFILER: Final = ("py-spy==0.4.3",)
_RATE: Final = 200
"""Samples a second of the profiler."""
COSTS: Final = {
    "_find_and_load (<frozen importlib._bootstrap>)": "loading of code",
    "Frontier.add (frontier/queue.py)": "links of a page: scope and queue",
    "LeaseQueue.claim (frontier/lease_queue.py)": "claim",
    "LeaseQueue.finish (frontier/lease_queue.py)": "finish",
    "Frontier.robots (frontier/queue.py)": "robots.txt",
    "links_of (browsers/links/documents.py)": "search for links",
    "PlainVisitor.fetch (browsers/plain/visitor.py)": "request through the proxy",
}
"""Functions by their place in a profile. The outermost of them in which a sample was taken gets the sample."""


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """A crawl of a site with so many pages and hosts visits so many pages at once."""

    pages: int
    hosts: int
    workers: int
    peers: Sequence[str]
    profile: bool = False


@dataclass(frozen=True, slots=True)
class CrawlRound:
    """One crawler crawled the site, with these costs. Memory that processes share counts once."""

    crawler: str
    pages: int
    """Distinct pages that the site was asked for."""
    kept: int
    """Pages whose bytes are in a WARC file."""
    seconds: float
    """Time from the start of the command until all processes have ended and the WARC files are durable."""
    first_seconds: float
    """Time from the start of the command until the site got the first request for a page."""
    crawling_seconds: float
    """Time between the first and the last request for a page."""
    cpu_seconds: Mapping[str, float]
    """CPU seconds by the kind of process."""
    peak_bytes: int
    costs: Mapping[str, float] = field(default_factory=dict)
    """Shares of a worker's time by what it did, the largest first, when a profile was asked for."""

    @property
    def per_second(self) -> float:
        """Return the pages a second of the whole command."""
        return self.pages / self.seconds

    @property
    def steady_per_second(self) -> float:
        """Return the pages a second between the first page and the last one."""
        return self.pages / self.crawling_seconds if self.crawling_seconds else 0.0

    @property
    def cpu_ms(self) -> float:
        """Return the CPU milliseconds of a page."""
        return sum(self.cpu_seconds.values()) / max(self.pages, 1) * 1000


class CrawlBenchFailed(Exception):
    """A crawl of the bench ended with an error; the text has its last lines."""


def measure(plan: CrawlPlan, tell: Callable[[str], None]) -> list[CrawlRound]:
    """Let each crawler crawl the site. Raises CrawlBenchFailed and PeerUnavailable."""
    if SCRAPY in plan.peers:
        tell(f"preparing {SCRAPY}")
        scrapy_crawl.prepare()
    profiler = install("py-spy", *_PROFILER) / "py-spy" if plan.profile else None
    found = []
    for crawler in plan.peers:
        one = _measure(crawler, plan, profiler)
        tell(f"{crawler}: {one.pages:,} pages in {one.seconds:.1f} s")
        found.append(one)
    return found


def table(plan: CrawlPlan, found: Sequence[CrawlRound]) -> Table:
    """Return the costs of the crawlers as a table."""
    title = f"{plan.pages:,} pages on {plan.hosts} hosts, {plan.workers} visits at once"
    made = Table(title=title, caption="CPU: ms of a page; steady: pages a second from the first page to the last one")
    made.add_column("crawler")
    for name in ("pages/s", "steady", "CPU", "first URL, s", "MB peak", "lost"):
        made.add_column(name, justify="right")
    for one in found:
        made.add_row(
            one.crawler,
            f"{one.per_second:.0f}",
            f"{one.steady_per_second:.0f}",
            f"{one.cpu_ms:.2f}",
            f"{one.first_seconds:.1f}",
            f"{one.peak_bytes / 1e6:.0f}",
            str(plan.pages - one.kept),
        )
    return made


def lines(found: Sequence[CrawlRound]) -> Iterator[str]:
    """Yield the CPU by process, and the largest costs of a worker, in sentences."""
    for one in found:
        parts = sorted(one.cpu_seconds.items(), key=lambda part: -part[1])
        shown = ", ".join(f"{name} {seconds / max(one.pages, 1) * 1000:.2f}" for name, seconds in parts)
        yield f"CPU of {one.crawler}, ms of a page: {shown}."
        if one.costs:
            largest = ", ".join(f"{name} {share:.0%}" for name, share in list(one.costs.items())[:3])
            yield f"Largest costs of a worker: {largest}."


class Crawling(Protocol):
    """A crawl that runs has processes, and ends when all its records are in files."""

    log: Path
    """The end of this file is shown when the crawl fails."""
    warcs: Path
    """Folder of the WARC files."""

    @property
    def processes(self) -> Mapping[int, str]:
        """Return the kinds of the processes that the crawl began with, by their numbers."""

    def poll(self) -> int | None:
        """Return the exit code of the crawl; None while it runs."""

    def wait(self, seconds: float) -> None:
        """Wait so long for the end of the crawl. Raises subprocess.TimeoutExpired."""

    def close(self) -> None:
        """End all processes."""


class OurCrawl:
    """Our crawl is started as users start it, with default settings except for the names of the hosts."""

    def __init__(self, folder: Path, seeds: Path, workers: int) -> None:
        """Start the command."""
        home = folder / "home"
        self.warcs = home / "collections" / "default" / "archive"
        self.log = folder / "crawl.log"
        options = ("--delay", "0", "--workers", str(workers), "--allow-private", "--json")
        resolving = ("--resolve", f"*.{DOMAIN}={ADDRESS}")
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                our_command("crawl", "--seeds-file", str(seeds), "--home", str(home), *options, *resolving),
                env=source_environment(),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    @property
    def processes(self) -> Mapping[int, str]:
        """Return the process of the command."""
        return {self._process.pid: "command"}

    def poll(self) -> int | None:
        """Return the exit code of the command; None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float) -> None:
        """Wait so long for the end of the command. Raises subprocess.TimeoutExpired."""
        self._process.wait(seconds)

    def close(self) -> None:
        """End the command."""
        stop(self._process)


def _measure(crawler: str, plan: CrawlPlan, profiler: Path | None) -> CrawlRound:
    folder = Path(tempfile.mkdtemp(prefix="ghostfleet-bench-crawl-"))
    profiles = Path(tempfile.mkdtemp(prefix="ghostfleet-bench-profile-"))  # py-spy is not counted with the crawl
    server = SiteProcess(ADDRESS, plan.pages, plan.hosts)
    try:
        seeds = folder / "seeds.txt"
        seeds.write_text("\n".join(server.site.seeds), "utf-8")
        began = time.monotonic()
        if crawler == OURS:
            crawling: Crawling = OurCrawl(folder, seeds, plan.workers)
        else:
            crawling = scrapy_crawl.ScrapyCrawl(folder, seeds, plan.workers, address=ADDRESS, domain=DOMAIN)
        profile = _Profile(profiler, profiles) if profiler and crawler == OURS else None
        try:
            usage = _followed(crawling, str(folder), profile)
            _sync(crawling.warcs)
            seconds = time.monotonic() - began
        finally:
            crawling.close()
        if crawling.poll():
            raise CrawlBenchFailed(
                f"{crawler} ended with {crawling.poll()}: {crawling.log.read_text('utf-8', 'replace')[-2000:]}"
            )
        asked = server.close()
        kept = _kept(crawling.warcs, server.site)
        return _round(crawler, asked, kept, began, seconds, usage, profile.costs() if profile else {})
    finally:
        server.close()
        for each in (folder, profiles):
            shutil.rmtree(each, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Make the files in a folder durable. Those of our own crawl are durable already."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _round(
    crawler: str,
    asked: CountedRequests,
    kept: int,
    began: float,
    seconds: float,
    usage: _Usage,
    costs: Mapping[str, float],
) -> CrawlRound:
    return CrawlRound(
        crawler=crawler,
        pages=asked.pages,
        kept=kept,
        seconds=seconds,
        first_seconds=asked.first - began,
        crawling_seconds=asked.last - asked.first,
        cpu_seconds=usage.by_kind(),
        peak_bytes=usage.peak_bytes,
        costs=costs,
    )


@dataclass(slots=True)
class _Usage:
    """The usage has the last CPU of each process, also of those that have ended, and its kind."""

    kinds: dict[int, str]
    cpu: dict[int, float] = field(default_factory=dict)
    peak_bytes: int = 0

    def add(self, sample: Sequence[ProcessUsage]) -> None:
        for one in sample:
            self.cpu[one.pid] = one.cpu
            kind = _kind(one.title)
            if kind in KINDS or one.pid not in self.kinds:  # a process has its title only from some time on
                self.kinds[one.pid] = kind
        self.peak_bytes = max(self.peak_bytes, sum(one.proportional_bytes for one in sample))

    def by_kind(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for pid, seconds in self.cpu.items():
            found[self.kinds[pid]] = found.get(self.kinds[pid], 0.0) + seconds
        return found


def _followed(crawling: Crawling, mark: str, profile: _Profile | None) -> _Usage:
    """Sample the processes of a crawl until it has ended."""
    usage, reads_memory = _Usage(dict(crawling.processes)), 0
    while crawling.poll() is None:
        reads_memory = (reads_memory + 1) % 4
        sample = process_usages(crawling.processes, mark, with_memory=reads_memory == 0)
        usage.add(sample)
        if profile is not None:
            profile.begin(sample)
        with suppress(subprocess.TimeoutExpired):
            crawling.wait(_SAMPLE_SECONDS)
    usage.add(process_usages(crawling.processes, mark, with_memory=False))
    return usage


class _Profile:
    """py-spy samples the first worker as long as it runs."""

    def __init__(self, program: Path, folder: Path) -> None:
        self._program, self._file = program, folder / "worker.folded"
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, sample: Sequence[ProcessUsage]) -> None:
        """Begin with the first worker among the processes, once."""
        worker = next((one.pid for one in sample if _kind(one.title) == "worker"), None)
        if self._process is None and worker is not None:
            self._process = subprocess.Popen(
                [
                    *(str(self._program), "record", "--pid", str(worker), "--gil", "--rate", str(_RATE)),
                    *("--duration", "unlimited", "--format", "raw", "--output", str(self._file)),
                ],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def costs(self) -> dict[str, float]:
        """Return the shares of the samples in which the worker computed, the largest first. Raises PeerUnavailable."""
        if self._process is None:
            return {}
        self._process.wait(60)
        if not self._file.is_file():
            raise PeerUnavailable("py-spy wrote no profile; it needs the right to trace other processes of this user")
        return costs_of(self._file.read_text("utf-8", "replace").splitlines())


def costs_of(folded: Sequence[str]) -> dict[str, float]:
    """Return the share of each cost in folded stacks: frames from the outermost on, a space, and the samples."""
    found: Counter[str] = Counter()
    for line in folded:
        stack, _, count = line.rpartition(" ")
        names = (_without_line(frame) for frame in stack.split(";"))
        costs = [COSTS[name] for name in names if name in COSTS]
        found[costs[0] if costs else "other"] += int(count)
    return {name: count / found.total() for name, count in found.most_common()}


def _without_line(frame: str) -> str:
    """Return a frame without its line: `add (frontier/queue.py)` for `add (frontier/queue.py:97)`."""
    name, _, place = frame.rpartition(":")
    return f"{name})" if place.rstrip(")").isdigit() else frame


def _kind(title: str) -> str:
    """Return the kind of process of a title or a name."""
    return next((kind for kind in KINDS if kind in title), "other")


def _kept(warcs: Path, site: CrawlSite) -> int:
    """Return the number of pages whose bytes are in the WARC files."""
    found = warc_check.read(warcs).payloads
    return sum(
        found.get(site.url(host, page)) == hashlib.sha1(site.body(host, page), usedforsecurity=False).digest()
        for host in range(site.hosts)
        for page in range(site.pages_of(host))
    )
