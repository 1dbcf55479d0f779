"""A browser that can't start says why, and no process and no file of a browser stays behind."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.browsers.visits import Fleet, page
from support.origins.raw_origin import RawOrigin, Wait
from support.processes.ends import is_at_work
from support.processes.waiting import until

from archive.settings.load import load
from browsers.engines.choice import ProxyTrust, engine_start
from browsers.engines.chromium.browser import OLDEST
from browsers.engines.engine_pool import EnginePool
from browsers.engines.files import sweep
from browsers.engines.interface import BrowserMissing, Device
from browsers.ghosts.ghost import Ghost
from browsers.proxying.control_client import Control, read_token
from browsers.visit import FleetUnavailable, GhostTrouble, Visit, VisitOrder

pytestmark = pytest.mark.browser

OLD_BROWSER = f"""#!{sys.executable}
import json, os
asked = b""
while not asked.endswith(b"\\0"):
    asked += os.read(3, 1)
answer = {{"id": json.loads(asked[:-1])["id"], "result": {{"product": "HeadlessChrome/{OLDEST - 1}.0.1.2"}}}}
os.write(4, json.dumps(answer).encode() + b"\\0")
os.read(3, 1)
"""


def ghost_of(fleet: Fleet, **browsers: Any) -> Ghost:
    settings = fleet.settings(sandbox=False, **browsers)
    return Ghost(settings, [fleet.control], fleet.trusted)


def folders(pid: int) -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob(f"ghostfleet-ghost-{pid}-*"))


def swept_folders() -> set[Path]:
    """The folders of this process that the next start of a browser leaves. A killed one may have written until now."""
    sweep()
    return folders(os.getpid())


def command_line(process: psutil.Process) -> str:
    """Return the command line of a process; an empty text when the process has ended."""
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def test_a_browser_that_is_too_old_is_named_with_its_version(fleet: Fleet, tmp_path: Path) -> None:
    program, before = tmp_path / "chromium", folders(os.getpid())
    program.write_text(OLD_BROWSER)
    program.chmod(0o755)
    visitor = ghost_of(fleet, executable=str(program))
    try:
        with pytest.raises(BrowserMissing, match=rf"version is {OLDEST - 1}\.0\.1\.2, and {OLDEST} is the oldest"):
            visitor.open()
    finally:
        visitor.close()

    until(lambda: swept_folders() <= before, what="the end of the browser's folder")
    assert not [process for process in psutil.Process().children() if str(program) in command_line(process)]


def test_a_browser_starts_where_the_temporary_folder_has_a_long_path(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS, whose temporary folders have paths of fifty characters; the path of a socket has a limit."""

    def short_folders() -> set[Path]:
        sweep()
        return set(Path("/tmp").glob(f"ghostfleet-ghost-{os.getpid()}-*"))

    deep, before = tmp_path / ("x" * 80), short_folders()
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    visitor = ghost_of(fleet)
    try:
        visitor.open()
    finally:
        visitor.close()

    until(lambda: short_folders() <= before, what="the end of the browser's folder")


def test_a_worker_without_file_descriptors_has_no_browser_until_there_are_some(fleet: Fleet) -> None:
    before, (soft, hard) = folders(os.getpid()), resource.getrlimit(resource.RLIMIT_NOFILE)
    visitor = ghost_of(fleet)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            with pytest.raises(BrowserMissing, match="Too many open files"):
                visitor.open()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        visitor.open()
    finally:
        visitor.close()

    until(lambda: swept_folders() <= before, what="the end of the browser's folder")


def test_a_page_whose_browser_ended_after_the_crash_of_another_page_is_not_the_reason(
    fleet: Fleet, origin: RawOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("browsers.engines.running_browser._TOGETHER_SECONDS", 600.0)
    over = threading.Event()
    for name in ("crashes", "waits"):
        origin.script(f"/{name}", page(f"<img src=/{name}.png>"))
        origin.script(f"/{name}.png", Wait(over))
    visitor, before = ghost_of(fleet), set(psutil.Process().children(recursive=True))
    visitor.open()
    try:
        with ThreadPoolExecutor(2) as threads:
            renderers: dict[str, set[psutil.Process]] = {}
            visiting: dict[str, Future[Visit]] = {}
            for name in ("waits", "crashes"):
                visiting[name] = threads.submit(visitor.visit, fleet.order(origin.url(f"/{name}")))
                until(lambda name=name: origin.asked(f"/{name}.png"), what=f"/{name} to load")
                new = set(psutil.Process().children(recursive=True)) - before
                renderers[name] = {one for one in new if "--type=renderer" in command_line(one)}
            for process in renderers["crashes"] - renderers["waits"]:
                process.kill()
            with pytest.raises(FleetUnavailable, match="browser-crashed") as crashed:
                visiting["crashes"].result(timeout=60)
            for process in set(psutil.Process().children()) - before:
                process.kill()
            with pytest.raises(FleetUnavailable, match="browser-lost") as fallen:
                visiting["waits"].result(timeout=60)
    finally:
        over.set()
        visitor.close()

    assert (crashed.value.may_be_the_page, crashed.value.trouble) == (True, GhostTrouble.CRASH)
    assert (fallen.value.may_be_the_page, fallen.value.trouble) == (False, None)


async def test_a_browser_that_is_lost_between_visits_leaves_no_folder_and_no_process(fleet: Fleet) -> None:
    before, settings = folders(os.getpid()), fleet.settings(sandbox=False).browsers
    pool = EnginePool(engine_start(settings, fleet.trusted, ["127.0.0.1"], Device()), visits_per_engine=9)
    async with pool.lend() as first:
        left, family = folders(os.getpid()) - before, psutil.Process(first.pid).children(recursive=True)
    os.kill(first.pid, signal.SIGKILL)
    await first.lost.wait()
    async with pool.lend() as second:
        assert second is not first
        until(lambda: not left & swept_folders(), what="the end of the first browser's folder")
        until(lambda: not any(map(is_at_work, family)), what="the ends of the first browser's processes")
    await pool.close()

    assert left
    assert family
    until(lambda: swept_folders() <= before, what="the end of the second browser's folder")


def _visit_for_ever(home: str, address: str, token: str, trusted: ProxyTrust, order: VisitOrder) -> None:
    with Control(address, token) as control:
        Ghost(load({"home": home, "browsers.sandbox": False}, environment={}), [control], trusted).visit(order)


def test_a_worker_that_is_killed_leaves_no_browser(fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", page("<img src=/never>"))
    origin.script("/never", Wait(threading.Event()))
    order, token = fleet.order(origin.url("/")), read_token(fleet.home)
    worker = multiprocessing.get_context("spawn").Process(
        target=_visit_for_ever, args=(str(fleet.home), fleet.control.address, token, fleet.trusted, order)
    )
    worker.start()
    until(lambda: any(seen.path == "/never" for seen in origin.visits), what="the page to load", within=60)
    family = psutil.Process(worker.pid).children(recursive=True)
    worker.kill()
    worker.join()

    assert family
    until(lambda: not any(map(is_at_work, family)), what="Chromium to end")
