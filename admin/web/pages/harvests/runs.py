"""This page shows the history of a harvest: its runs with what each gave, as a chart and as a table."""

from __future__ import annotations

from collections.abc import Sequence

from flask import request
from werkzeug.wrappers import Response

from admin.harvests.definitions import definition, listing
from admin.harvests.definitions.listing import RunView
from admin.models.transaction import Right
from admin.web.charts import BarChart, Yield, charts_of_work
from admin.web.formats import date_text
from admin.web.page import needs, page, reading, visitor
from admin.web.pages.harvests.harvest import BLUEPRINT


@BLUEPRINT.get("/<path:name>/runs", endpoint="runs")
@needs(Right.READ)
def runs(name: str) -> Response:
    """Show the runs of a harvest, newest first."""
    with reading() as opened:
        harvest = definition.show_harvest(opened, name)
        found = listing.list_runs(opened, name, after=request.args.get("after", ""), limit=50)
    return page("harvests/runs.html", harvest=harvest, runs=found, charts=_charts(found.items[::-1]))


def _charts(runs: Sequence[RunView]) -> list[BarChart]:
    """Return what each run gave, oldest first; nothing for one run, which the table shows as well."""
    if len(runs) < 2:
        return []
    zone = visitor().zone
    return charts_of_work(
        "run",
        [
            Yield(
                each.number,
                date_text(each.started, zone),
                each.objects,
                (each.new_bytes, max(each.bytes - each.new_bytes, 0)),
            )
            for each in runs
        ],
    )
