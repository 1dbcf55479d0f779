"""Finished files get to a real S3 server (versitygw) by s3fs, whole and once, and are read from there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.archive.exchanges import exchange, keep, response
from support.processes.machine_needs import free_port, program
from support.processes.waiting import until

from archive.settings.load import Settings, load
from archive.storage.storage import Storage, StorageConflict
from archive.storage.upload import Uploader
from archive.warc.writing.writer import WarcWriter

REMEDY = "go install github.com/versity/versitygw/cmd/versitygw@latest"
LARGE = 60_000_000
"""More than s3fs sends in one part."""


class S3Server:
    """A versitygw with one bucket, `archive`, whose objects are files below `bucket`."""

    def __init__(self, folder: Path) -> None:
        self.bucket = folder / "s3" / "archive"
        self.bucket.mkdir(parents=True)
        self._log = folder / "s3.log"
        self.options = {"endpoint_url": f"http://127.0.0.1:{free_port()}", "key": "anna", "secret": "a secret"}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            program("versitygw", REMEDY),
            "--port",
            self.options["endpoint_url"].removeprefix("http://"),
            "posix",
        ]
        keys = {"ROOT_ACCESS_KEY": self.options["key"], "ROOT_SECRET_KEY": self.options["secret"]}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self.bucket.parent)], env={**os.environ, **keys}, stdout=log, stderr=log
            )
        until(lambda: b"listening" in self._log.read_bytes(), what="the S3 server to listen")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self._process = None

    def settings(self, home: Path, **options: Any) -> Settings:
        place = {"storage.url": "s3://archive/gf", "storage.options": {**self.options, **options}}
        return load({"home": str(home), **place}, environment={})


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    pytest.importorskip("s3fs", reason="pip install ghostfleet[s3]")
    server = S3Server(tmp_path)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def written(settings: Settings, body: bytes) -> Path:
    writer = WarcWriter(settings, "news")
    name = keep(writer, exchange(answer=response(body))).filename
    writer.close()
    return settings.archive_dir("news") / name


def test_a_large_file_is_handed_over_in_parts_and_read_in_ranges(s3: S3Server, home: Path) -> None:
    settings = s3.settings(home)
    warc = written(settings, os.urandom(LARGE))
    uploader = Uploader(settings)

    assert uploader.look()

    there = s3.bucket / "gf/news/archive" / warc.name
    assert there.read_bytes() == warc.read_bytes()
    assert (s3.bucket / f"gf/news/indexes/{warc.name}.cdxj").is_file()
    assert not list(s3.bucket.rglob("*.part"))
    size = warc.stat().st_size
    with Storage(settings.storage).open(f"news/archive/{warc.name}", wanted_to=size) as file:
        file.seek(size - 1000)
        assert file.read() == warc.read_bytes()[-1000:]
    again = Uploader(settings)
    assert again.look()
    assert (again.status.handed_over, again.status.waiting) == (0, 0)


def test_another_file_of_that_name_is_not_overwritten(s3: S3Server, home: Path) -> None:
    settings = s3.settings(home)
    warc = written(settings, b"ours")
    there = s3.bucket / "gf/news/archive" / warc.name
    there.parent.mkdir(parents=True)
    there.write_bytes(b"theirs")

    with pytest.raises(StorageConflict):
        Storage(settings.storage).put(warc, f"news/archive/{warc.name}", lambda: False)

    assert there.read_bytes() == b"theirs"


def test_what_an_outage_broke_off_is_handed_over_after_it(s3: S3Server, home: Path) -> None:
    settings = s3.settings(home)
    warc = written(settings, b"kept")
    uploader = Uploader(settings)
    s3.stop()
    assert not uploader.look()
    assert "Could not connect" in next(iter(uploader.status.failing.values()))
    s3.start()

    assert uploader.look()

    assert (s3.bucket / "gf/news/archive" / warc.name).read_bytes() == warc.read_bytes()


def test_a_wrong_key_is_said_and_not_shown(s3: S3Server, home: Path) -> None:
    settings = s3.settings(home, secret="another secret")
    written(settings, b"kept")
    uploader = Uploader(settings)

    assert not uploader.look()

    (said,) = uploader.status.failing.values()
    assert "signature" in said
    assert "another secret" not in said
