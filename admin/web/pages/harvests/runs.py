"""This page shows the history of a harvest: its runs with what each gave, as a chart and as a table."""

from __future__ import annotations

from flask import request
from werkzeug.wrappers import Response

from admin.harvests.definitions import definition, listing
from admin.models.transaction import Right
from admin.web.charts import Series, TimeChart
from admin.web.page import needs, page, reading
from admin.web.pages.harvests.harvest import BLUEPRINT


@BLUEPRINT.get("/<path:name>/runs", endpoint="runs")
@needs(Right.READ)
def runs(name: str) -> Response:
    """Show the runs of a harvest, newest first."""
    with reading() as opened:
        harvest = definition.show_harvest(opened, name)
        found = listing.list_runs(opened, name, after=request.args.get("after", ""), limit=50)
    shown = found.items[::-1]
    charts = []
    if len(shown) > 1:
        times = [each.started for each in shown]
        objects = Series("Objects", [each.objects for each in shown])
        sizes = Series("New bytes", [each.new_bytes for each in shown]), Series("Bytes", [each.bytes for each in shown])
        charts = [
            TimeChart("Objects of each run", times, (objects,)),
            TimeChart("Bytes of each run", times, sizes, "bytes"),
        ]
    return page("harvests/runs.html", harvest=harvest, runs=found, charts=charts)
