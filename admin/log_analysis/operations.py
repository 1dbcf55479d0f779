"""People and programs can do these things with logs of crawls."""

from __future__ import annotations

from typing import Final

from admin.log_analysis import questions
from admin.models.operation import Operation
from admin.models.transaction import Right

_TAGS: Final = ("logs",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "log.list",
        "GET",
        "/logs",
        Right.READ,
        questions.list_analysed,
        "List logs from elsewhere, and those of running crawls.",
        output=questions.AnalysisView,
        is_list=True,
        tags=_TAGS,
    ),
    Operation(
        "log.show",
        "GET",
        "/logs/{name}",
        Right.READ,
        questions.show_analysis,
        "Show how far a log was analysed; the name is that of a run, or the number of a job.",
        output=questions.AnalysisView,
        tags=_TAGS,
    ),
    Operation(
        "log.analyse",
        "POST",
        "/logs/{name}/analyse",
        Right.OPERATE,
        questions.analyse,
        "Read new lines of a log for at most 20 seconds; repeat until `is_complete`.",
        output=questions.AnalysisView,
        in_parts=questions.analyse_in_parts,
        tags=_TAGS,
    ),
    Operation(
        "log.timeline",
        "GET",
        "/logs/{name}/timeline",
        Right.READ,
        questions.show_timeline,
        "Show URLs, bytes, hosts and errors of a log in steps of time.",
        output=questions.LogTimelineView,
        tags=_TAGS,
    ),
    Operation(
        "log.hosts",
        "GET",
        "/logs/{name}/hosts",
        Right.READ,
        questions.list_hosts,
        "List the hosts of a log, the worst first.",
        output=questions.LogHostsView,
        tags=_TAGS,
    ),
    Operation(
        "log.statuses",
        "GET",
        "/logs/{name}/statuses",
        Right.READ,
        questions.show_shares,
        "Show how a log, or one of its hosts, is distributed by status and media type.",
        output=questions.LogSharesView,
        tags=_TAGS,
    ),
    Operation(
        "log.search",
        "GET",
        "/logs/{name}/lines",
        Right.READ,
        questions.search_lines,
        "Search the lines of a log by host, status, time, and text in the URL.",
        output=questions.LogLinesView,
        tags=_TAGS,
    ),
    Operation(
        "log.indicators",
        "GET",
        "/logs/{name}/indicators",
        Right.READ,
        questions.show_indicators,
        "Compare a log with that of a reference run.",
        output=questions.LogIndicatorsView,
        tags=_TAGS,
    ),
    Operation(
        "log.alerts",
        "GET",
        "/logs/{name}/alerts",
        Right.READ,
        questions.show_alerts,
        "Show the anomalies of a crawl.",
        output=questions.LogAlertsView,
        tags=_TAGS,
    ),
)
