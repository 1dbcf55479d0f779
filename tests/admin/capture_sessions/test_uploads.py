"""Files that were captured elsewhere become a capture session of their own, by the command and by the site's worker."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from admin.capture_sessions import sessions
from admin.capture_sessions.sessions import CapturePageView, CaptureSessionView
from admin.capture_sessions.uploads import Upload, note_upload
from admin.models.capture_tables import CaptureDoor, CaptureState
from admin.models.database import FILE_NAME, Database, open_database
from admin.models.errors import IllegalState
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import Settings, load
from bench.process import our_command, source_environment


@pytest.fixture
def database(home: Path, sqlite_tables: Path) -> Iterator[Database]:
    shutil.copy(sqlite_tables, home / FILE_NAME)
    database = open_database(load({"home": str(home)}, environment={}))
    yield database
    database.close()


@pytest.fixture
def settings(home: Path) -> Settings:
    return load({"home": str(home)}, environment={})


def entry(url: str, status: int = 200, mime: str = "text/html", **content: Any) -> dict[str, Any]:
    """An exchange of a HAR file."""
    headers = [{"name": "Content-Type", "value": mime}]
    return {
        "startedDateTime": "2026-05-04T10:20:30.456Z",
        "request": {"method": "GET", "url": url, "headers": []},
        "response": {
            "status": status,
            "statusText": "OK",
            "headers": headers,
            "content": {"size": 2, "mimeType": mime, **content},
        },
    }


def har(folder: Path) -> Path:
    """A HAR file of two pages, a picture, an error, and an entry without its body."""
    entries = [
        entry("http://hill.example/", text="<title>Hill</title>"),
        entry("http://hill.example/logo.png", mime="image/png", text="cA==", encoding="base64"),
        entry("http://hill.example/down", text="down"),
        entry("http://hill.example/gone", 404, text="gone"),
        entry("http://hill.example/lost"),
    ]
    path = folder / "eva.har"
    log = {"version": "1.2", "creator": {"name": "WebInspector", "version": "1"}, "entries": entries}
    path.write_text(json.dumps({"log": log}))
    return path


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        our_command(*arguments, "--home", str(home)),
        env=source_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def listed(database: Database) -> list[CaptureSessionView]:
    with database.reading(COMMAND_LINE) as reading:
        return list(sessions.list_sessions(reading).items)


def pages(database: Database, number: int) -> list[CapturePageView]:
    with database.reading(COMMAND_LINE) as reading:
        return list(sessions.list_pages(reading, number).items)


def test_a_har_file_becomes_a_session(home: Path, database: Database, tmp_path: Path) -> None:
    done = run(home, "collection", "import", "hand", str(har(tmp_path)), "--session", "Eva's browser")
    assert "capture session 1: Eva's browser" in done.stderr, done.stdout + done.stderr
    made = listed(database)[0]
    assert (made.title, made.door, made.state) == ("Eva's browser", CaptureDoor.UPLOAD, CaptureState.ENDED)
    assert (made.urls, made.failed, made.known, made.pages) == (4, 1, 0, 2)
    assert "http://hill.example/lost" in made.error
    assert [(each.number, each.url) for each in pages(database, made.id)] == [
        (1, "http://hill.example/"), (2, "http://hill.example/down"),
    ]  # fmt: skip


def test_the_pages_of_a_package_are_those_that_it_lists(home: Path, database: Database, tmp_path: Path) -> None:
    first = tmp_path / "first"
    assert run(first, "collection", "import", "theirs", str(har(tmp_path))).returncode == 1
    package = tmp_path / "theirs.wacz"
    packed = run(first, "wacz", "theirs", "--output", str(package))
    assert packed.returncode == 0, packed.stderr
    done = run(home, "collection", "import", "hand", str(package), "--session", "A package")
    assert done.returncode == 0, done.stderr
    made = listed(database)[0]
    assert [each.url for each in pages(database, made.id)] == ["http://hill.example/", "http://hill.example/down"]
    assert pages(database, made.id)[0].title == "Hill"


def test_an_upload_is_listed_once(settings: Settings, database: Database) -> None:
    upload = Upload("hand", "twice", "eva", "mark-1", ["a.warc.gz"], troubles=["x" * 400], trouble_count=9)
    assert note_upload(settings, database, upload) == 1
    assert note_upload(settings, database, upload) is None
    assert note_upload(settings, database, Upload("hand", "nothing", "eva", "mark-2", [])) is None
    assert [(each.owner, each.urls) for each in listed(database)] == [("eva", 0)]
    assert listed(database)[0].error.endswith("8 more were found.")
    with database.transaction(COMMAND_LINE) as transaction, pytest.raises(IllegalState, match="make a new session"):
        sessions.resume(transaction, 1)
    assert listed(database)[0].error.endswith("8 more were found.")
