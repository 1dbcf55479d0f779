"""This bench visits pages with one worker's browser through our proxy, and measures time, CPU and memory."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Final

from rich.table import Table

from admin.demo.garden import GardenSite
from admin.demo.pages import LINKED_PAGES
from admin.demo.server import GardenServer
from admin.demo.wire import Answer, Request
from archive.settings.load import load
from bench.peers.brozzler import NAME as BROZZLER
from bench.peers.brozzler import BrozzlerVisits
from bench.process import our_command, proportional_bytes, resource_usage, source_environment, stop, tree
from browsers.proxying.control_client import Control, read_token
from browsers.visit import FleetUnavailable, VisitOrder

SITES: Final = ("plain", "heavy", "demo")
"""A page of text with a picture; a page of 60 pictures, 12 frames and 12 scripts; the pages of the bundled site."""
OURS: Final = "ghostfleet"
WARM_UP: Final = 3
"""Visits before the measurement, in which the browser starts."""
FLAT: Final = 1.2
"""Memory at the end of a soak, as a multiple of that at its start, that counts as no growth."""
_SAMPLE_SECONDS: Final = 0.5
_REAP_SECONDS: Final = 30.0
"""A process on a busy machine may need this long until it waits for a child that has ended."""
_LOOK_SECONDS: Final = 0.1
_PICTURE: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="150">'
    b'<rect width="200" height="150" fill="#%06x"/></svg>'
)
_PARTS: Final = {"picture": 60, "frame": 12, "script": 12}


@dataclass(frozen=True, slots=True)
class GhostRound:
    """One site was visited so many times, with these costs of the worker and all processes of its browser."""

    site: str
    pages: int
    failed: int
    seconds: float
    cpu_seconds: float
    first_bytes: int
    """Memory after the warm-up. Memory that processes share counts once, in parts (Linux calls this PSS)."""
    last_bytes: int
    peak_bytes: int
    mean_bytes: int
    zombies: int
    """Processes below the worker that ended and were not waited for."""
    crawler: str = OURS
    stages: Mapping[str, float] = field(default_factory=dict)
    """Mean seconds of a page's stages, in their order. A name with a slash is a part of another stage."""
    peak_parts: Mapping[str, int] = field(default_factory=dict)
    """The bytes of `peak_bytes` by the kind of process, such as `renderer`."""

    @property
    def pages_per_minute(self) -> float:
        """Return the speed of the worker."""
        return self.pages / self.seconds * 60

    @property
    def cpu_per_page(self) -> float:
        """Return CPU seconds of the worker and its browser for each page."""
        return self.cpu_seconds / self.pages

    @property
    def is_flat(self) -> bool:
        """Return whether memory did not grow and no process stayed behind."""
        return self.last_bytes <= self.first_bytes * FLAT and not self.zombies


def measure(
    sites: Sequence[str], pages: int, tell: Callable[[GhostRound], None], brozzler_pages: int = 0
) -> list[GhostRound]:
    """Visit so many pages of each site, one after the other. `tell` receives each result at once.

    With `brozzler_pages`, brozzler visits so many pages of each site, too. Raises BrowserMissing when there is no
    browser, and PeerUnavailable when brozzler can't be run.
    """
    folder = Path(tempfile.mkdtemp(prefix="ghostfleet-bench-ghosts-"))
    server = GardenServer(_answer)
    port = server.listen()
    try:
        with GardenSite() as garden, ExitStack() as at_the_end:
            proxy, ready = _start_proxy(folder, garden)
            at_the_end.callback(stop, proxy)
            urls = {
                "plain": [f"http://127.0.0.1:{port}/plain/{number}" for number in range(1000)],
                "heavy": [f"http://127.0.0.1:{port}/heavy/{number}" for number in range(1000)],
                "demo": list(LINKED_PAGES),
            }
            found = []
            for site in sites:
                found.append(_round(folder, ready, site, urls[site], pages))
                tell(found[-1])
                if brozzler_pages:
                    found.append(_brozzler_round(folder, ready, site, urls[site], brozzler_pages))
                    tell(found[-1])
            return found
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def table(found: Sequence[GhostRound]) -> Table:
    """Return the results as a table."""
    made = Table(title="one worker, one visit at a time")
    made.add_column("crawler")
    made.add_column("site")
    for name in ("pages", "failed", "pages/min", "CPU s/page", "MB first", "MB last", "MB mean", "MB peak"):
        made.add_column(name, justify="right")
    for one in found:
        sizes = (f"{size / 1e6:.0f}" for size in (one.first_bytes, one.last_bytes, one.mean_bytes, one.peak_bytes))
        speed = (f"{one.pages_per_minute:.1f}", f"{one.cpu_per_page:.2f}")
        made.add_row(one.crawler, one.site, str(one.pages), str(one.failed), *speed, *sizes)
    return made


