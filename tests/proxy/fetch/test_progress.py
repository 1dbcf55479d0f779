"""Slow exchanges in the log: those, with where their time went, and no others."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from odd_responses import page
from origin import RawOrigin, Send, Wait, response
from proxy_process import ProxyProcess
from proxying import request
from waiting import until

from proxy.slow import PHASES, Stopwatch


def test_laps_of_one_phase_add_up(caplog: pytest.LogCaptureFixture) -> None:
    watch = Stopwatch(100.0)
    for phase, now in [("connect", 101.0), ("first_byte", 103.0), ("connect", 107.0), ("body", 107.5), ("keep", 109.0)]:
        watch.lap(phase, now)

    watch.report("e1", "GET", "http://site.test/", 200, longer_than=8.9)

    (line,) = caplog.records
    assert line.getMessage() == (
        "slow: GET http://site.test/, 200, took 9.000 s: connect 5.0, first byte 2.0, body 0.5, keep 1.5"
    )
    assert vars(line)["phases"] == dict(zip(PHASES, (5.0, 2.0, 0.5, 1.5), strict=True))


def test_what_was_not_slow_is_not_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    watch = Stopwatch(100.0)
    watch.lap("keep", 101.0)

    watch.report("e1", "GET", "http://site.test/", None, longer_than=1.0)

    assert caplog.records == []


def test_only_slow_exchanges_are_logged_with_the_phase_that_took_the_time(
    tmp_path: Path, redis_url: str, origin: RawOrigin
) -> None:
    go = threading.Event()
    origin.script("/quick", Send(response(page(b"quick"))))
    origin.script("/waits", Wait(go), Send(response(page(b"waits"))))
    with ProxyProcess(tmp_path / "home", redis_url, {"proxy.slow_seconds": 3.0}) as proxy:
        assert proxy.get(origin.url("/quick")).status == 200
        with proxy.connect() as client:
            client.send(request("plain", origin.url("/waits")))
            until(lambda: origin.asked("/waits"), what="the request to reach the origin")
            go.wait(3.2)
            go.set()
            assert client.read_reply().status == 200
        proxy.get("http://127.0.1.200:1/refused")
        log = proxy.log
        until(lambda: "slow: " in log.read_text("utf-8"), what="the line in the log")

    (line,) = [line for line in log.read_text("utf-8").splitlines() if "slow: " in line]
    assert f"GET {origin.url('/waits')}, 200, took" in line
    phases = re.findall(r"(connect|first byte|body|keep) ([\d.]+)", line)
    assert max(phases, key=lambda phase: float(phase[1]))[0] == "first byte"
