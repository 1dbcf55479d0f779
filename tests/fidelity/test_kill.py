"""kill -9 under load: whatever a client saw the end of is in a WARC and in the index once the home was repaired."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from origin import RawOrigin, Send, response
from proxying import BrokenOff, RunningProxy, request
from waiting import until
from warcs import Archive, Stored, files

ADDRESS = "127.0.1.26"
CLIENTS = 8
SOME = 4
MANY = 20


def body(path: str) -> bytes:
    """What the origin sends for a path: 20 KB on average, a third of the bodies shared by several paths."""
    number = int(path.rpartition("/")[2])
    draw = random.Random(number // 3 * 3 if number % 9 == 0 else number)
    return draw.randbytes(draw.randrange(200, 40_000))


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(lambda asked: (Send(response(body(asked.split(b" ", 2)[1].decode()))),))
        yield running


class Load:
    """Clients that ask for one path after another and note each response whose end they saw."""

    def __init__(self, proxy: RunningProxy, origin: RawOrigin, name: str) -> None:
        self._proxy, self._origin, self._name = proxy, origin, name
        self.seen: list[str] = []
        self._next = iter(range(1_000_000))
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def finish(self) -> list[str]:
        """Waits for the clients, which end with their connections; the URLs they saw whole."""
        for thread in self._threads:
            thread.join(60)
        return self.seen

    def _work(self) -> None:
        with suppress(OSError, BrokenOff), self._proxy.connect() as client:
            while True:
                with self._lock:
                    path = f"/{self._name}/{next(self._next)}"
                url = self._origin.url(path)
                reply = client.ask(request("plain", url))
                if not reply.whole or reply.status != 200:
                    return
                assert reply.body == body(path)
                with self._lock:
                    self.seen.append(url)


def _rounds(home: Path, origin: RawOrigin, rounds: int, seed: int) -> None:
    draw = random.Random(seed)
    acknowledged: list[str] = []
    for number in range(rounds):
        proxy = RunningProxy(home).start()
        load = Load(proxy, origin, f"round-{number}")
        enough = draw.randrange(5, 250)
        until(lambda load=load, enough=enough: len(load.seen) >= enough, what=f"{enough} responses")
        proxy.kill9()
        acknowledged += load.finish()
    with RunningProxy(home) as proxy:
        proxy.stop()
    _check(proxy, acknowledged, f"seed {seed}")


def _check(proxy: RunningProxy, acknowledged: list[str], hint: str) -> None:
    assert [path.name for path in files(proxy.folder()) if path.name.endswith(".open")] == []
    archive = proxy.records()
    kept = {record.url: record for record in archive.kinds("response", "revisit")}
    lost = [url for url in acknowledged if url not in kept]
    assert lost == [], f"{len(lost)} of {len(acknowledged)} acknowledged responses are in no WARC ({hint})"
    _check_payloads(archive, [kept[url] for url in acknowledged])
    indexed = {f"<urn:uuid:{line['id']}>" for line in proxy.sidecar_lines()}
    missing = [record.url for record in archive.kinds("response", "revisit") if record.id not in indexed]
    assert missing == [], f"{len(missing)} records have no index line ({hint})"
    assert len(indexed) == len(archive.kinds("response", "revisit")), f"index lines that lead nowhere ({hint})"


def _check_payloads(archive: Archive, records: list[Stored]) -> None:
    by_id = {record.id: record for record in archive.records}
    for record in records:
        holder = record if record.kind == "response" else by_id[record.field("WARC-Refers-To") or ""]
        assert holder.kind == "response"
        payload = holder.block.partition(b"\r\n\r\n")[2]
        path = "/" + record.url.partition("//")[2].partition("/")[2]
        assert hashlib.sha1(payload).digest() == hashlib.sha1(body(path)).digest()


@pytest.mark.timeout(300)
def test_nothing_a_client_saw_is_lost_when_everything_is_killed(tmp_path: Path, origin: RawOrigin) -> None:
    _rounds(tmp_path / "home", origin, SOME, seed=random.SystemRandom().randrange(1 << 32))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_nothing_a_client_saw_is_lost_in_many_kills(tmp_path: Path, origin: RawOrigin) -> None:
    _rounds(tmp_path / "home", origin, MANY, seed=random.SystemRandom().randrange(1 << 32))


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
        proxy.stop()
        _check(proxy, acknowledged, "one process killed")


def _recording(proxy: RunningProxy) -> list[int]:
    titles = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in proxy.pids()}
    return [pid for pid, title in titles.items() if b"proxy-" in title]


def _answers(proxy: RunningProxy) -> bool:
    try:
        return bool(proxy.status())
    except (OSError, BrokenOff, ValueError):
        return False
