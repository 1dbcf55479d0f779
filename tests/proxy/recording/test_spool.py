"""A message's bytes while they pass: in memory, then on disk, hashed on the way."""

from __future__ import annotations

import hashlib
import os
import resource
from pathlib import Path

import pytest

from archive.digest import Algorithm
from proxy.recording.spool import Spool

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


@pytest.mark.parametrize("limit", [0, 9, 10, 1000])
def test_gives_back_the_bytes_wherever_they_are(tmp_path: Path, limit: int) -> None:
    spool = Spool(limit, tmp_path / "spool")
    spool.start(HEAD)
    for piece in (b"01234", b"56789", b"abc"):
        spool.add(piece)

    message = spool.message()

    assert b"".join(message.chunks()) == HEAD + b"0123456789abc"
    assert b"".join(message.chunks()) == HEAD + b"0123456789abc"
    assert message.length == len(HEAD) + 13
    assert (message.body.file is not None) == (limit < 13)
    spool.close()


def test_can_be_added_to_after_it_was_read(tmp_path: Path) -> None:
    """A request is sent again over a new connection while its body still comes in."""
    spool = Spool(3, tmp_path)
    spool.add(b"hello")
    assert b"".join(spool.message().chunks()) == b"hello"

    spool.add(b" world")

    assert b"".join(spool.message().chunks()) == b"hello world"
    spool.close()


def test_leaves_no_file_behind(tmp_path: Path) -> None:
    spool = Spool(0, tmp_path)
    spool.add(b"hello")
    descriptor = spool.message().body.file
    assert descriptor is not None
    assert list(tmp_path.iterdir()) == []

    spool.close()
    spool.close()

    assert descriptor.closed


def test_hashes_block_and_payload(tmp_path: Path) -> None:
    spool = Spool(100, tmp_path)
    spool.start(HEAD)
    spool.add(b"5\r\nhello\r\n0\r\n\r\n")
    spool.add_payload(memoryview(b"hello"))

    digests = spool.digests()

    assert digests.block == hashlib.sha1(HEAD + b"5\r\nhello\r\n0\r\n\r\n").digest()
    assert digests.payload == hashlib.sha1(b"hello").digest()
    assert digests.payload_sha256 == hashlib.sha256(b"hello").digest()
    assert digests.payload_length == 5


@pytest.mark.parametrize(("algorithm", "sha256"), [("sha1", b""), ("sha256", hashlib.sha256(b"hello").digest())])
def test_without_dedup_a_message_is_hashed_for_its_record_alone(
    tmp_path: Path, algorithm: Algorithm, sha256: bytes
) -> None:
    spool = Spool(100, tmp_path, algorithm, needs_sha256=False)
    spool.start(HEAD)
    spool.add(b"hello")
    spool.add_payload(b"hello")

    digests = spool.digests()

    assert digests.block == hashlib.new(algorithm, HEAD + b"hello").digest()
    assert digests.payload == hashlib.new(algorithm, b"hello").digest()
    assert digests.payload_sha256 == sha256


def test_a_folder_that_can_not_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_bytes(b"")
    spool = Spool(0, tmp_path / "taken")

    with pytest.raises(OSError, match="taken"):
        spool.add(b"hello")
    assert os.listdir(tmp_path) == ["taken"]


def test_closing_on_a_full_disk_is_no_error(tmp_path: Path) -> None:
    """What waits in memory for the disk can't be written any more, and nobody wants it."""
    spool = Spool(0, tmp_path / "spool")
    spool.start(HEAD)
    spool.add(b"waiting")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        spool.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((tmp_path / "spool").iterdir()) == []
