"""admin/uploads.py: how the handing over goes, in numbers and in a line."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from exchanges import exchange, keep
from prometheus_client import CollectorRegistry

from admin.uploads import Collector, line, look_watched, serve_metrics
from archive.settings import Settings, load
from archive.upload import Uploader
from archive.warcfile import WarcWriter
from dedupdb.captures import Captures
from dedupdb.cdx_api import create_app


@pytest.fixture
def settings(home: Path, tmp_path: Path) -> Settings:
    return load({"home": str(home), "storage.url": str(tmp_path / "target")}, environment={})


def written(settings: Settings, count: int) -> list[Path]:
    made = []
    for number in range(count):
        writer = WarcWriter(settings, "news")
        made.append(settings.archive_dir("news") / keep(writer, exchange(f"/{number}")).filename)
        writer.close()
    return made


def numbers(uploader: Uploader) -> dict[str, float]:
    """By the names of the samples, without what they all begin with."""
    registry = CollectorRegistry()
    registry.register(Collector(uploader))
    samples = [sample for family in registry.collect() for sample in family.samples]
    return {sample.name.removeprefix("ghostfleet_upload_"): sample.value for sample in samples}


def test_what_waits_and_what_is_done_is_counted(settings: Settings, tmp_path: Path) -> None:
    first, second, third = written(settings, 3)
    an_hour_ago = time.time() - 3600
    os.utime(second, (an_hour_ago, an_hour_ago))
    taken = tmp_path / "target/news/archive" / second.name
    taken.parent.mkdir(parents=True)
    taken.write_bytes(b"somebody else's")
    uploader = Uploader(settings)
    assert numbers(uploader)["waiting_files"] == 0, "it has not looked yet"

    assert not uploader.look()

    found = numbers(uploader)
    assert (found["files_total"], found["waiting_files"], found["failing_files"]) == (2, 1, 1)
    assert found["bytes_total"] == first.stat().st_size + third.stat().st_size
    assert found["waiting_bytes"] == second.stat().st_size
    assert 3600 <= found["oldest_waiting_seconds"] < 7200
    assert (found["failures_total"], found["removed_files_total"]) == (1, 0)

    taken.unlink()
    assert uploader.look()
    found = numbers(uploader)
    assert (found["files_total"], found["waiting_files"], found["failing_files"]) == (3, 0, 0)
    assert (found["waiting_bytes"], found["oldest_waiting_seconds"]) == (0, 0)


def test_the_index_server_tells_them(settings: Settings) -> None:
    written(settings, 1)
    uploader = Uploader(settings)
    assert uploader.look()
    with Captures(settings.database_url) as captures:
        app, bare = create_app(captures), create_app(captures)
        serve_metrics(app, uploader)
        serve_metrics(bare, None)

        answer, nothing = app.test_client().get("/metrics"), bare.test_client().get("/metrics")

    assert answer.content_type.startswith("text/plain; version=0.0.4")
    assert "ghostfleet_upload_files_total 1.0" in answer.text
    assert (nothing.status_code, nothing.text) == (200, "")


def test_the_line_tells_how_far_it_is(settings: Settings) -> None:
    files = written(settings, 4)
    size = sum(file.stat().st_size for file in files)
    uploader, lines = Uploader(settings), list[str]()
    assert line(uploader.status) == f"{uploader.status.storage}: looking at what it has"

    assert look_watched(uploader, lines.append)

    assert lines[-1] == line(uploader.status)
    assert line(uploader.status) == f"4 of 4 files, {size / 1000:.1f} kB of {size / 1000:.1f} kB"
