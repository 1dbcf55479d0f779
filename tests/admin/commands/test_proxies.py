"""`ghostfleet proxies` lists a running fleet, and nothing of one that has ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from support.origins.chain_site import ChainSite
from support.processes.ghostfleet_command import ROOT, Command, child
from support.processes.waiting import until

from archive.settings.load import Settings


def _proxies(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "admin.cli", "proxies", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)


def _get(proxy: str, url: str) -> httpx.Response:
    with httpx.Client(proxy=f"http://{proxy}", trust_env=False, timeout=30) as client:
        return client.get(url)


def _listed(home: Path) -> list[dict[str, object]]:
    done = _proxies("--home", str(home), "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.timeout(400)
def test_the_processes_of_a_fleet_share_a_port_and_are_listed_and_a_killed_one_is_replaced(settings: Settings) -> None:
    more = ("--port", "0", "--allow-private", "--processes", "2")
    with (
        ChainSite(4) as site,
        Command("proxy", *more, home=settings.home, GHOSTFLEET_PROXY__HEARTBEAT_SECONDS="0.3") as fleet,
    ):
        ready = fleet.line(ready=True)
        members = until(lambda: len(found := _listed(settings.home)) == 2 and found, what="both processes", within=60)
        assert {member["address"] for member in members} == {ready["proxy"]}
        assert {member["control"] for member in members} == set(ready["controls"])
        assert {member["pid"] for member in members} <= set(ready["pids"])
        assert all(member["load"] == 0 for member in members)

        urls = [f"{site.url}{number}" for number in range(1, 4)] * 4
        assert {_get(ready["proxy"], url).status_code for url in urls} == {200}
        killed = child(settings.home, "proxy-1")
        os.kill(killed, signal.SIGKILL)
        assert {_get(ready["proxy"], url).status_code for url in urls} == {200}, "nobody is turned away meanwhile"

        def replaced() -> bool:
            pids = {member["pid"] for member in _listed(settings.home)}
            return len(pids) == 2 and killed not in pids

        until(replaced, what="the successor in place of the dead one", within=60)

        def tabled() -> list[str]:
            return _proxies("--home", str(settings.home)).stdout.splitlines()

        table = until(lambda: len(found := tabled()) == 3 and found, what="both processes in the table", within=60)
        assert table[0].split() == ["MACHINE", "PROXY", "CONTROL", "PID", "LOAD", "SINCE"]


def test_a_home_without_a_fleet_is_one_line(home: Path) -> None:
    done = _proxies("--home", str(home))

    assert done.returncode == 2
    assert f"no fleet is running in {home}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_redis_that_does_not_answer_is_one_line(home: Path, port: int) -> None:
    done = _proxies("--home", str(home), "--redis-url", f"redis://127.0.0.1:{port}/0")

    assert done.returncode == 2
    assert "the recording processes can't be listed: Redis at" in done.stderr
    assert done.stderr.count("\n") == 1
