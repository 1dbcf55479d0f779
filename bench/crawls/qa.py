"""This bench crawls a site with browsers, judges the pages by QA, and compares both: time, CPU, memory, and the lag."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.table import Table
from sqlalchemy import select

from admin.demo.server import GardenServer
from admin.demo.wire import Answer, Request
from admin.models.database import open_database
from admin.models.qa_tables import QaPage, QaPageState, QaSession
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load
from bench.process import our_command, proportional_bytes, resource_usage, source_environment, tree

WORDS: Final = "A page of the bench has text of which each paragraph is another one. "
_SAMPLE_SECONDS: Final = 0.5
_MICROS: Final = 1_000_000
_DAMAGED: Final = 3
"""Exit code of `qa run` when pages are damaged or not judged."""
_PICTURE: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="150">'
    b'<rect width="200" height="150" fill="#%06x"/></svg>'
)


@dataclass(frozen=True, slots=True)
class QaCost:
    """A command ran with these costs. Memory is that of all its processes, where a page that they share counts once."""

    command: str
    pages: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class QaRound:
    """A crawl, the QA session of its pages, and a session that followed a second crawl."""

    crawl: QaCost
    judged: QaCost
    followed: QaCost
    judged_pages: int
    damaged_pages: int
    """Judged pages that are not good; the site has none, so each one is a false alarm."""
    lag_seconds: tuple[float, ...]
    """Seconds between the capture of each page and its judgement, in order, of the session that followed."""

    def lag(self, share: float) -> float:
        """Return the lag that this share of the pages did not exceed."""
        ordered = sorted(self.lag_seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class QaBenchFailed(Exception):
    """A command of the bench ended with an error; the text has its last lines."""


def measure(pages: int, workers: int, tell: Callable[[str], None]) -> QaRound:
    """Crawl and judge a site of so many pages with so many workers. Raises QaBenchFailed."""
    folder = Path(tempfile.mkdtemp(prefix="ghostfleet-bench-qa-"))
    server = GardenServer(lambda request: _answer(request, pages))
    url = f"http://127.0.0.1:{server.listen()}/"
    try:
        crawling = ("crawl", url, "--visitor", "browser", "--delay", "0", "--workers", str(workers))
        judging = ("qa", "run", "--workers", str(workers))
        running = _Command(folder, *crawling, "--collection", "one")
        crawl = running.cost("crawl", pages)
        tell(f"crawl: {crawl.seconds:.0f} s")
        judged = _Command(folder, *judging, "one").cost("qa run", pages, _DAMAGED)
        tell(f"QA: {judged.seconds:.0f} s")
        running = _Command(folder, *crawling, "--collection", "two")
        _await_folder(folder / "home" / "collections" / "two", running)
        follower = _Command(folder, *judging, "two", "--follow")
        running.cost("crawl", pages)
        followed = follower.cost("qa run --follow", pages, _DAMAGED)
        tell(f"crawl and QA side by side: {followed.seconds:.0f} s")
        return _result(folder / "home", crawl, judged, followed)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def table(found: QaRound) -> Table:
    """Return the costs as a table."""
    made = Table(title=f"{found.crawl.pages} pages, {found.judged_pages} judged, {found.damaged_pages} false alarms")
    made.add_column("command")
    for name in ("seconds", "CPU s/page", "MB peak"):
        made.add_column(name, justify="right")
    for one in (found.crawl, found.judged, found.followed):
        per_page, size = one.cpu_seconds / one.pages, one.peak_bytes / 1e6
        made.add_row(one.command, f"{one.seconds:.1f}", f"{per_page:.2f}", f"{size:.0f}")
    return made


class _Command:
    """A command of Ghostfleet runs in a process of its own, whose tree is sampled."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        environment = {**source_environment(), "GHOSTFLEET_PROXY__ALLOW_PRIVATE": "true"}
        self._log = folder / f"{arguments[0]}-{time.monotonic_ns()}.log"
        self._began = time.monotonic()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                our_command(*arguments, "--home", str(folder / "home")),
                env=environment,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        self._cpu, self._peak, self._ended = 0.0, 0, self._began
        self._sampler = threading.Thread(target=self._sample, name="bench-qa")
        self._sampler.start()

    @property
    def has_ended(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def wait(self, seconds: float) -> None:
        """Return when the process has ended, or after so many seconds."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def cost(self, name: str, pages: int, *allowed: int) -> QaCost:
        """Wait for the end and return the costs. Raises QaBenchFailed."""
        try:
            code = self._process.wait()
        except BaseException:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()
            raise
        finally:
            self._sampler.join()
        if code not in (0, *allowed):
            raise QaBenchFailed(f"{name} ended with {code}: {self._log.read_text('utf-8', 'replace')[-2000:]}")
        return QaCost(name, pages, self._ended - self._began, self._cpu, self._peak)

    def _sample(self) -> None:
        while not self.has_ended:
            at = time.monotonic()
            usage = resource_usage(self._process.pid)
            self._cpu = max(self._cpu, usage.cpu + usage.redis_cpu)
            self._peak = max(self._peak, sum(proportional_bytes(pid) for pid in tree(self._process.pid)))
            self.wait(max(0.01, at + _SAMPLE_SECONDS - time.monotonic()))
        self._ended = time.monotonic()


def _result(home: Path, crawl: QaCost, judged: QaCost, followed: QaCost) -> QaRound:
    with (
        closing(open_database(load({"home": str(home)}, environment={}))) as database,
        database.reading(COMMAND_LINE) as reading,
    ):
        rows = reading.session.execute(
            select(QaPage.captured, QaPage.judged, QaPage.severity, QaPage.state, QaSession.follows).join(
                QaSession, QaSession.id == QaPage.session_id
            )
        ).all()
    done = [row for row in rows if row.state is QaPageState.JUDGED]
    lags = sorted((row.judged - row.captured) / _MICROS for row in done if row.follows and row.judged is not None)
    damaged = sum(row.severity != "good" for row in done)
    return QaRound(crawl, judged, followed, len(done), damaged, tuple(lags))


def _await_folder(folder: Path, running: _Command) -> None:
    """Wait until the crawl has made its collection. Raises QaBenchFailed when the crawl ends before."""
    while not folder.is_dir():
        if running.has_ended:
            running.cost("crawl", 1)
            raise QaBenchFailed(f"the crawl ended without a folder {folder.name}")
        running.wait(_SAMPLE_SECONDS / 10)


def _answer(request: Request, pages: int) -> Answer:
    _, kind, *rest = request.path.split("/")
    name = rest[0] if rest else ""
    if kind == "picture":
        return Answer(_PICTURE % (sum(name.encode()) * 40_503 & 0xFFFFFF), content_type="image/svg+xml")
    if kind == "style":
        return Answer(b"body{font:16px sans-serif;margin:2em}img{float:right}", content_type="text/css")
    if kind == "script":
        return Answer(b"document.body.dataset.script = 'ran'", content_type="text/javascript")
    if kind not in ("", "page"):
        return Answer(status=404, content_type="text/plain")
    links = "".join(f"<a href=/page/{number}>{number}</a> " for number in range(1, pages)) if not kind else ""
    text = "".join(f"<p>{WORDS} {name} {number}</p>" for number in range(30))
    pictures = "".join(f"<img src=/picture/{name}-{number}>" for number in range(3))
    head = f"<!doctype html><title>{name or 'Start'}</title><link rel=stylesheet href=/style/one>"
    return Answer(f"{head}<script defer src=/script/one></script>{links}{pictures}{text}".encode())


def lines(found: QaRound) -> Sequence[str]:
    """Return the comparison in sentences."""
    share = found.judged.seconds / found.crawl.seconds
    lag = f"{found.lag(0.5):.0f} s at the median, {found.lag(0.95):.0f} s at p95, {found.lag(1):.0f} s at most"
    return (f"QA took {share:.2f} of the crawl's time with as many workers.", f"Lag of --follow: {lag}.")
