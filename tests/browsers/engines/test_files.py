"""No process of a browser outlives it, however the browser ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from support.processes.ends import is_at_work
from support.processes.waiting import until

from browsers.engines.files import BrowserProcess

_SCRIPT = 'sleep 600 & echo $! > "$0.new"; mv "$0.new" "$0"; wait'


@pytest.fixture
def family(tmp_path: Path) -> Iterator[tuple[BrowserProcess, psutil.Process]]:
    """A process with a process group of its own, as a browser has, and a child of the process."""
    written = tmp_path / "child"
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", _SCRIPT, str(written)], dict(os.environ), setpgroup=0)
    until(written.exists, what="the start of the child")
    yield BrowserProcess(pid, tmp_path / "stderr.log"), psutil.Process(int(written.read_text()))
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


async def test_the_end_of_a_browser_ends_its_processes(family: tuple[BrowserProcess, psutil.Process]) -> None:
    browser, child = family
    await browser.end()

    until(lambda: not is_at_work(child), what="the end of the child")


def test_a_browser_that_was_killed_leaves_no_process(family: tuple[BrowserProcess, psutil.Process]) -> None:
    browser, child = family
    os.kill(browser.pid, signal.SIGKILL)
    until(lambda: browser.has_ended, what="the end of the browser")

    until(lambda: not is_at_work(child), what="the end of the child")
