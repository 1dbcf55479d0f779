"""A distribution counts the lines of a log by status code, or its responses by media type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from admin.jobs.status_names import status_text
from admin.log_analysis.columns.readings import Reading

MOST_SHARES: Final = 200


@dataclass(frozen=True, slots=True)
class LineShare:
    """The share of one status or one media type: its lines, bytes, and part of all lines."""

    name: str
    urls: int
    bytes: int
    part: float
    """From 0 to 1."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution has the most frequent statuses and media types, each list in this order."""

    statuses: tuple[LineShare, ...]
    types: tuple[LineShare, ...]


def distribution(reading: Reading, host: str = "") -> Distribution:
    """Return how the lines are distributed, those of one host or all."""
    statuses = _shares(reading, "code", "true", host)
    types = _shares(reading, "coalesce(nullif(mime, ''), 'no-type')", "code > 0", host)
    named = tuple(LineShare(status_text(int(each.name)), each.urls, each.bytes, each.part) for each in statuses)
    return Distribution(named, types)


def _shares(reading: Reading, column: str, condition: str, host: str) -> tuple[LineShare, ...]:
    rows = reading.engine.run(
        f"SELECT {column} AS name, count(*) AS urls, sum(bytes)::BIGINT, urls / sum(urls) OVER () FROM lines"
        f" WHERE {condition} AND ($host = '' OR host = $host) GROUP BY name ORDER BY urls DESC, name"
        f" LIMIT {MOST_SHARES}",
        {"host": host},
    )
    return tuple(LineShare(str(name), urls, size, part) for name, urls, size, part in rows)
