"""People and programs can look ahead and back in these ways."""

from __future__ import annotations

from typing import Final

from admin.curation.planning import harvest_report, load_calendar
from admin.models.operation import Operation
from admin.models.transaction import Right

_TAGS: Final = ("planning",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "calendar.show",
        "GET",
        "/harvest-calendar",
        Right.READ,
        load_calendar.show_calendar,
        "Show the load of the days to come, and days over a limit.",
        output=load_calendar.LoadCalendar,
        tags=_TAGS,
    ),
    Operation(
        "report.show",
        "GET",
        "/harvest-report",
        Right.READ,
        harvest_report.show_report,
        "Sum up the harvests of some months.",
        output=harvest_report.HarvestReport,
        tags=_TAGS,
    ),
    Operation(
        "report.csv",
        "GET",
        "/harvest-report.csv",
        Right.READ,
        harvest_report.report_csv,
        "Download the sums of harvests and months as CSV.",
        media_type="text/csv; charset=utf-8",
        tags=_TAGS,
    ),
    Operation(
        "report.pdf",
        "GET",
        "/harvest-report.pdf",
        Right.READ,
        harvest_report.report_pdf,
        "Download the sums of harvests and months as PDF.",
        media_type="application/pdf",
        tags=_TAGS,
    ),
)
