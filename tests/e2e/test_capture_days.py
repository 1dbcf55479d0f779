"""Bad days of a capture session in a window: each is named, and nothing is lost that was shown as kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from playwright.sync_api import Page
from sqlalchemy import select
from support.browsers.recorded_window import ended, recording, steered
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes.ghostfleet_command import Command
from support.processes.removal import remove_in_use
from support.processes.waiting import until

from admin.capture_sessions import sessions
from admin.capture_sessions.sessions import CaptureSessionView
from admin.models.capture_tables import CaptureState
from admin.models.database import Database, open_database
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load
from archive.warc.upkeep.check import check
from bench.process import our_command, source_environment
from dedupdb.captures.schema import CAPTURES, open_engine, reading

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
SMALL_DISK = 120_000_000
RESERVE = 40_000_000


def routes(asked: Asked) -> Routed | None:
    """Pages with a title, which no browser has in its cache. No connection outlives its answer."""
    if asked.path.startswith("/page-"):
        body = f"<!doctype html><title>Page {asked.path[6:]}</title><p>{asked.path}".encode()
        return Routed(
            body, "text/html; charset=utf-8", headers=(("Cache-Control", "no-store"), ("Connection", "close"))
        )
    return None


@pytest.fixture
def site() -> Iterator[RoutedSite]:
    with RoutedSite(routes) as site:
        yield site


@contextmanager
def opened(home: Path) -> Iterator[Database]:
    """The admin's database of the home."""
    database = open_database(load({"home": str(home)}, environment={}))
    yield database
    database.close()


def view(database: Database, number: int = 1) -> CaptureSessionView:
    """The session as its page shows it."""
    with database.reading(COMMAND_LINE) as transaction:
        return sessions.show(transaction, number)


def visit(page: Page, url: str, database: Database, number: int = 1) -> str:
    """Open a page, and wait until the session shows it as kept; return its URL."""
    page.goto(url)
    until(lambda: url in pages_of(database, number), what=f"{url} among the pages", within=90)
    return url


def pages_of(database: Database, number: int) -> list[str]:
    """The URLs of the pages that the session shows."""
    with database.reading(COMMAND_LINE) as transaction:
        return sessions.page_urls(transaction, number)


def kept(home: Path) -> set[str]:
    """The URLs of the index. The WARC files are whole."""
    settings = load({"home": str(home)}, environment={})
    files = sorted(settings.archive_dir("hand").glob("*.warc.gz"))
    assert [str(each) for file in files for each in check(file)] == []
    engine = open_engine(settings.database_url)
    with reading(engine) as connection:
        found = list(connection.execute(select(CAPTURES.c.url, CAPTURES.c.filename, CAPTURES.c.offset)))
    engine.dispose()
    assert len(found) == len(set(found)), "no record is listed twice"
    return {url for url, _, _ in found}