def stage_table(found: Sequence[GhostRound]) -> Table:
    """Return the mean seconds of the stages of a visit as a table."""
    made = Table(title="seconds of a visit, by stage")
    found = [one for one in found if one.stages]
    made.add_column("stage")
    for one in found:
        made.add_column(one.site, justify="right")
    for stage in dict.fromkeys(stage for one in found for stage in one.stages):
        label = f"  {stage.partition('/')[2]}" if "/" in stage else stage
        made.add_row(label, *(f"{one.stages.get(stage, 0):.3f}" for one in found))
    return made


def memory_table(found: Sequence[GhostRound]) -> Table:
    """Return the memory at the peak by kinds of processes as a table."""
    made = Table(title="MB at the peak, by kind of process")
    made.add_column("process")
    for one in found:
        made.add_column(one.site if one.crawler == OURS else f"{one.crawler}, {one.site}", justify="right")
    for kind in sorted({kind for one in found for kind in one.peak_parts}):
        made.add_row(kind, *(f"{one.peak_parts.get(kind, 0) / 1e6:.0f}" for one in found))
    return made


def _start_proxy(folder: Path, garden: GardenSite) -> tuple[subprocess.Popen[bytes], dict[str, str]]:
    environment = {
        **source_environment(),
        "GHOSTFLEET_HOME": str(folder / "home"),
        "GHOSTFLEET_PROXY__PORT": "0",
        "GHOSTFLEET_PROXY__PROCESSES": "1",
        "GHOSTFLEET_PROXY__ALLOW_PRIVATE": "true",
        "GHOSTFLEET_PROXY__RESOLVE": ",".join(f"{name}={address}" for name, address in garden.resolve.items()),
        "GHOSTFLEET_PROXY__UPSTREAM_CA": str(garden.ca_pem),
    }
    with (folder / "proxy.log").open("wb") as log:
        proxy = subprocess.Popen(our_command("proxy"), env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=log)
    assert proxy.stdout is not None
    ready = json.loads(proxy.stdout.readline())
    return proxy, {"proxy": ready["proxy"], "control": ready["controls"][0], "home": str(folder / "home")}


