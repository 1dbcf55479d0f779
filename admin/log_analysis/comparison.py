"""A comparison judges a log by its indicators, against the log of a reference run where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from admin.log_analysis.columns.readings import open_reading
from admin.log_analysis.indicators import CrawlVerdict, Indicator, indicators, worst
from admin.log_analysis.measures import measures, url_change
from admin.log_analysis.named_logs import NamedLog


@dataclass(frozen=True, slots=True)
class LogComparison:
    """The comparison has the verdict, the worst one of the indicators, and the name of the reference run."""

    verdict: CrawlVerdict
    reference: str
    """Empty without a reference run."""
    indicators: tuple[Indicator, ...]


def compare(log: NamedLog, reference: NamedLog | None) -> LogComparison:
    """Return the indicators of a log. Raises LogTrouble when one of the logs was not analysed yet."""
    other: Path | None = reference.folder if reference is not None else None
    with open_reading(log.folder, other) as reading:
        now = measures(reading)
        before = measures(reading, of_reference=True) if reference is not None else None
        change = url_change(reading) if reference is not None else None
    found = indicators(now, before, change)
    return LogComparison(worst(found), reference.name if reference is not None else "", found)
