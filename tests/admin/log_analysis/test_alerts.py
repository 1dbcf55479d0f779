"""Each rule fires on the log of its anomaly, and none on an ordinary log."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path

from support.admin.log_lines import SECOND, START, line, ordinary

from admin.log_analysis.alert_facts import alert_facts
from admin.log_analysis.alerts import AlertRule, LogAlert, alerts
from admin.log_analysis.columns.readings import open_reading

END = 300
"""Seconds of the ordinary log."""
_DEEP = ["/".join(map(str, range(number, number + 16))) for number in range(20)]
ANOMALIES: dict[tuple[AlertRule, str], list[str]] = {
    (AlertRule.MALFORMED_URLS, "bad.example.org"): [line(END, f"https://bad.example.org/%zz{at}") for at in range(10)],
    (AlertRule.DEEP_PATHS, "deep.example.org"): [line(END, f"https://deep.example.org/{path}") for path in _DEEP],
    (AlertRule.REPEATING_PATHS, "trap.example.org"): [
        line(END, f"https://trap.example.org/{at}/a/b/a/b/a/b") for at in range(20)
    ],
    (AlertRule.MANY_SUB_DOMAINS, "wild.net"): [line(END, f"https://x{at}.wild.net/") for at in range(101)],
    (AlertRule.COMPRESSIBLE_URLS, "long.example.org"): [
        line(END, f"https://long.example.org/{'page-and-page-and-' * 8}{at}") for at in range(20)
    ],
    (AlertRule.TEXT_SHARE, "days.example.org"): [line(END, f"https://days.example.org/?{at}") for at in range(1000)],
    (AlertRule.HOST_CAPPED, "capped.example.org"): [line(END, "https://capped.example.org/", -5003)],
    (AlertRule.ERROR_BURST, ""): [line(END + 90 + at / 10, f"https://ill.example.org/{at}", 503) for at in range(50)],
    (AlertRule.SUDDEN_SILENCE, ""): [line(END + 2900, "https://www1.example1.org/")],
}


def found(folder: Path, *, seconds: float = END, is_running: bool = False) -> list[LogAlert]:
    now = START + round(seconds * SECOND)
    with open_reading(folder) as reading:
        return list(alerts(alert_facts(reading, now, is_running=is_running)))


def test_an_ordinary_log_gives_no_alert(analysed: Callable[..., Path]) -> None:
    folder = analysed(ordinary())

    assert found(folder) == []
    assert found(folder, is_running=True) == []
    assert found(folder, seconds=10**6) == [], "a crawl that has ended is not silent"


def test_each_anomaly_gives_the_alert_of_its_rule_alone(analysed: Callable[..., Path]) -> None:
    folder = analysed([*ordinary(), *chain.from_iterable(ANOMALIES.values())])

    assert sorted((each.rule, each.subject) for each in found(folder)) == sorted(ANOMALIES)


def test_a_running_crawl_that_stands_still_is_told_of(analysed: Callable[..., Path]) -> None:
    folder = analysed(ordinary())

    assert [each.rule for each in found(folder, seconds=END + 3600, is_running=True)] == [AlertRule.LOG_NOT_GROWING]
    later = found(folder, seconds=END + 4 * 3600, is_running=True)
    assert {each.rule for each in later} == {AlertRule.LOG_NOT_GROWING, AlertRule.LOW_RATE}


def test_an_empty_log_has_nothing_to_tell(analysed: Callable[..., Path]) -> None:
    assert found(analysed(["broken"]), is_running=True) == []
