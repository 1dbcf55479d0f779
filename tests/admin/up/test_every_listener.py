"""No stranger takes the memory of an installation or keeps others waiting, whatever port the stranger connects to."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import httpx
import pytest
from support.clients.listener_attacks import FLOODS, SLOW, Peaks, flood, listeners_of, slow_clients, tree_of
from support.processes.ghostfleet_command import Command

type Start = Callable[..., Command]

MOST_BYTES = 16 << 20
PARTS = ("admin", "proxy", "replay", "replay_control", "view", "cdx")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_strangers_take_no_memory_and_keep_nobody_waiting_at_any_port(start_up: Start) -> None:
    with start_up("--demo", "--harvesters", "0") as command:
        ready = command.line(ready=True)
        session = _session_with_a_port(ready["replay_control"], command.home)
        processes = tree_of(command.pid)
        listeners = listeners_of(processes)
        known = {int(ready[part].rpartition(":")[2]) for part in PARTS} | {session}
        assert known < {listener.port for listener in listeners}  # and the demo's site, and ports for credentials
        assert sum(listener.speaks_tls for listener in listeners) == 1
        with ThreadPoolExecutor(len(listeners)) as pool:
            for make in FLOODS.values():  # what is loaded at the first use of its kind is not counted
                list(pool.map(partial(flood, sent=make()[:20_000]), listeners))
            for name, make in FLOODS.items():
                peaks = Peaks(processes)
                list(pool.map(partial(flood, sent=make()), listeners))
                too_much = {title: grown >> 20 for title, grown in peaks.growth().items() if grown > MOST_BYTES}
                assert not too_much, f"{name}: MB by process"
            for name, make in SLOW.items():
                for listener in listeners:
                    with slow_clients(listener, make()) as connected:
                        assert listener.answers(), f"{name} at {listener}"
                        assert connected() == 20, f"{name} at {listener}: clients had to go for it"
            peaks = Peaks(processes)
            with ExitStack() as opened:
                for listener in listeners:
                    for _ in range(150):
                        with suppress(OSError):
                            opened.enter_context(socket.create_connection((listener.ip, listener.port), 5))
                assert all(pool.map(lambda listener: listener.answers(), listeners))
            assert max(peaks.growth().values()) < MOST_BYTES
    assert "Traceback" not in command.stderr


def _session_with_a_port(control: str, home: Path) -> int:
    """Open a session at a control port, and return the port of its own."""
    token = (home / "control.token").read_text().strip()
    answer = httpx.post(
        f"http://{control}/sessions",
        json={"collection": "news", "mode": "replay", "listen": True},
        headers={"Authorization": f"Bearer {token}"},
        timeout=60,
    )
    assert answer.status_code == 201, answer.text
    return int(answer.json()["port"])
