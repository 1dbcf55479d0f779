"""Speeds over the last minutes."""

from __future__ import annotations

import pytest

from proxy.process import status


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(status, "time", found)
    return found


def test_at_the_start_there_is_no_speed(clock: Clock) -> None:
    report = status.Rates().report()

    assert set(report) == {"rates_1min", "rates_5min", "rates_15min"}
    assert report["rates_1min"] == {"actual_elapsed": 0.0, "urls_per_sec": 0.0, "warc_bytes_per_sec": 0.0}


def test_each_span_looks_back_its_own_time(clock: Clock) -> None:
    found = status.Rates()
    for minute in range(1, 21):
        clock.now += 60
        found.sample(urls=60 * minute if minute <= 19 else 60 * 19 + 600, warc_bytes=6000 * minute)

    report = found.report()

    assert report["rates_1min"]["urls_per_sec"] == pytest.approx(10)
    assert report["rates_5min"]["urls_per_sec"] == pytest.approx((4 * 60 + 600) / 300)
    assert report["rates_15min"]["warc_bytes_per_sec"] == pytest.approx(100)
    assert report["rates_15min"]["actual_elapsed"] == 900


def test_samples_are_few_however_often_they_are_taken(clock: Clock) -> None:
    found = status.Rates()
    for _ in range(40_000):
        clock.now += 0.25
        found.sample(1, 1)

    assert len(found._samples) < 200
