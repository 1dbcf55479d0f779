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
from bench.process import our_command, resource_usage, source_environment, stop, tree
from browsers.proxy_client import Control, read_token
from browsers.visit import FleetUnavailable, VisitOrder

SITES: Final = ("plain", "heavy", "demo")
"""A page of text with a picture; a page of 60 pictures, 12 frames and 12 scripts; the pages of the bundled site."""
WARM_UP: Final = 3
"""Visits before the measurement, in which the browser starts."""
FLAT: Final = 1.2
"""Memory at the end of a soak, as a multiple of that at its start, that counts as no growth."""
_SAMPLE_SECONDS: Final = 0.5
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
    stages: Mapping[str, float] = field(default_factory=dict)
    """Mean seconds of a page's stages, in their order. A name with a slash is a part of another stage."""

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


def measure(sites: Sequence[str], pages: int, tell: Callable[[GhostRound], None]) -> list[GhostRound]:
    """Visit so many pages of each site, one after the other. `tell` receives each result at once.

    Raises BrowserMissing when there is no browser.
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
            return found
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def table(found: Sequence[GhostRound]) -> Table:
    """Return the results as a table."""
    made = Table(title="one worker, one visit at a time")
    for name in ("site", "pages", "failed", "pages/min", "CPU s/page", "MB first", "MB last", "MB mean", "MB peak"):
        made.add_column(name, justify="left" if name == "site" else "right")
    for one in found:
        sizes = (f"{size / 1e6:.0f}" for size in (one.first_bytes, one.last_bytes, one.mean_bytes, one.peak_bytes))
        speed = (f"{one.pages_per_minute:.1f}", f"{one.cpu_per_page:.2f}")
        made.add_row(one.site, str(one.pages), str(one.failed), *speed, *sizes)
    return made


def stage_table(found: Sequence[GhostRound]) -> Table:
    """Return the mean seconds of the stages of a visit as a table."""
    made = Table(title="seconds of a visit, by stage")
    made.add_column("stage")
    for one in found:
        made.add_column(one.site, justify="right")
    for stage in dict.fromkeys(stage for one in found for stage in one.stages):
        label = f"  {stage.partition('/')[2]}" if "/" in stage else stage
        made.add_row(label, *(f"{one.stages.get(stage, 0):.3f}" for one in found))
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
    over = threading.Event()
    sizes: list[int] = []

    def watch() -> None:
        while not over.wait(_SAMPLE_SECONDS):
            sizes.append(_memory(pid))

    try:
        ours.recv()  # the warm-up is over
        pid = worker.pid or 0
        first, before, began = _memory(pid), resource_usage(pid).cpu, time.monotonic()
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            ours.send("go")
            failed, stages = ours.recv()
        finally:
            over.set()
            watcher.join()
        seconds = time.monotonic() - began
        last, after = _memory(pid), resource_usage(pid).cpu
        zombies = sum(_is_zombie(one) for one in tree(pid))
        ours.send("end")
        worker.join()
    finally:
        if worker.is_alive():
            worker.kill()
    sizes += [first, last]
    return GhostRound(
        site,
        pages,
        failed,
        seconds,
        after - before,
        first,
        last,
        max(sizes),
        round(sum(sizes) / len(sizes)),
        zombies,
        {stage: spent / pages for stage, spent in stages.items()},
    )


def _work(pipe: Pipe, ready: dict[str, str], site: str, urls: Sequence[str]) -> None:
    """Visit the URLs; the parent says when to go on after the warm-up, and when to end."""
    from browsers.engine_choice import proxy_trust
    from browsers.ghosts.ghost import ChromiumVisitor

    home = Path(ready["home"])
    settings = load({"home": str(home)}, environment={})
    with Control(ready["control"], read_token(home)) as control:
        visitor = ChromiumVisitor(settings, [control], proxy_trust(home, ready["proxy"]))
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


def _memory(root: int) -> int:
    """Return the memory of a process and all below it. Each shared page counts in parts for those that share it."""
    return sum(_proportional(pid) for pid in tree(root))


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0  # the process ended meanwhile
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


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
