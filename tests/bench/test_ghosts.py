"""The bench of ghosts visits its sites and tells what they cost."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from bench.cli import ghosts
from bench.ghosts import GhostRound, is_measurable, measure, memory_table, stage_table, table

pytestmark = pytest.mark.browser


def of(first: int, last: int, zombies: int = 0) -> GhostRound:
    """A round with this memory."""
    return GhostRound("plain", 10, 0, 30.0, 5.0, first, last, last, last, zombies)


@pytest.mark.parametrize(("found", "is_flat"), [(of(100, 119), True), (of(100, 121), False), (of(100, 100, 1), False)])
def test_memory_that_grows_and_processes_that_stay_are_told(found: GhostRound, is_flat: bool) -> None:
    assert found.is_flat is is_flat
    assert found.pages_per_minute == 20
    assert found.cpu_per_page == 0.5


def test_the_end_of_the_output_tells_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = replace(of(100, 110), stages={"load": 1.0}, peak_parts={"renderer": 5})
    monkeypatch.setattr("bench.cli.ghost_bench.measure", lambda *_: [measured])
    monkeypatch.setattr("bench.cli.ghost_bench.is_measurable", lambda: True)
    monkeypatch.setattr("signal.signal", lambda *_: None)

    printed, data = (CliRunner().invoke(ghosts, options).stdout for options in ([], ["--json"]))

    words = " ".join(printed.split())  # titles are wrapped
    places = [words.index(part) for part in ("by kind of process", "by stage", "pages/min", "20.0")]
    assert places == sorted(places)
    assert list(json.loads(data)[0])[:2] == ["stages", "peak_parts"]
    assert list(json.loads(data)[0])[-1] == "pages_per_minute"


@pytest.mark.skipif(not is_measurable(), reason="only Linux tells the memory that processes share")
def test_a_short_round_is_measured() -> None:
    heard: list[GhostRound] = []

    found = measure(["plain"], 2, heard.append)

    assert heard == found
    (plain,) = found
    assert (plain.pages, plain.failed, plain.zombies) == (2, 0, 0)
    assert plain.cpu_seconds > 0
    assert plain.peak_bytes >= plain.last_bytes > 50_000_000
    assert plain.mean_bytes <= plain.peak_bytes
    assert {"load", "settle", "behaviors", "behaviors/scroll", "records", "session-end"} <= set(plain.stages)
    assert sum(spent for stage, spent in plain.stages.items() if "/" not in stage) <= plain.seconds / plain.pages
    assert table(found).row_count == 1
    assert stage_table(found).row_count == len(plain.stages)
    assert {"renderer", "gpu-process"} <= set(plain.peak_parts)
    assert sum(plain.peak_parts.values()) == plain.peak_bytes
    assert memory_table(found).row_count == len(plain.peak_parts)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not is_measurable(), reason="only Linux tells the memory that processes share")
def test_five_hundred_visits_leave_no_memory_and_no_process_behind() -> None:
    (plain,) = measure(["plain"], 500, lambda _: None)

    assert plain.failed == 0
    assert plain.is_flat, plain


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not is_measurable(), reason="only Linux tells the memory that processes share")
def test_brozzler_is_measured_beside_our_worker() -> None:
    ours, brozzler = measure(["plain"], 2, lambda _: None, brozzler_pages=1)

    assert (ours.crawler, brozzler.crawler) == ("ghostfleet", "brozzler")
    assert (brozzler.site, brozzler.pages, brozzler.failed) == ("plain", 1, 0)
    assert brozzler.peak_parts["renderer"] > 0
    assert brozzler.cpu_seconds > 0
    assert table([ours, brozzler]).row_count == 2