def _round(folder: Path, ready: dict[str, str], site: str, urls: Sequence[str], pages: int) -> GhostRound:
    """Visit the pages from a process of its own, and sample that process meanwhile."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    turns = list(itertools.islice(itertools.cycle(urls), WARM_UP + pages))
    worker = context.Process(target=_work, args=(theirs, ready, site, turns))
    worker.start()
    theirs.close()
    try:
        ours.recv()  # the warm-up is over

        def visit() -> tuple[int, Mapping[str, float]]:
            ours.send("go")
            failed, stages = ours.recv()
            return failed, stages

        found = _sampled(worker.pid or 0, OURS, site, pages, visit)
        ours.send("end")
        worker.join()
        return found
    finally:
        if worker.is_alive():
            worker.kill()


def _brozzler_round(folder: Path, ready: dict[str, str], site: str, urls: Sequence[str], pages: int) -> GhostRound:
    """Let brozzler visit pages that we have not visited last."""
    turns = list(itertools.islice(itertools.cycle(reversed(urls)), 1 + pages))
    visits = BrozzlerVisits(ready["proxy"], turns[:1], turns[1:], folder / "brozzler.log")
    try:
        return _sampled(visits.pid, BROZZLER, site, pages, lambda: (visits.visit(), {}))
    finally:
        visits.close()


def _sampled(
    pid: int, crawler: str, site: str, pages: int, visit: Callable[[], tuple[int, Mapping[str, float]]]
) -> GhostRound:
    """Measure what `visit` costs in the process and all below it. `visit` returns failures, and seconds of stages."""
    over = threading.Event()
    samples: list[Mapping[str, int]] = []

    def watch() -> None:
        while not over.wait(_SAMPLE_SECONDS):
            samples.append(_memory(pid))

    first, before, began = _memory(pid), resource_usage(pid).cpu, time.monotonic()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        failed, stages = visit()
    finally:
        over.set()
        watcher.join()
    seconds = time.monotonic() - began
    last, after = _memory(pid), resource_usage(pid).cpu
    samples += [first, last]
    sizes = [sum(sample.values()) for sample in samples]
    return GhostRound(
        site,
        pages,
        failed,
        seconds,
        after - before,
        sum(first.values()),
        sum(last.values()),
        max(sizes),
        round(sum(sizes) / len(sizes)),
        _count_zombies(pid),
        crawler,
        {stage: spent / pages for stage, spent in stages.items()},
        max(samples, key=lambda sample: sum(sample.values())),
    )


def _work(pipe: Pipe, ready: dict[str, str], site: str, urls: Sequence[str]) -> None:
    """Visit the URLs; the parent says when to go on after the warm-up, and when to end."""
    from admin.fleet.memory import limit_arenas
    from browsers.engines.choice import proxy_trust
    from browsers.ghosts.ghost import Ghost

    limit_arenas()
    home = Path(ready["home"])
    settings = load({"home": str(home)}, environment={})
    with Control(ready["control"], read_token(home)) as control:
        visitor = Ghost(settings, [control], proxy_trust(home, ready["proxy"]))
        try:
            failed, stages = 0, Counter[str]()
            for number, url in enumerate(urls):
                if number == WARM_UP:
                    pipe.send(None)
                    pipe.recv()
                    failed = 0
                    stages.clear()
                try:
                    visit = visitor.visit(VisitOrder(url, f"bench-{site}"))
                except FleetUnavailable:
                    failed += 1
                    continue
                failed += visit.code != 200
                stages.update(visit.stages)
            pipe.send((failed, dict(stages)))
            pipe.recv()
        finally:
            visitor.close()


def _memory(root: int) -> Mapping[str, int]:
    """Return the memory of a process and all below it, by kind. Each shared page counts in parts for its sharers."""
    found = Counter[str]()
    for pid in tree(root):
        found[_kind(pid)] += proportional_bytes(pid)
    return found


def _kind(pid: int) -> str:
    """Return the kind of a process that a browser gives on its command line, or the name of its program."""
    try:
        # Chromium's processes write their arguments anew, as one string with spaces.
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").split(b" ")
    except OSError:
        return "ended"
    kinds = [one.partition(b"=")[2] for one in arguments if one.startswith((b"--type=", b"--utility-sub-type="))]
    return (kinds[-1] if kinds else os.path.basename(arguments[0])).decode("utf-8", "replace") or "ended"


def _count_zombies(root: int) -> int:
    """Return how many processes below the root have ended and stay, because nobody waits for them."""
    found = {pid for pid in tree(root) if _is_zombie(pid)}
    pause, end = threading.Event(), time.monotonic() + _REAP_SECONDS
    while found and time.monotonic() < end:
        pause.wait(_LOOK_SECONDS)
        found = {pid for pid in found if _is_zombie(pid)}
    return len(found)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


def _answer(request: Request) -> Answer:
    _, kind, *rest = request.path.split("/")
    name = rest[0] if rest else ""
    if kind == "picture":
        return Answer(_PICTURE % (hash(name) & 0xFFFFFF), content_type="image/svg+xml")
    if kind == "script":
        source = f"const data{name} = Array.from({{length: 20000}}, (_, i) => Math.sqrt(i)); // {'x' * 100_000}"
        return Answer(source.encode(), content_type="text/javascript")
    if kind == "frame":
        return Answer(f"<!doctype html><p>Frame {name}<img src=/picture/f{name}>".encode())
    text = "<p>" + "Ghosts visit this page. " * 40
    if kind == "plain":
        return Answer(
            f"<!doctype html><title>{name}</title>{text}<a href=/plain/0>x</a><img src=/picture/{name}>".encode()
        )
    parts = {
        "picture": "<img src=/picture/{0}x{1}>",
        "frame": "<iframe src=/frame/{1}></iframe>",
        "script": "<script src=/script/{1}></script>",
    }
    body = "".join(parts[kind].format(name, number) for kind, many in _PARTS.items() for number in range(many))
    return Answer(f"<!doctype html><title>{name}</title>{text * 20}{body}".encode())


def is_measurable() -> bool:
    """Return whether this machine tells the memory that processes share."""
    return os.path.exists("/proc/self/smaps_rollup")
