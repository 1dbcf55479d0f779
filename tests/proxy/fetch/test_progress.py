"""proxy/fetch/progress.py: stages follow the table, deadlines end steps and exchanges, slow exchanges are logged."""

from __future__ import annotations

import itertools
import re
import threading
import time
from pathlib import Path

import pytest
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, Wait, response
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import at_rest, request

from archive.settings import ProxySettings
from proxy.fetch.progress import (
    PHASES,
    TRANSITIONS,
    Deadlines,
    ExchangeProgress,
    FetchStage,
    IllegalTransition,
    Stopwatch,
)


def progress_in(stage: FetchStage) -> ExchangeProgress:
    found = ExchangeProgress(ProxySettings(), 1000.0, lambda: 1000.0)
    found.stage = stage
    return found


@pytest.mark.parametrize(("before", "after"), list(itertools.product(FetchStage, repeat=2)))
def test_a_stage_is_entered_only_when_the_table_allows_it(before: FetchStage, after: FetchStage) -> None:
    found = progress_in(before)
    if after in TRANSITIONS[before]:
        found.enter(after)
        assert found.stage is after
        return
    with pytest.raises(IllegalTransition, match=f"stage {before.value} can't enter stage {after.value}"):
        found.enter(after)
    assert found.stage is before


def test_every_stage_is_reached_from_the_first_and_leads_to_the_last() -> None:
    assert set(TRANSITIONS) == set(FetchStage)
    reached = {FetchStage.CONNECTING}
    while grown := {after for stage in reached for after in TRANSITIONS[stage]} - reached:
        reached |= grown
    assert reached == set(FetchStage)
    assert [stage for stage in FetchStage if not TRANSITIONS[stage]] == [FetchStage.OVER]


def deadlines(**settings: float) -> Deadlines:
    given = {"connect_seconds": 10, "total_seconds": 100, "orphan_seconds": 20, **settings}
    return Deadlines(ProxySettings.model_validate(given), 1000.0)


def test_a_step_that_takes_too_long_is_up_and_the_exchange_is_not_over() -> None:
    found = deadlines()
    assert [found.has_passed(now) for now in (1009.9, 1010)] == [False, True]
    found.wait(1009, 60)
    found.wait_longer(5)
    assert [found.has_passed(now) for now in (1073.9, 1074)] == [False, True]
    assert not found.total_has_passed(1074)


def test_however_often_a_step_begins_anew_the_whole_ends() -> None:
    found = deadlines()
    found.wait(1099, 60)
    assert [(found.has_passed(now), found.total_has_passed(now)) for now in (1099.9, 1100)] == [
        (False, False),
        (True, True),
    ]


def test_an_orphan_gets_its_own_time_and_never_more_than_it_had() -> None:
    found = deadlines()
    found.wait(1000, 1000)
    found.limit_orphan(1050, 0)
    assert [found.total_has_passed(now) for now in (1069.9, 1070)] == [False, True]
    late = deadlines()
    late.limit_orphan(1095, 0)
    assert late.total_has_passed(1100)


@pytest.mark.parametrize(
    ("limit", "orphan_bytes", "longest"), [(0, 0, 0), (0, 50, 550), (1000, 0, 1000), (1000, 50, 550), (510, 50, 510)]
)
def test_an_orphan_may_grow_by_so_much(limit: int, orphan_bytes: int, longest: int) -> None:
    found = deadlines(max_body_bytes=limit, orphan_bytes=orphan_bytes)
    found.limit_orphan(1000, 500)
    assert found.longest == longest


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
    waited: dict[str, float] = {}
    with ProxyProcess(tmp_path / "home", redis_url, {"proxy.slow_seconds": 2.0}) as proxy:
        for url, status in ((origin.url("/quick"), 200), ("http://127.0.1.200:1/refused", 502)):
            begin = time.monotonic()
            assert proxy.get(url).status == status
            at_rest(proxy)
            waited[url] = time.monotonic() - begin
        with proxy.connect() as client:
            client.send(request("plain", origin.url("/waits")))
            until(lambda: origin.asked("/waits"), what="the request to reach the origin")
            go.wait(2.2)
            go.set()
            assert client.read_reply().status == 200
        log = proxy.log
        until(lambda: "slow: " in log.read_text("utf-8"), what="the line in the log")

    lines = [line for line in log.read_text("utf-8").splitlines() if "slow: " in line]
    (line,) = [line for line in lines if f"GET {origin.url('/waits')}, 200, took" in line]
    lines.remove(line)
    really_slow = [f"GET {url}, " for url, seconds in waited.items() if seconds > 2.0]  # on a busy machine
    assert [line for line in lines if not any(url in line for url in really_slow)] == []
    phases = dict(re.findall(r"(connect|first byte|body|keep) ([\d.]+)", line))
    assert float(phases["first byte"]) > 2.0
