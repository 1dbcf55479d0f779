"""Real crawls with queue groups, and of continuous jobs: commands, worker processes, sites that note each request."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.browsers.visits import page
from support.origins.raw_origin import RawOrigin, Step, Wait
from support.processes.ghostfleet_command import ROOT, Command
from support.processes.waiting import until

JOB = "spring"


class TimedSite:
    """A site that notes when each request came, and how many requests of all sites are answered at the same time.

    The fourth request of all sites is answered when `goes_on` is set.
    """

    lock = threading.Lock()

    def __init__(self, origin: RawOrigin, times: list[float], going: list[int], goes_on: threading.Event) -> None:
        self._times, self._going, self._goes_on = times, going, goes_on
        origin.otherwise(self._answer)
        for number in range(3):
            origin.answer(f"/{number}", self._answer)

    def _answer(self, request: bytes) -> Sequence[Step]:
        with self.lock:
            self._times.append(time.monotonic())
            self._going.append(self._going[-1] + 1)
            is_held = len(self._times) == 4
        done = threading.Event()
        threading.Timer(0.05, self._end, (done, is_held)).start()
        return [Wait(done), page(f"{request[:20]!r} <a href=/1>1</a><a href=/2>2</a>")]

    def _end(self, done: threading.Event, is_held: bool) -> None:
        if is_held:
            self._goes_on.wait(100)
        with self.lock:
            self._going.append(self._going[-1] - 1)
        done.set()


def crawl(home: Path, profile: str, *urls: str, flags: Sequence[str] = ("--workers", "8", "--delay", "0")) -> Command:
    home.mkdir(exist_ok=True)
    path = home.parent / "profile.toml"
    path.write_text(profile)
    common = ("--collection", "garden", "--job", JOB, "--allow-private", "--robots", "ignore", "--json")
    return Command("crawl", *urls, *common, *flags, "--profile", str(path), home=home)


def command(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", *arguments, "--home", str(home)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=100,
        check=False,
    )


@pytest.mark.timeout(300)
def test_the_hosts_of_a_platform_are_asked_one_after_another(tmp_path: Path) -> None:
    times: list[float] = []
    going, goes_on = [0], threading.Event()
    home = tmp_path / "home"
    (home / "lists").mkdir(parents=True)
    (home / "lists" / "platform.txt").write_text("# by address\n127.0.7.0/24\n")
    with ExitStack() as sites:
        origins = [sites.enter_context(RawOrigin(f"127.0.7.{number}")) for number in range(1, 4)]
        for origin in origins:
            TimedSite(origin, times, going, goes_on)
        profile = 'groups = ["platform list:platform.txt parallel=1 delay=0.3"]\n'
        with crawl(home, profile, *(origin.url("/") for origin in origins)) as run:
            until(lambda: len(times) > 3, what="four visits", within=100)
            shown = command(home, "job", "groups", JOB, "--json")
            goes_on.set()
            assert run.ended() == 0, run.stderr
    asked = [visit.path for origin in origins for visit in origin.visits]
    assert len(asked) == 9, asked
    assert max(going) == 1
    # A visit begins after the end of the one before and the delay.
    assert min(later - earlier for earlier, later in pairwise(sorted(times))) > 0.299
    report = json.loads(shown.stdout)
    assert (report["name"], report["parallel"], report["delay_seconds"]) == ("platform", 1, 0.3)
    assert report["hosts"] == 3


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(500)
def test_workers_and_ghosts_together_keep_the_delays_of_hosts_and_of_their_group(tmp_path: Path) -> None:
    """Ten plain workers and two ghosts: the sites' own times of requests tell, with those of embedded pictures."""
    asked: list[tuple[float, str, str]] = []

    def answers(name: str, origin: RawOrigin) -> None:
        links = "".join(f"<a href=/{number}>{number}</a><img src=/{number}.png>" for number in range(2))

        def answer(request: bytes) -> Sequence[Step]:
            asked.append((time.monotonic(), name, request.split()[1].decode()))
            return [page(links)]

        origin.otherwise(answer)
        for path in ("/", *(f"/{number}{ending}" for number in range(2) for ending in ("", ".png"))):
            origin.answer(path, answer)

    home = tmp_path / "home"
    rules = 'visitor = "browser"\nrendering = "asynchronous"\ngroups = ["platform 127.0.8.0/24 parallel=1 delay=0.3"]\n'
    with ExitStack() as sites:
        origins = [sites.enter_context(RawOrigin(f"127.0.8.{number}")) for number in range(1, 4)]
        for number, origin in enumerate(origins):
            answers(str(number), origin)
        flags = ("--workers", "10", "--render-workers", "2", "--delay", "1")
        with crawl(home, rules, *(origin.url("/") for origin in origins), flags=flags) as run:
            assert run.ended(within=400) == 0, run.stderr
    last: dict[str, float] = {}
    documents = 0
    for at, name, path in sorted(asked):
        if path == "/" or path[1:].isdecimal():  # a visit begins
            documents += 1
            assert at - last.get(name, 0.0) > 0.999, (name, path)
            assert at - max(last.values(), default=0.0) > 0.299, (name, path)
        last[name] = at
    pictures = [path for _, _, path in asked if path.endswith(".png")]
    assert documents == 2 * 3 * 3, "each page was visited by a plain worker and by a ghost"
    assert len(pictures) >= 3 * 2


@pytest.mark.timeout(300)
def test_a_continuous_crawl_visits_again_and_goes_on_after_a_stop(tmp_path: Path) -> None:
    home, versions = tmp_path / "home", [0]
    profile = '[revisit]\nmode = "fixed"\ninterval_seconds = 1\n'
    with RawOrigin("127.0.7.9") as origin:
        origin.answer("/", lambda _: [page(f"version {versions[0]} <a href=/a>a</a>")])
        origin.script("/a", page("always the same"))
        with crawl(home, profile, origin.url("/")) as run:
            until(lambda: len(origin.asked("/a")) >= 2, what="two visits of the same page", within=100)
            versions[0] = 1
            until(lambda: (history(home, origin.url("/")) or {}).get("changes"), what="the change", within=60)
            known = history(home, origin.url("/a"))
            assert known is not None
            assert (known["changes"], known["interval_seconds"]) == (0, 1)
            now = command(home, "revisit", "now", origin.url("/new"), "--job", JOB)
            assert now.stdout == f"added    {origin.url('/new')}\n"
            until(lambda: origin.asked("/new"), what="the urgent URL", within=30)
            unknown = command(home, "revisit", "show", origin.url("/no"), "--job", JOB)
            assert unknown.returncode == 1
            assert command(home, "job", "stop", JOB).returncode == 0
            run.ended()
        assert run.line(event="summary")["status"] == "stopped"
        with crawl(home, profile, origin.url("/")) as again:
            until(lambda: visits(home, origin.url("/a")) > known["visits"] + 1, what="further visits", within=100)
            text = command(home, "revisit", "show", origin.url("/"), "--job", JOB).stdout
            assert ", with 1 change; " in text, (
                "further visits of a slow machine leave it in no list of the last results"
            )
            assert command(home, "job", "stop", JOB).returncode == 0
            again.ended()


def history(home: Path, url: str) -> dict[str, Any] | None:
    told = command(home, "revisit", "show", url, "--job", JOB, "--json")
    found: dict[str, Any] | None = json.loads(told.stdout) if told.returncode == 0 else None
    return found


def visits(home: Path, url: str) -> int:
    return int((history(home, url) or {}).get("visits", 0))
