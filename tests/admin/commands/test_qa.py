"""`ghostfleet qa run`: the exit code tells whether all that was asked for was judged."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.archive.capture_rows import capture
from support.processes.command_lines import Run
from support.processes.waiting import until

from admin.models.database import open_database
from admin.models.qa_tables import QaSession, QaState
from admin.models.transaction import COMMAND_LINE
from admin.qa.workers import process
from admin.qa.workers.tools import Tools
from archive.settings.load import Settings, load
from bench.process import our_command, source_environment
from browsers.ghosts.ghost import Ghost
from browsers.proxying.control_client import Control
from dedupdb.captures.capture_index import Captures


@pytest.fixture(autouse=True)
def _collection_without_a_browser(home: Path, sqlite_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Index a page of the collection, and lend tools that need neither proxies nor a browser."""
    assert sqlite_run("domain", "list").code == 0
    Captures(load({"home": str(home)}, environment={}).database_url).add([capture(job="monday")])

    @contextmanager
    def tools(settings: Settings, *_: Any) -> Iterator[Tools]:
        ghost = cast(Ghost, SimpleNamespace(break_off=lambda: None))
        yield Tools(settings, ghost, (cast(Control, None),), "")

    monkeypatch.setattr(process, "running_tools", tools)


def test_a_run_that_found_no_page_has_failed(sqlite_run: Run) -> None:
    done = sqlite_run("qa", "run", "news", "--job", "mnday")
    assert (done.code, "of 0 pages" in done.out) == (1, True)
    assert "nothing was judged: news has no captured page of the job mnday" in done.err


def test_a_listed_url_without_a_captured_page_is_named_as_not_judged(sqlite_run: Run, tmp_path: Path) -> None:
    (tmp_path / "urls").write_text("http://example.org/never\n", "utf-8")
    done = sqlite_run("qa", "run", "news", "--pages", str(tmp_path / "urls"))
    assert done.code == 3
    assert "1 not judged, 0 good, of 1 pages" in done.out
    assert "  ---  http://example.org/never: the collection has no captured page with this URL" in done.out


@pytest.mark.timeout(300)
def test_a_signal_while_the_proxies_start_stops_the_session(home: Path) -> None:
    command = our_command("qa", "run", "news", "--home", str(home))
    with closing(open_database(load({"home": str(home)}, environment={}))) as database:

        def state() -> QaState | None:
            with database.reading(COMMAND_LINE) as reading:
                found = reading.session.get(QaSession, 1)
                return found.state if found is not None else None

        with subprocess.Popen(command, env=source_environment(), stderr=subprocess.PIPE, text=True) as running:
            until(lambda: state() is QaState.RUNNING, what="the start of the session", within=100)
            running.send_signal(signal.SIGINT)
            _, told = running.communicate()
        assert (running.returncode, state()) == (130, QaState.STOPPED), told
    assert "qa run news --session 1` goes on" in told
    assert "Traceback" not in told
