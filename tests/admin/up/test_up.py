"""`ghostfleet up` runs a whole installation, keeps it alive, and ends it in order."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from support.processes.ghostfleet_command import Command, processes_of
from support.processes.waiting import until
from support.web.site_server import PASSWORD, send_form

from admin.fleet.installation_file import PartState, read_installation

PARTS = {
    "redis",
    "indexer",
    "proxy-0",
    "replay",
    "view",
    "admin",
    "scheduler",
    "qa",
    "capture",
    "harvester-FOCUSED",
    "harvester-SNAPSHOT",
}

type Start = Callable[..., Command]


@pytest.mark.timeout(300)
def test_everything_starts_and_what_dies_is_restarted_and_ctrl_c_ends_all_in_order(start_up: Start) -> None:
    with start_up() as command:
        ready = command.line(ready=True)
        assert set(ready["pids"]) == PARTS
        with httpx.Client(base_url=ready["admin"], timeout=30) as client:
            log_in(client, ready["first_administrator"])
            _restarts(command, client, "scheduler", ready["pids"]["scheduler"])
            _restarts(command, client, "harvester-FOCUSED", ready["pids"]["harvester-FOCUSED"])
            assert httpx.get(f"http://{ready['view']}/").status_code == 403  # only links of the site have a ticket
            assert f"The replay proxy is at <code>{ready['replay']}</code>" in client.get("/fleet").text
        with start_up() as second:
            assert second.ended() == 2
        assert len(second.stderr.splitlines()) == 1
        assert f"process {command.pid}, with its site at {ready['admin']}/; end it first" in second.stderr
        command.signal(signal.SIGINT)
        assert command.ended() == 0
    assert "Traceback" not in command.stderr
    assert read_installation(command.home) is None
    assert not processes_of(command.home)


@pytest.mark.slow  # its short form is in `test_signals.py`
@pytest.mark.timeout(300)
def test_nothing_is_left_when_the_parent_is_killed_and_the_next_start_makes_another_link(start_up: Start) -> None:
    with start_up("--channel", "FOCUSED", "--harvesters", "2") as command:
        first = command.line(ready=True)
        assert {"harvester-FOCUSED", "harvester-FOCUSED-2"} <= set(first["pids"])
        assert "harvester-SNAPSHOT" not in first["pids"]
        command.signal(signal.SIGKILL)
        assert command.ended() == -signal.SIGKILL
        until(lambda: not processes_of(command.home), what="the end of all children", within=60)
    assert not [pid for pid in first["pids"].values() if _runs(pid)]
    with start_up("--harvesters", "0") as command:
        again = command.line(ready=True)
        assert set(again["pids"]) == {part for part in PARTS if not part.startswith("harvester")}
        with httpx.Client(base_url=again["admin"], timeout=30) as client:
            assert "csrf_token" not in client.get(httpx.URL(first["first_administrator"]).path).text
            log_in(client, again["first_administrator"])
        command.signal(signal.SIGTERM)
        assert command.ended() == 0


@pytest.mark.parametrize("option", ["--port", "--replay-port", "--view-port"])
def test_a_port_in_use_is_one_line(start_up: Start, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        free = {"--port": "0", "--proxy-port": "0", "--replay-port": "0", "--view-port": "0"}
        chosen = tuple(part for pair in {**free, option: port}.items() for part in pair)
        with start_up(ports=chosen) as command:
            assert command.ended() == 2
    (line,) = [line for line in command.stderr.splitlines() if "starting" not in line]
    assert f"port {port} of 127.0.0.1 is in use; choose another with {option}" in line


def test_an_unknown_channel_is_one_line(start_up: Start) -> None:
    with start_up("--channel", "NOPE") as command:
        assert command.ended() == 2
    assert "--channel 'NOPE' is no channel; choose among FOCUSED, SNAPSHOT" in command.stderr
    assert len(command.stderr.splitlines()) == 1


def log_in(client: httpx.Client, link: str) -> None:
    """Become the first administrator by the link."""
    values = {"name": "first", "zone": "UTC", "password": PASSWORD, "repeated": PASSWORD}
    assert send_form(client, httpx.URL(link).path, **values).status_code == 303


def _runs(pid: int) -> bool:
    """Whether the process is there and has not ended; one that ended may wait for its parent."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def _restarts(command: Command, client: httpx.Client, name: str, pid: int) -> None:
    """Kill a part; it is restarted, and the terminal and the Fleet page say so."""
    os.kill(pid, signal.SIGKILL)

    def is_back() -> bool:
        found = read_installation(command.home)
        (part,) = [part for part in found.parts if part.name == name] if found else [None]
        return part is not None and part.state is PartState.READY and part.pid != pid

    until(is_back, what=f"the restart of {name}", within=60)
    assert f"{name} was killed by SIGKILL and is restarted" in command.errors
    assert f"{name} was killed by SIGKILL" in client.get("/fleet").text
