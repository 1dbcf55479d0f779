"""People and programs ask these questions about an analysed log. At most two questions open columns at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from admin.log_analysis.alert_facts import alert_facts
from admin.log_analysis.alerts import LogAlert, alerts
from admin.log_analysis.columns.intake import take_in
from admin.log_analysis.columns.intake_state import BrokenLine, IntakeState, read_state
from admin.log_analysis.columns.log_blocks import LogTrouble
from admin.log_analysis.columns.readings import Reading, open_reading
from admin.log_analysis.comparison import LogComparison, compare
from admin.log_analysis.distribution import Distribution, LineShare, distribution
from admin.log_analysis.host_table import MOST_HOSTS, AnalysedHost, AnalysedHosts, HostDelays, HostOrder, delays, hosts
from admin.log_analysis.indicators import CrawlVerdict, Indicator
from admin.log_analysis.line_search import MOST_LINES, FoundLine, LineQuery, search
from admin.log_analysis.named_logs import NamedLog, default_reference, find_log, foreign_logs, running_logs
from admin.log_analysis.timeline import Timeline, TimelinePoint, timeline
from admin.models.database import Database
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.moments import InputMoment
from admin.models.operation import OutputModel, Page
from admin.models.transaction import Actor, Right, Transaction
from archive.dates import Micros
from archive.rotated_log import log_size
from archive.settings.load import Settings

INTAKE_SECONDS: Final = 20.0
"""One request reads so long; the next one goes on."""
_LONGEST_STEP: Final = 10**9
_SHOWN_HOSTS: Final = 50
_LONGEST_TEXT: Final = 2_000
_READINGS: Final = threading.BoundedSemaphore(2)
"""Each reading may take as much memory as `engine` allows."""


class AnalysisView(OutputModel):
    """The output says how far a log was analysed."""

    name: str
    source: str
    lines: int
    broken: int
    """Lines that can't be read."""
    broken_lines: list[BrokenLine]
    """The first of them."""
    read_bytes: int
    """Bytes of the log that were read, without compression."""
    file_bytes: int | None
    """Bytes of the file, or of all parts of a rotated log, now; None when it is gone."""
    tail: int
    """Bytes of the last line, which has no end."""
    rotations: int
    """How often another log took the place of the one that had been read."""
    trouble: str
    """Why the last intake could not read all; empty when it could."""
    at: Micros | None
    """When something was read; None when nothing was."""
    is_complete: bool
    """All lines that the log had then were read."""
    is_running: bool
    """The crawl of the log runs on this machine."""
    is_of_crawl: bool
    """The log is that of a crawl whose folder is in this home."""
    reference: str | None
    """The run that the log is compared with by default."""


class LogTimelineView(OutputModel):
    """The output has the steps of a time line."""

    seconds: int
    points: list[TimelinePoint]


class LogHostsView(OutputModel):
    """The output has a page of hosts; `next` is the `after` of the next page."""

    hosts: list[AnalysedHost]
    next: str | None


class LogSharesView(OutputModel):
    """The output has the distribution by status and by media type; that of one host has its delays."""

    statuses: list[LineShare]
    types: list[LineShare]
    delays: HostDelays | None


class LogLinesView(OutputModel):
    """The output has a page of lines; `next` is the `after` of the next page."""

    lines: list[FoundLine]
    next: str | None


class LogIndicatorsView(OutputModel):
    """The output has the verdict about a crawl, the reference run, and the indicators."""

    verdict: CrawlVerdict
    reference: str | None
    indicators: list[Indicator]


class LogAlertsView(OutputModel):
    """The output has the anomalies of a crawl."""

    alerts: list[LogAlert]


@dataclass(frozen=True, slots=True)
class AnalysisOverview:
    """The overview has all that the page of a log shows, from one reading. Parts are None before the first intake."""

    view: AnalysisView
    timeline: Timeline | None = None
    hosts: AnalysedHosts | None = None
    shares: Distribution | None = None
    alerts: Sequence[LogAlert] = ()
    comparison: LogComparison | None = None
    why_not_compared: str = ""


