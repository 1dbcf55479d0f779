"""admin/fleet/uploads.py: how the handing over goes, in numbers and in a line."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from support.archive.exchanges import exchange, keep

from admin.fleet.uploads import UploadMetrics, progress_line, serve_metrics, upload_with_progress
from archive.settings.load import Settings, load
from archive.storage.upload import Uploader
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures
from dedupdb.cdx.server import create_app


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
    registry.register(UploadMetrics(uploader))
    samples = [sample for family in registry.collect() for sample in family.samples]
    return {sample.name.removeprefix("ghostfleet_upload_"): sample.value for sample in samples}


def test_waiting_and_uploaded_files_are_counted(settings: Settings, tmp_path: Path) -> None:
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


def test_the_cdx_server_exports_the_metrics(settings: Settings) -> None:
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


def test_the_progress_line_counts_files_and_bytes(settings: Settings) -> None:
    files = written(settings, 4)
    size = sum(file.stat().st_size for file in files)
    uploader, lines = Uploader(settings), list[str]()
    assert progress_line(uploader.status) == f"{uploader.status.storage}: listing the stored files"

    assert upload_with_progress(uploader, lines.append)

    assert lines[-1] == progress_line(uploader.status)
    assert progress_line(uploader.status) == f"4 of 4 files, {size / 1000:.1f} kB of {size / 1000:.1f} kB"
