"""Lines of a log are found by host, status, time, and a text in the URL, page by page in the order of time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from admin.log_analysis.columns.readings import Reading
from admin.log_analysis.error_classes import ErrorClass
from archive.dates import Micros

MOST_LINES: Final = 500
_PLACE: Final = re.compile(r"(-?\d{1,18})\.(\d{1,9})\.(\d{1,12})")
_CODE: Final = re.compile(r"-?\d{1,5}")
_HUNDRED: Final = re.compile(r"[1-9]xx")


@dataclass(frozen=True, slots=True)
class LineQuery:
    """The query names the lines that are wanted; empty fields leave nothing out."""

    host: str = ""
    """A host, or a registered domain with all its hosts."""
    status: str = ""
    """A code such as 404 or -2, a hundred such as 4xx, or a class of errors such as dns."""
    since: Micros | None = None
    until: Micros | None = None
    text: str = ""
    """Part of the URL."""
    after: str = ""
    """The `next` of the page before."""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line of the log was found; `number` is its number in the log."""

    number: int
    time: Micros
    code: int
    bytes: int
    url: str
    hops: str
    via: str
    mime: str
    duration_ms: int
    source: str
    annotations: str


@dataclass(frozen=True, slots=True)
class FoundLines:
    """A page of lines. `next` is the place after which the next page begins; empty at the end."""

    lines: tuple[FoundLine, ...] = field(default=())
    next: str = ""


def search(reading: Reading, query: LineQuery) -> FoundLines:
    """Return the lines of one page. Raises ValueError for a status or a place that can't be read."""
    conditions, values = _conditions(query)
    if query.after:
        place = _PLACE.fullmatch(query.after)
        if place is None:
            raise ValueError(f"after: {query.after[:60]!r} is no place in this list; use the `next` of the page before")
        conditions.append("(epoch_us(time), part, row_number) > ($time, $part, $row)")
        values |= dict(zip(("time", "part", "row"), map(int, place.groups()), strict=True))
    rows = list(
        reading.engine.rows(
            "SELECT part, row_number, epoch_us(time) AS time, code, bytes, url, hops, via, mime, duration_ms, source,"
            f" annotations FROM every_line WHERE {' AND '.join(conditions) or 'true'}"
            " ORDER BY every_line.time, part, row_number LIMIT $limit",
            {**values, "limit": query.limit + 1},
        )
    )
    last = rows[query.limit - 1] if len(rows) > query.limit else None
    following = f"{last['time']}.{last['part']}.{last['row_number']}" if last is not None else ""
    return FoundLines(tuple(_line(reading, row) for row in rows[: query.limit]), following)


def _conditions(query: LineQuery) -> tuple[list[str], dict[str, Any]]:
    conditions: list[str] = []
    values: dict[str, Any] = {}
    if query.host:
        conditions.append("host IN (SELECT host FROM hosts WHERE host = lower($host) OR domain = lower($host))")
        values["host"] = query.host
    if query.text:
        conditions.append("contains(url, $text)")
        values["text"] = query.text
    for name, sign, moment in (("since", ">=", query.since), ("until", "<", query.until)):
        if moment is not None:
            conditions.append(f"epoch_us(every_line.time) {sign} ${name}")
            values[name] = moment
    if query.status:
        condition, value = _status(query.status.strip().lower())
        conditions.append(condition)
        values["status"] = value
    return conditions, values


def _status(text: str) -> tuple[str, int | str]:
    """Return the condition for a status that a person wrote. Pure."""
    if _CODE.fullmatch(text):
        return "code = $status", int(text)
    if _HUNDRED.fullmatch(text):
        return "code // 100 = $status", int(text[0])
    if text in ErrorClass:
        return "error = $status", text
    classes = ", ".join(ErrorClass)
    raise ValueError(f"status: {text[:60]!r} can't be used; write a code such as 404 or -2, 4xx, or one of {classes}")


def _line(reading: Reading, row: dict[str, Any]) -> FoundLine:
    return FoundLine(number=reading.line_number(row.pop("part"), row.pop("row_number")), **row)
