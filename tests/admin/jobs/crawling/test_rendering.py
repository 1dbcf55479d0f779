"""A crawl with asynchronous rendering that is stopped and resumed: real commands, Chromium, a real site."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browsers.visits import page
from support.origins.raw_origin import RawOrigin, Wait
from support.processes.ghostfleet_command import ROOT, Command
from support.processes.waiting import until

JOB = "spring"


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    """A site of three pages."""
    with RawOrigin("127.0.1.9") as started:
        started.script("/", page("<a href=/1>1</a><a href=/2>2</a>"))
        started.script("/1", page("one"))
        started.script("/2", page("two"))
        yield started


def _crawl(home: Path, url: str) -> Command:
    flags = ("--collection", "garden", "--job", JOB, "--allow-private", "--delay", "0", "--robots", "ignore", "--json")
    modes = ("--visitor", "browser", "--rendering", "asynchronous", "--workers", "1", "--render-workers", "1")
    return Command("crawl", url, *flags, *modes, home=home, GHOSTFLEET_BROWSERS__SANDBOX="false")


def _job(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", "job", *arguments, "--home", str(home)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=100,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(600)
def test_renders_that_a_stop_left_are_counted_and_done_by_the_same_command(tmp_path: Path, origin: RawOrigin) -> None:
    home = tmp_path / "home"
    gate = threading.Event()  # the plain visit of /1 ends after the stop, so that the render of /1 is left
    origin.answer("/1", lambda _: [Wait(gate), page("one")])
    with _crawl(home, origin.url("/")) as crawl:
        until(lambda: origin.asked("/1"), what="the visit of the second page", within=200)
        stopped = _job(home, "stop", JOB)
        assert stopped.returncode == 0, stopped.stderr
        gate.set()
        crawl.ended()
    summary = crawl.line(event="summary")
    assert summary["status"] == "stopped"
    left = summary["renders_left"]
    assert left >= 1
    assert any(line.endswith("not rendered: the job was stopped (by an operator)") for line in summary["missing"])
    report = (Path(summary["folder"]) / "frontier-summary-report.txt").read_text("utf-8")
    assert f"renders queued: {left}" in report

    with _crawl(home, origin.url("/")) as again:
        assert again.ended() == 0, again.stderr
    ended = again.line(event="summary")
    assert (ended["status"], ended["renders_left"]) == ("finished", 0)
    asked = {path: len(origin.asked(path)) for path in ("/", "/1", "/2")}
    assert asked == dict.fromkeys(asked, 2)  # by the plain crawler, and by the render
    told = json.loads((Path(ended["folder"]) / "report.json").read_text("utf-8"))
    assert told["frontier"]["renders"]["done"] == 3
