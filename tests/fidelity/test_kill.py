"""kill -9 under load: whatever a client saw the end of is in a WARC and in the index once the home was repaired."""

from __future__ import annotations

import os
import random
import signal
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.archive.warc_reader import files
from support.clients.fetching_clients import Load, body, check_kept
from support.clients.raw_client import BrokenOff
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy

ADDRESS = "127.0.1.26"
SOME = 3
MANY = 20


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(lambda asked: (Send(response(body(asked.split(b" ", 2)[1].decode()))),))
        yield running


@pytest.mark.timeout(300)
def test_nothing_a_client_saw_is_lost_when_everything_is_killed(tmp_path: Path, origin: RawOrigin) -> None:
    _kill_again_and_again(tmp_path / "home", origin, SOME)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("processes", [1, 2])
def test_nothing_a_client_saw_is_lost_in_many_kills(tmp_path: Path, origin: RawOrigin, processes: int) -> None:
    _kill_again_and_again(tmp_path / "home", origin, MANY, processes)


def test_a_killed_recording_process_is_replaced_and_nothing_is_lost(tmp_path: Path, origin: RawOrigin) -> None:
    """Only the process that records dies; its parent repairs what it left and starts another."""
    acknowledged: list[str] = []
    with RunningProxy(tmp_path / "home") as proxy:
        for number in range(2):
            load = Load(proxy, origin, f"round-{number}")
            until(lambda load=load: len(load.seen) >= 60, what="60 responses")
            for pid in _recording(proxy):
                os.kill(pid, signal.SIGKILL)
            acknowledged += load.finish()
            until(lambda: _answers(proxy), what="the proxy to be back")
        _check_index(proxy, origin, acknowledged)
        proxy.stop()
        _check(proxy, acknowledged, "")


def _kill_again_and_again(home: Path, origin: RawOrigin, rounds: int, processes: int = 1) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    draw, settings = random.Random(seed), {"proxy.processes": processes}
    acknowledged: list[str] = []
    for number in range(rounds):
        proxy = RunningProxy(home, settings).start()
        load = Load(proxy, origin, f"round-{number}")
        enough = draw.randrange(5, 250)
        until(lambda load=load, enough=enough: len(load.seen) >= enough, what=f"{enough} responses")
        proxy.kill9()
        acknowledged += load.finish()
    with RunningProxy(home, settings) as proxy:
        _check_index(proxy, origin, acknowledged)
        proxy.stop()
    _check(proxy, acknowledged, f"(seed {seed})")


def _check(proxy: RunningProxy, acknowledged: list[str], hint: str) -> None:
    assert [path.name for path in files(proxy.folder()) if path.name.endswith(".open")] == []
    archive = proxy.records()
    check_kept(archive, acknowledged, hint)
    assert archive.kinds("revisit"), "the load was to have duplicates"
    lines = {f"<urn:uuid:{line['id']}>": (line["filename"], int(line["offset"])) for line in proxy.sidecar_lines()}
    assert lines == {r.id: (r.path.name, r.offset) for r in archive.kinds("response", "revisit")}, hint


def _check_index(proxy: RunningProxy, origin: RawOrigin, acknowledged: list[str]) -> None:
    """The CDX server comes to know them all."""
    query = urllib.parse.urlencode({"url": origin.url("/"), "matchType": "prefix", "output": "json", "limit": 100_000})
    address = f"http://{proxy.ready['cdx']}/default/cdx?{query}"

    def missing() -> int:
        with urllib.request.urlopen(address, timeout=30) as answer:
            text = answer.read().decode()
        return sum(f'"{url}"' not in text for url in acknowledged)

    until(lambda: missing() == 0, what="all acknowledged responses to be in the index")


def _recording(proxy: RunningProxy) -> list[int]:
    found = []
    for pid in proxy.pids():
        with suppress(OSError):  # it has ended
            if b"proxy-" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def _answers(proxy: RunningProxy) -> bool:
    try:
        return bool(proxy.status())
    except (OSError, BrokenOff, ValueError):
        return False