def record(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `record` with a window that nobody sees, until it ends by itself."""
    given = (*arguments, "--headless", "--json", "--allow-private", "--home", str(home))
    return subprocess.run(
        our_command("record", "hand", *given),
        env=source_environment(), capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip


def early_end(process: subprocess.Popen[str]) -> dict[str, Any]:
    """The last line of a command that tells of an early end by its exit code."""
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 1, out
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def test_two_windows_have_a_session_each_and_one_session_has_one_window(home: Path, site: RoutedSite) -> None:
    with (
        recording(home, site.url("/page-first")) as (one, _, address),
        recording(home, site.url("/page-first")) as (two, second, other),
        opened(home) as database,
    ):
        with steered(address) as (_, page):
            shown = [visit(page, site.url("/page-one"), database)]
        refused = record(home, "--resume", "1")
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
        assert "capture session 1 is recorded by another process" in refused.stderr
        with steered(other) as (_, page):
            shown += [visit(page, site.url("/page-two"), database, second["session"])]
        for process, number in ((one, 1), (two, 2)):
            process.send_signal(signal.SIGINT)
            last = ended(process)
            assert (last["id"], last["pages"], last["state"]) == (number, 2, "ended")
    assert set(shown) <= kept(home)
    names = sorted(path.name for path in load({"home": str(home)}, environment={}).archive_dir("hand").iterdir())
    assert [name.split("-")[2] for name in names] == ["1", "2"]


@pytest.mark.slow
def test_of_two_commands_that_resume_a_session_one_is_refused(home: Path, site: RoutedSite) -> None:
    with recording(home, site.url("/page-first")) as (process, _, _):
        process.send_signal(signal.SIGINT)
        ended(process)
    given = ("--resume", "1", "--headless", "--json", "--allow-private", "--home", str(home))
    both = [
        subprocess.Popen(
            our_command("record", "hand", *given),
            env=source_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) for _ in range(2)
    ]  # fmt: skip
    refused_one = until(lambda: next((each for each in both if each.poll() is not None), None), what="one", within=90)
    other_one = next(each for each in both if each is not refused_one)
    assert refused_one.returncode == 2
    assert "is recorded by another process" in refused_one.communicate()[1].splitlines()[-1]
    assert other_one.poll() is None
    assert other_one.stdout is not None
    assert json.loads(other_one.stdout.readline())["session"] == 1
    other_one.send_signal(signal.SIGINT)
    assert ended(other_one)["state"] == "ended"


@pytest.mark.slow
def test_a_removed_collection_ends_the_session(home: Path, site: RoutedSite) -> None:
    with recording(home, site.url("/page-1")) as (process, _, _), opened(home) as database:
        until(lambda: view(database).pages, what="the page", within=90)
        refused = subprocess.run(
            our_command("collection", "delete", "hand", "--yes-delete", "hand", "--home", str(home)),
            env=source_environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert refused.returncode == 2
        assert "capture session 1 of command line is open (`ghostfleet session end 1` ends it)" in refused.stderr
        remove_in_use(home / "collections" / "hand")
        last = early_end(process)
        assert last["state"] == "ended"
        assert "the folder of collection hand was removed" in last["error"]
        assert view(database).error == last["error"]


def test_a_full_disk_is_named_and_the_session_goes_on_with_more_room(tmp_path: Path, site: RoutedSite) -> None:
    with small_disk(tmp_path / "disk") as disk:
        home = disk / "home"
        home.mkdir()
        (home / "ghostfleet.toml").write_text(f"[archive]\nmin_free_bytes = {RESERVE}\n")
        with recording(home, site.url("/page-first")) as (process, _, address), opened(home) as database:
            with steered(address) as (_, page):
                shown = [visit(page, site.url("/page-before"), database)]
                filler = disk / "filler"
                with filler.open("wb") as file:
                    file.truncate(0)
                    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
                    os.posix_fallocate(file.fileno(), 0, free - RESERVE // 2)
                told = until(lambda: view(database).error, what="the trouble on the session's page", within=60)
                assert told.startswith("Nothing is kept now, and pages get an error: the disk is full"), told
                answer = page.goto(site.url("/page-refused"))
                assert answer is not None
                assert answer.status == 503
                assert "the disk is full" in page.locator("body").inner_text()
                assert view(database).state is CaptureState.OPEN

                filler.unlink()
                until(lambda: not view(database).error, what="the end of the trouble", within=60)
                shown.append(visit(page, site.url("/page-after"), database))
            process.send_signal(signal.SIGINT)
            last = ended(process)
            assert [each["url"] for each in last["listed_pages"]] == [site.url("/page-first"), *shown]
        found = kept(home)
        assert set(shown) <= found
        assert site.url("/page-refused") not in found


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own with little room; skips where it can't be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
def test_a_site_that_can_not_be_reached_is_named_and_comes_back(home: Path) -> None:
    with RoutedSite(routes) as site:
        url = site.url
        with recording(home, url("/page-first")) as (process, _, address), opened(home) as database:
            with steered(address) as (_, page):
                shown = [visit(page, url("/page-before"), database)]
                site.__exit__(None, None, None)
                for number in range(4):
                    answer = page.goto(url(f"/page-away-{number}"))
                    assert answer is not None
                    assert answer.status == 502
                    assert answer.headers["ghostfleet-error"].startswith("-2 refused")
                    assert "Connection refused" in page.locator("body").inner_text()
                assert view(database).state is CaptureState.OPEN
                with RoutedSite(routes, port=urlsplit(url("/")).port or 0):

                    def came() -> bool:
                        answer = page.goto(url("/page-after"))
                        return answer is not None and answer.status == 200

                    until(came, what="the site", within=60)
                    until(lambda: view(database).failed >= 4, what="the failures", within=60)
                    shown.append(visit(page, url("/page-later"), database))
            process.send_signal(signal.SIGINT)
            listed = [each["url"] for each in ended(process)["listed_pages"]]
    assert {*shown, url("/page-after")} <= set(listed)
    assert set(listed) <= kept(home)
    assert not [each for each in listed if "away" in each]


def everything(pid: int) -> list[psutil.Process]:
    """The command with all of its processes, the browser too."""
    command = psutil.Process(pid)
    return [command, *command.children(recursive=True)]


def send(processes: list[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to these processes."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


@pytest.mark.slow
def test_a_window_that_was_stopped_for_long_goes_on(home: Path, site: RoutedSite) -> None:
    """A laptop was closed: all processes stand still, and the time goes on."""
    with recording(home, site.url("/page-first")) as (process, _, address), opened(home) as database:
        with steered(address) as (_, page):
            shown = [visit(page, site.url("/page-before"), database)]
            stopped = everything(process.pid)
            send(stopped, signal.SIGSTOP)
            age(database)
            send(stopped, signal.SIGCONT)
            shown.append(visit(page, site.url("/page-after"), database))
        process.send_signal(signal.SIGINT)
        assert [each["url"] for each in ended(process)["listed_pages"]] == [site.url("/page-first"), *shown]
    assert set(shown) <= kept(home)


def age(database: Database) -> None:
    """Let the last words of the session's process be of an hour ago."""
    from admin.models.capture_tables import CaptureSession

    with database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.get_one(CaptureSession, 1)
        assert row.heard is not None
        row.heard -= 3_600_000_000


@pytest.mark.slow
def test_a_window_whose_session_was_ended_meanwhile_says_so(home: Path, site: RoutedSite) -> None:
    """The window alone stood still, and the capture process took its session for one that was left.

    `tests/admin/capture_sessions/test_recording.py` has the quick form. Chromium did not end well, and may open the
    pages of before again when the session is resumed.
    """
    with recording(home, site.url("/page-first")) as (process, _, address), opened(home) as database:
        with steered(address) as (_, page):
            shown = visit(page, site.url("/page-before"), database)
            stopped = everything(process.pid)
            send(stopped, signal.SIGSTOP)
            age(database)
            with Command("session", "work", home=home, GHOSTFLEET_CAPTURE__PORT="0") as command:
                command.line(ready=True)
                until(lambda: view(database).state is CaptureState.ENDED, what="the end of the session", within=90)
            send(stopped, signal.SIGCONT)
            last = early_end(process)
        assert "ended by another process while this one was stopped" in last["error"]
        assert [each["url"] for each in last["listed_pages"]] == [site.url("/page-first"), shown]
    with recording(home, site.url("/page-again"), "--resume", "1") as (process, _, _), opened(home) as database:
        until(lambda: view(database).pages > 2, what="the third page", within=90)
        process.send_signal(signal.SIGINT)
        assert ended(process)["error"] == ""
    assert {shown, site.url("/page-again")} <= kept(home)