def show_overview(
    transaction: Transaction, name: str, *, order: HostOrder = HostOrder.ERRORS, reference: str = ""
) -> AnalysisOverview:
    """Return all about a log that a person sees first. Raises NotFound, IllegalState."""
    transaction.require(Right.READ)
    with _refusals():
        log = _find(transaction.settings, name)
        view = _view(log)
        if not view.lines:
            return AnalysisOverview(view)
        with _READINGS:
            with open_reading(log.folder) as reading:
                found = AnalysisOverview(
                    view,
                    timeline(reading),
                    hosts(reading, order=order, limit=_SHOWN_HOSTS),
                    distribution(reading),
                    present_alerts(reading, log, transaction.now),
                )
            try:
                other = find_log(transaction.settings, reference) if reference else default_reference(log)
                return replace(found, comparison=compare(log, other))
            except LogTrouble as error:
                return replace(found, comparison=compare(log, None), why_not_compared=str(error))


def list_analysed(transaction: Transaction) -> Page[AnalysisView]:
    """Return the logs from elsewhere, and those of the crawls that run on this machine."""
    transaction.require(Right.READ)
    settings = transaction.settings
    return Page(items=[_view(each) for each in (*running_logs(settings), *foreign_logs(settings))])


def show_analysis(transaction: Transaction, name: str) -> AnalysisView:
    """Return how far the log was analysed. Raises NotFound, IllegalState."""
    transaction.require(Right.READ)
    with _refusals():
        return _view(_find(transaction.settings, name))


def analyse(transaction: Transaction, name: str) -> AnalysisView:
    """Read new lines of the log for at most 20 seconds. Raises NotFound, IllegalState."""
    transaction.require(Right.OPERATE)
    return _analysed(transaction.settings, name)


def analyse_in_parts(database: Database, actor: Actor, name: str) -> AnalysisView:
    """Do the same without a transaction, since no row is changed and other writers must not wait."""
    del actor  # the API has checked the right
    return _analysed(database.settings, name)


def show_timeline(transaction: Transaction, name: str, *, step: int = 0) -> LogTimelineView:
    """Return the time line in steps of so many seconds; 0 chooses them. Raises NotFound, IllegalState, InvalidInput."""
    if not 0 <= step <= _LONGEST_STEP:
        raise InvalidInput(Problem("step", f"{step} is no number of seconds; use 0 to {_LONGEST_STEP:,}"))
    with _reading(transaction, name) as (reading, _):
        found = timeline(reading, step)
    return LogTimelineView(seconds=found.seconds, points=list(found.points))


def list_hosts(
    transaction: Transaction,
    name: str,
    *,
    order: HostOrder = HostOrder.ERRORS,
    text: str = "",
    domain: str = "",
    after: str = "",
    limit: int = 100,
) -> LogHostsView:
    """Return hosts, the worst first. Raises NotFound, IllegalState, InvalidInput."""
    _check(text=text, domain=domain, after=after)
    _check_limit(limit, MOST_HOSTS)
    with _reading(transaction, name) as (reading, _):
        found = hosts(reading, order=order, text=text, domain=domain, after=after, limit=limit)
    return LogHostsView(hosts=list(found.hosts), next=found.next or None)


def show_shares(transaction: Transaction, name: str, *, host: str = "") -> LogSharesView:
    """Return the distribution of the whole log, or of one host. Raises NotFound, IllegalState, InvalidInput."""
    _check(host=host)
    with _reading(transaction, name) as (reading, _):
        found = distribution(reading, host)
        pauses = delays(reading, host) if host else None
    return LogSharesView(statuses=list(found.statuses), types=list(found.types), delays=pauses)


def search_lines(
    transaction: Transaction,
    name: str,
    *,
    host: str = "",
    status: str = "",
    since: InputMoment | None = None,
    until: InputMoment | None = None,
    text: str = "",
    after: str = "",
    limit: int = 100,
) -> LogLinesView:
    """Return lines in the order of time. Raises NotFound, IllegalState, InvalidInput."""
    _check(host=host, status=status, text=text, after=after)
    _check_limit(limit, MOST_LINES)
    query = LineQuery(host=host, status=status, since=since, until=until, text=text, after=after, limit=limit)
    with _reading(transaction, name) as (reading, _):
        found = search(reading, query)
    return LogLinesView(lines=list(found.lines), next=found.next or None)


