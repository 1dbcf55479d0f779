"""People and programs can read these statistics."""

from __future__ import annotations

from typing import Final

from admin.harvests.statistics import domain_history, overview
from admin.models.operation import Operation
from admin.models.transaction import Right

_TAGS: Final = ("statistics",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "overview.show",
        "GET",
        "/overview",
        Right.READ,
        overview.show_overview,
        "Show what runs now, what needs attention, and what runs next.",
        output=overview.OverviewView,
        tags=_TAGS,
    ),
    Operation(
        "domain.history",
        "GET",
        "/domains/{name}/history",
        Right.READ,
        domain_history.domain_history,
        "List what each job harvested of a domain, newest first.",
        output=domain_history.DomainHistoryLine,
        is_list=True,
        tags=_TAGS,
    ),
    Operation(
        "domain.totals",
        "GET",
        "/domains/{name}/totals",
        Right.READ,
        domain_history.domain_totals,
        "Show what all jobs together harvested of a domain.",
        output=domain_history.DomainTotals,
        tags=_TAGS,
    ),
    Operation(
        "domain.history-csv",
        "GET",
        "/domains/{name}/history.csv",
        Right.READ,
        domain_history.domain_history_csv,
        "Download what each job harvested of a domain as CSV.",
        media_type="text/csv; charset=utf-8",
        tags=_TAGS,
    ),
)
