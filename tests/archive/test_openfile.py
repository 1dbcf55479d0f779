"""Every byte handed over is written, however many pieces there are and however few the system takes at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from archive.openfile import write_all

MOST_AT_ONCE = os.sysconf("SC_IOV_MAX")


@pytest.mark.parametrize("count", [1, MOST_AT_ONCE, MOST_AT_ONCE + 1, 3 * MOST_AT_ONCE])
def test_all_pieces_are_written_in_order(tmp_path: Path, count: int) -> None:
    pieces = [b"%d," % number for number in range(count)]

    with (tmp_path / "file").open("wb", buffering=0) as file:
        write_all(file.fileno(), pieces)

    assert (tmp_path / "file").read_bytes() == b"".join(pieces)


def test_what_a_short_write_left_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system is made to take 7,000 bytes of a million at first, as it may near a full disk."""
    pieces = [bytes([number]) * 5_000 for number in range(200)]
    monkeypatch.setattr(os, "writev", lambda fd, some: os.write(fd, b"".join(some)[:7_000]))

    with (tmp_path / "file").open("wb", buffering=0) as file:
        write_all(file.fileno(), pieces)

    assert (tmp_path / "file").read_bytes() == b"".join(pieces)
