"""The history of one URL of a job: its captures, its changes, and when it is visited again, with the reason."""

from __future__ import annotations

from typing import Final

from admin.jobs.progress.display import clock
from admin.models.operation import OutputModel
from admin.units import counted
from archive.capture import Capture
from archive.dates import iso_second
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.schema import CapturesError
from frontier.definition.job import RevisitRules
from frontier.definition.revisit import RevisitHistory, VisitResult, rules_with
from frontier.queue import Frontier
from frontier.reports import RevisitReport

MOST_CAPTURES: Final = 50


class HistoryCapture(OutputModel):
    """The output has a capture of a URL in the collection of the job."""

    time: str
    """The date in UTC, in ISO form."""
    status: int
    kind: str
    """Either response or revisit. A revisit has the payload of an earlier capture."""
    mime: str
    file: str
    offset: int


class UrlHistory(OutputModel):
    """The output has the history of a URL of a job."""

    url: str
    state: str
    """waiting (until it is due), queued, resting (before a retry), visited (a visit goes on) or ended."""
    due_seconds: float | None
    """The time until the URL is due; 0 when it is due, None when it is not visited again."""
    reason: str
    """The reason of the next date in words."""
    since_seconds: float | None
    """The time since the last visit; None before the first one has ended."""
    interval_seconds: int | None
    visits: int
    changes: int
    unchanged_in_a_row: int
    digest: str
    """Eight bytes of the payload's digest in hexadecimal; empty when no payload is known."""
    recent: list[str]
    """The results of the last visits, oldest first: new, changed, unchanged or failed."""
    captures: list[HistoryCapture]
    """The newest captures, newest first."""
    problem: str
    """The reason why the captures could not be read; empty when they were."""


def url_history(frontier: Frontier, database_url: str, url: str) -> UrlHistory | None:
    """Return the history of a canonical URL; None when the job does not know the URL. Raises FrontierUnavailable."""
    report = frontier.reports.revisit(url)
    if report is None:
        return None
    captures, problem = _captures(database_url, frontier.job.collection, url)
    profile = frontier.stored_job().profile
    rules = rules_with(profile.revisit, profile.page_rules().values_for(url))
    history = report.history
    return UrlHistory(
        url=url,
        state=report.state,
        due_seconds=report.due_seconds,
        reason=due_reason(report, rules),
        since_seconds=report.since_seconds,
        interval_seconds=history.interval_seconds if history else None,
        visits=history.visits if history else 0,
        changes=history.changes if history else 0,
        unchanged_in_a_row=history.unchanged if history else 0,
        digest=history.digest if history else "",
        recent=[result.word for result in history.results] if history else [],
        captures=captures,
        problem=problem,
    )


def due_reason(report: RevisitReport, rules: RevisitRules) -> str:
    """Return why a URL is visited again at its next date, or not at all, in words."""
    match report.state:
        case "visited":
            return "a visit goes on"
        case "queued":
            return "the URL waits for its turn in the queue of its host"
        case "resting":
            return "the last visit failed, and the URL is tried again"
        case "ended":
            return "the job does not visit the URL again" if not rules.is_on else "the URL has left the scope"
    history = report.history
    if history is None or not history.results or report.due_seconds is None:
        return "the next date is not known"
    if (early := _early_seconds(report, history)) > 0:
        return f"a sitemap or a feed says that the URL has changed, so that the visit comes {clock(early)} sooner"
    return _interval_reason(history, rules)


def _early_seconds(report: RevisitReport, history: RevisitHistory) -> float:
    """Return by how much the next date comes before the end of the interval; at least a second counts."""
    early = history.interval_seconds - (report.due_seconds or 0) - (report.since_seconds or 0)
    return early if report.due_seconds and early > 1 else 0.0


def _interval_reason(history: RevisitHistory, rules: RevisitRules) -> str:
    interval = clock(history.interval_seconds)
    if rules.mode != "adaptive":
        return f"the time between two visits is always {clock(rules.interval_seconds)}"
    if history.interval_seconds <= rules.min_seconds:
        return f"{interval} is the shortest interval that the profile or a sheet allows"
    if history.interval_seconds >= rules.max_seconds:
        return f"{interval} is the longest interval that the profile or a sheet allows"
    match history.results[-1]:
        case VisitResult.NEW:
            return f"the first interval is {interval}"
        case VisitResult.CHANGED:
            return f"the URL had changed, so that the interval became {rules.changed_factor:.0%} shorter: {interval}"
        case VisitResult.UNCHANGED:
            longer = f"{rules.unchanged_factor:.0%} longer: {interval}"
            return f"the URL had not changed, so that the interval became {longer}"
        case _:
            return f"the last visit had no payload, so that the interval became longer: {interval}"


def _captures(database_url: str, collection: str, url: str) -> tuple[list[HistoryCapture], str]:
    try:
        with Captures(database_url) as index:
            found = index.nearest(collection, url, None, limit=MOST_CAPTURES)
    except CapturesError as error:
        return [], f"the capture index was not asked: {error}"
    newest = sorted((each for each in found if each.url == url), key=lambda each: each.date, reverse=True)
    return [_shown(each) for each in newest], ""


def _shown(capture: Capture) -> HistoryCapture:
    return HistoryCapture(
        time=iso_second(capture.date),
        status=capture.status or 0,
        kind=capture.kind,
        mime=capture.mime or "",
        file=capture.filename,
        offset=capture.offset,
    )


def history_lines(found: UrlHistory, now: float) -> list[str]:
    """Return a history in lines for people; `now` is the time in seconds since 1970."""
    lines = [f"{found.url} ({found.state})"]
    if found.since_seconds is not None:
        lines.append(f"last visit  {_date(now - found.since_seconds)}, {clock(found.since_seconds)} ago")
    if found.state == "waiting" and found.due_seconds is not None:
        lines.append(f"next visit  {_date(now + found.due_seconds)}, in {clock(found.due_seconds)}: {found.reason}")
    elif found.state == "ended":
        lines.append(f"next visit  never: {found.reason}")
    else:
        lines.append(f"next visit  {found.reason}")
    if found.interval_seconds is not None:
        lines.append(f"interval    {clock(found.interval_seconds)}")
        lines.append(
            f"visits      {found.visits}, with {counted(found.changes, 'change')}; unchanged in the last"
            f" {found.unchanged_in_a_row}"
        )
        lines.append(f"results     {' '.join(found.recent)}")
    lines += [
        f"capture     {each.time} {each.status} {each.kind} {each.mime or '-'} {each.file}:{each.offset}"
        for each in found.captures
    ]
    return [*lines, *([found.problem] if found.problem else [])]


def _date(seconds: float) -> str:
    return iso_second(round(seconds * 1_000_000))
