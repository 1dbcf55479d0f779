"""A report sums up the harvests of some months for the board of an archive: as a table, CSV, or PDF."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Final

from sqlalchemy import case, func, select

from admin.csv_text import csv_bytes
from admin.curation.planning.pdf import pdf_of
from admin.models.errors import InvalidInput, Problem
from admin.models.harvest_tables import Harvest
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.operation import OutputModel
from admin.models.transaction import Right, Transaction
from admin.units import human_bytes
from archive.dates import Micros, iso_second

MOST_MONTHS: Final = 120
MOST_LINES: Final = 20_000
_DAY: Final = 86_400_000_000
_MONTH: Final = re.compile(r"([0-9]{4})-([0-9]{2})")
_HEAD: Final = (
    *("month", "harvest", "created_by", "jobs", "failed_jobs", "objects", "bytes", "new_bytes", "unanswered_domains"),
)


class ReportLine(OutputModel):
    """The line says what one harvest fetched in one month."""

    month: str
    """Such as 2027-01, by the ends of the jobs in UTC."""
    harvest: str
    created_by: str
    """The person who made the harvest."""
    jobs: int
    """Jobs that ended."""
    failed_jobs: int
    objects: int
    bytes: int
    new_bytes: int
    """Bytes that the collections did not have before."""
    unanswered_domains: int
    """Domains without a good answer, counted once for each job."""


class HarvestReport(OutputModel):
    """The output sums up the harvests of some months."""

    since: str
    until: str
    lines: list[ReportLine]
    """By month, and by harvest within a month."""
    months: list[ReportLine]
    """The sums of all harvests by month."""
    total: ReportLine
    is_whole: bool
    """The report has all lines."""


@dataclass(frozen=True, slots=True)
class _DayResult:
    """The results of the jobs of a harvest that ended on one day."""

    day: int
    harvest: str
    created_by: str
    numbers: tuple[int, int, int, int, int, int]


def show_report(transaction: Transaction, *, since: str = "", until: str = "", harvest: str = "") -> HarvestReport:
    """Return the report of the months from `since` to `until`, such as 2027-01; left out, of the last twelve.

    Raises InvalidInput.
    """
    transaction.require(Right.READ)
    first, last = _months(transaction.now, since, until)
    query = _query(_begin(first), _begin(last + 1))
    if harvest:
        query = query.where(Harvest.name == harvest) if harvest.isprintable() else query.where(Harvest.id < 0)
    found = [
        _DayResult(int(day), name, person, (jobs, int(failed or 0), *(int(each or 0) for each in sums)))
        for day, name, person, jobs, failed, *sums in transaction.session.execute(query)
    ]
    lines = list(_lines((each.day, each.harvest, each.created_by, each.numbers) for each in found))
    months = list(_lines((each.day, "", "", each.numbers) for each in found))
    totals = [sum(each.numbers[at] for each in found) for at in range(6)]
    return HarvestReport(
        since=_name(first),
        until=_name(last),
        lines=lines[:MOST_LINES],
        months=months,
        total=_line("", "", "", totals),
        is_whole=len(lines) <= MOST_LINES,
    )


def report_csv(transaction: Transaction, *, since: str = "", until: str = "", harvest: str = "") -> bytes:
    """Return the report as CSV, one line for each month and harvest. Raises InvalidInput."""
    found = show_report(transaction, since=since, until=until, harvest=harvest)
    return csv_bytes(_HEAD, ([getattr(each, name) for name in _HEAD] for each in found.lines))


def report_pdf(transaction: Transaction, *, since: str = "", until: str = "", harvest: str = "") -> bytes:
    """Return the report as PDF. Raises InvalidInput, and IllegalState when there is no browser that prints it."""
    found = show_report(transaction, since=since, until=until, harvest=harvest)
    return pdf_of(_html(found, iso_second(transaction.now)), transaction.settings)


def _query(begin: Micros, end: Micros):  # type: ignore[no-untyped-def]
    day = HarvestJob.ended // _DAY  # both kinds of database divide whole numbers so
    return (
        select(
            day,
            Harvest.name,
            Harvest.created_by,
            func.count(HarvestJob.id),
            func.sum(case((HarvestJob.status == JobStatus.FAILED, 1), else_=0)),
            func.sum(HarvestJob.objects),
            func.sum(HarvestJob.bytes),
            func.sum(HarvestJob.new_bytes),
            func.sum(HarvestJob.unanswered_domains),
        )
        .join(Harvest, Harvest.id == HarvestJob.harvest_id)
        .where(HarvestJob.ended >= begin, HarvestJob.ended < end)
        .group_by(day, Harvest.id, Harvest.name, Harvest.created_by)
    )


def _lines(results: Iterable[tuple[int, str, str, tuple[int, ...]]]) -> Iterator[ReportLine]:
    """Yield the sums by month and harvest, sorted."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for day, harvest, person, numbers in results:
        own = sums.setdefault((_month_of(day), harvest, person), [0] * 6)
        for at, number in enumerate(numbers):
            own[at] += number
    for (month, harvest, person), totals in sorted(sums.items()):
        yield _line(month, harvest, person, totals)


