"""`ghostfleet qa run`: the exit code tells whether all that was asked for was judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.archive.capture_rows import capture
from support.processes.command_lines import Run

from admin.qa.workers import process
from admin.qa.workers.tools import Tools
from archive.settings.load import Settings, load
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
