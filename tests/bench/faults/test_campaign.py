"""The fault campaign: what its seed decides, what its site sends, how its clients read."""

from __future__ import annotations

import json
import socket
import subprocess
import zlib
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from bench.faults.campaign import Campaign
from bench.faults.checks.home_check import Violation
from bench.faults.disks import Folder, copy_sparse
from bench.faults.episode import Episode, Round
from bench.faults.kinds import KINDS
from bench.faults.report import as_json, broken, table
from bench.faults.traffic.connection_reader import ConnectionBroken, ConnectionReader
from bench.faults.traffic.site import SHAPES, answer, path
from bench.process import our_command, source_environment


def homes(rounds: int, seed: int, *only: str, without: tuple[str, ...] = ()) -> list[tuple[int, list[str]]]:
    campaign = Campaign(rounds, seed, only)
    return [(number, [kind.name for kind in kinds]) for number, kinds in campaign.homes(without)]


def test_the_same_seed_gives_the_same_faults() -> None:
    assert homes(60, 7) == homes(60, 7)
    assert homes(60, 7) != homes(60, 8)


def test_every_kind_of_fault_is_used() -> None:
    played = [name for _, names in homes(40, 7) for name in names]
    assert len(played) == 40
    assert set(played) == set(KINDS)


def test_the_faults_of_a_home_use_the_same_disk() -> None:
    for _, names in homes(60, 7):
        assert len(names) <= 5
        assert len({(KINDS[name].where, KINDS[name].loses_dedup) for name in names}) == 1


def test_one_home_can_be_repeated() -> None:
    for seed, names in homes(60, 7):
        assert homes(len(names), seed, *names) == [(seed, names)]


def test_kinds_can_be_left_out() -> None:
    without = tuple(name for name, kind in KINDS.items() if kind.where != "folder")
    played = [name for _, names in homes(30, 7, without=without) for name in names]
    assert set(played) == set(KINDS) - set(without)
    assert homes(5, 7, "power-loss", without=("power-loss",)) == []


def test_a_named_kind_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """The command finds no `mount`, so that it can make no disk."""
    done = subprocess.run(
        our_command("bench", "faults", "--only", "power-loss", "--output", str(tmp_path / "results.json")),
        env={**source_environment(), "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Error: power-loss: the disk can't be made here: " in done.stderr


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_each_response_of_the_site_is_well_formed(number: int) -> None:
    target = path("some", number)
    found = answer(target)
    assert answer(target) == found
    head, _, body = found.raw.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % found.status)
    if b"Content-Encoding: gzip" in head:
        assert zlib.decompress(found.payload, 31)
    elif b"chunked" not in head:
        assert body == found.payload


def test_duplicates_are_served_under_every_name() -> None:
    twin = SHAPES.index("twin")
    bodies = {answer(path(name, twin)).payload for name in ("first", "second")}
    assert len(bodies) == 1


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_a_cut_response_has_no_end(number: int) -> None:
    found = answer(path("some", number))
    if found.closing:
        return
    for cut in (len(found.raw), len(found.raw) - 1, len(found.raw) - 2):
        ours, theirs = socket.socketpair()
        with ours, theirs, ThreadPoolExecutor(1) as thread:
            thread.submit(_send, ours, found.raw[:cut])
            if cut == len(found.raw):
                assert ConnectionReader(theirs).response()[1] == found.payload
            else:
                with pytest.raises(ConnectionBroken):
                    ConnectionReader(theirs).response()
                assert theirs.recv(1) == b""


def _send(stream: socket.socket, data: bytes) -> None:
    stream.sendall(data)
    stream.shutdown(socket.SHUT_WR)


def test_holes_are_not_copied(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.truncate(50_000_000)
        file.seek(20_000_000)
        file.write(b"data")
    copy_sparse(source, target)
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_blocks * 512 < 1_000_000


def test_a_folder_can_be_made_everywhere(tmp_path: Path) -> None:
    disk = Folder(tmp_path)
    assert disk.home == tmp_path / "home"
    disk.close()


def test_the_report_has_sums_and_the_command_that_repeats_a_home() -> None:
    rounds = [
        Round("kill-all", asked=10, seen=8, sockets=3, lost=1, broken=2, back_after=0.5),
        Round("kill-all", asked=5, seen=5),
    ]
    sound = Episode(4, [Round("disk-full", asked=9, seen=7, refused=2, told_after=0.1)])
    torn = Episode(3, rounds, violations=[Violation("seen is kept", "http://x/: it is in no index")])
    text = StringIO()
    Console(file=text, width=120).print(table([torn, sound], 3))
    lines = {line.split()[0]: line.split()[1:] for line in text.getvalue().splitlines() if line.strip()}
    assert lines["kill-all"] == ["2", "15", "13", "3", "12", "1", "0", "2", "0.5"]
    assert lines["all"] == ["3", "24", "20", "3", "19", "1", "2", "2", "0.1", "0.5"]
    assert broken([torn, sound]) == [
        "ghostfleet bench faults --seed 3 --rounds 2 --only kill-all --only kill-all",
        "  seen is kept: http://x/: it is in no index",
    ]
    assert json.loads(as_json([torn, sound], 3))["homes"][0]["violations"][0]["promise"] == "seen is kept"