def _line(month: str, harvest: str, person: str, numbers: Iterable[int]) -> ReportLine:
    return ReportLine(month=month, harvest=harvest, created_by=person, **dict(zip(_HEAD[3:], numbers, strict=True)))


def _months(now: Micros, since: str, until: str) -> tuple[int, int]:
    """Return the first and the last month, counted from the year 0. Raises InvalidInput."""
    today = datetime.fromtimestamp(now / 1_000_000, UTC)
    last = _month("until", until) if until else today.year * 12 + today.month - 1
    first = _month("since", since) if since else last - 11
    if first > last:
        raise InvalidInput(Problem("since", f"{since} is later than {_name(last)}; exchange the two"))
    if last - first >= MOST_MONTHS:
        raise InvalidInput(Problem("since", f"there are {last - first + 1} months; choose at most {MOST_MONTHS}"))
    return first, last


def _month(field: str, text: str) -> int:
    found = _MONTH.fullmatch(text.strip())
    if found is None or not 1970 <= int(found[1]) <= 9_000 or not 1 <= int(found[2]) <= 12:
        raise InvalidInput(Problem(field, f"{text[:40]!r} is no month; write such as 2027-01"))
    return int(found[1]) * 12 + int(found[2]) - 1


def _begin(month: int) -> Micros:
    return int(datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


def _name(month: int) -> str:
    return f"{month // 12:04}-{month % 12 + 1:02}"


def _month_of(day: int) -> str:
    return f"{datetime.fromtimestamp(day * 86_400, UTC):%Y-%m}"


def _html(report: HarvestReport, printed: str) -> str:
    """Return the page that is printed; all names are escaped."""
    heads = ("Month", "Harvest", "Made by", "Jobs", "Failed", "Objects", "Bytes", "New", "No answer")

    def row(each: ReportLine, name: str = "") -> str:
        texts = (each.month, each.harvest or name, each.created_by)
        numbers = (f"{each.jobs:,}", f"{each.failed_jobs:,}", f"{each.objects:,}")
        sizes = (human_bytes(each.bytes), human_bytes(each.new_bytes), f"{each.unanswered_domains:,}")
        cells = "".join(f"<td><bdi>{escape(text[:200])}</bdi></td>" for text in texts)
        return f"<tr>{cells}{''.join(f'<td class=n>{escape(text)}</td>' for text in (*numbers, *sizes))}</tr>"

    def table(title: str, lines: Iterable[str]) -> str:
        head = "".join(f"<th>{each}</th>" for each in heads)
        return f"<h2>{title}</h2><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"

    note = "" if report.is_whole else f"<p>The report has the first {MOST_LINES:,} lines.</p>"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        "<title>Harvest report</title><style>"
        "@page{size:A4 landscape;margin:15mm}body{font:10pt sans-serif}table{border-collapse:collapse;width:100%}"
        "th,td{border-bottom:1px solid #ccc;padding:2pt 4pt;text-align:left;overflow-wrap:anywhere}"
        "td.n{text-align:right;white-space:nowrap}thead{display:table-header-group}tr{break-inside:avoid}</style>"
        f"<h1>Harvests from {report.since} to {report.until}</h1><p>Printed {escape(printed)}.</p>{note}"
        + table("Months", [*(row(each, "all harvests") for each in report.months), row(report.total, "total")])
        + table("Harvests", map(row, report.lines))
        + "</html>"
    )