def show_indicators(transaction: Transaction, name: str, *, reference: str = "") -> LogIndicatorsView:
    """Return the indicators against a reference run: the one of this name, or the previous finished run.

    Raises NotFound, and IllegalState when one of the logs was not analysed.
    """
    transaction.require(Right.READ)
    with _refusals(), _READINGS:
        log = _find(transaction.settings, name)
        other = _find(transaction.settings, reference) if reference else default_reference(log)
        found: LogComparison = compare(log, other)
    return LogIndicatorsView(
        verdict=found.verdict, reference=found.reference or None, indicators=list(found.indicators)
    )


def show_alerts(transaction: Transaction, name: str) -> LogAlertsView:
    """Return the anomalies of the crawl. Raises NotFound, IllegalState."""
    with _reading(transaction, name) as (reading, log):
        return LogAlertsView(alerts=list(present_alerts(reading, log, transaction.now)))


def present_alerts(reading: Reading, log: NamedLog, now: Micros) -> Sequence[LogAlert]:
    """Return the anomalies of an open log at this moment."""
    return alerts(alert_facts(reading, now, is_running=log.is_running))


def _analysed(settings: Settings, name: str) -> AnalysisView:
    ends = time.monotonic() + INTAKE_SECONDS

    def is_ended() -> bool:
        return time.monotonic() > ends

    with _refusals(), _READINGS:
        log = _find(settings, name)
        state = take_in(log.path, log.folder, is_ended=is_ended)
        other = default_reference(log)
        if other is not None and state.is_complete and not is_ended():
            take_in(other.path, other.folder, is_ended=is_ended)
        return _view(log)


def _view(log: NamedLog) -> AnalysisView:
    state = read_state(log.folder)
    try:
        size: int | None = log_size(log.path)
    except OSError:
        size = None
    reference = default_reference(log)
    return _view_of(log, state, size, reference.name if reference is not None else None)


def _view_of(log: NamedLog, state: IntakeState | None, size: int | None, reference: str | None) -> AnalysisView:
    return AnalysisView(
        name=log.name,
        source=str(log.path),
        lines=state.lines if state else 0,
        broken=state.broken if state else 0,
        broken_lines=list(state.broken_lines) if state else [],
        read_bytes=state.place if state else 0,
        file_bytes=size,
        tail=state.tail if state else 0,
        rotations=state.rotations if state else 0,
        trouble=state.trouble if state else "",
        at=state.at if state else None,
        is_complete=state.is_complete if state else False,
        is_running=log.is_running,
        is_of_crawl=log.run is not None,
        reference=reference,
    )


@contextmanager
def _reading(transaction: Transaction, name: str) -> Iterator[tuple[Reading, NamedLog]]:
    transaction.require(Right.READ)
    with _refusals(), _READINGS:
        log = _find(transaction.settings, name)
        with open_reading(log.folder) as reading:
            yield reading, log


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what can't be done into the errors of use cases."""
    try:
        yield
    except LogTrouble as error:
        raise IllegalState(str(error)) from error
    except ValueError as error:
        field, colon, words = str(error).partition(": ")
        raise InvalidInput(
            Problem(field, words) if colon and field.isidentifier() else Problem("", str(error))
        ) from error


def _find(settings: Settings, name: str) -> NamedLog:
    try:
        return find_log(settings, name)
    except LogTrouble as error:
        raise NotFound("log in this home (a harvester on another machine has its own) of the name", name) from error


def _check(**texts: str) -> None:
    for field, text in texts.items():
        if len(text) > _LONGEST_TEXT:
            raise InvalidInput(Problem(field, f"the text has {len(text):,} characters; use at most {_LONGEST_TEXT:,}"))


def _check_limit(limit: int, most: int) -> None:
    if not 1 <= limit <= most:
        raise InvalidInput(Problem("limit", f"{limit} is no number of items; use 1 to {most:,}"))
