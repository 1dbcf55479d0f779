"""These pages show what the jobs harvested of a domain over time, with a chart, a table, and the table as CSV."""

from __future__ import annotations

from flask import request
from werkzeug.wrappers import Response

from admin.harvests.domains.domain import show_domain
from admin.harvests.statistics.domain_history import domain_history, domain_history_csv, domain_totals
from admin.models.transaction import Right
from admin.web.charts import Series, TimeChart
from admin.web.page import needs, page, reading
from admin.web.pages.domains.domain import BLUEPRINT


@BLUEPRINT.get("/<name>/statistics", endpoint="statistics")
@needs(Right.READ)
def statistics(name: str) -> Response:
    """Show the statistics of a domain over time."""
    harvest = request.args.get("harvest", "").strip()
    with reading() as opened:
        domain = show_domain(opened, name)
        totals = domain_totals(opened, name)
        history = domain_history(opened, name, harvest=harvest, after=request.args.get("after", ""), limit=100)
    rows = history.items[::-1]
    charts = []
    if len(rows) > 1:
        times = [each.ended for each in rows]
        objects = Series("Objects", [each.objects for each in rows])
        sizes = Series("New bytes", [each.new_bytes for each in rows]), Series("Bytes", [each.bytes for each in rows])
        charts = [
            TimeChart("Objects of each job", times, (objects,)),
            TimeChart("Bytes of each job", times, sizes, "bytes"),
        ]
    return page(
        "domains/statistics.html", domain=domain, totals=totals, history=history, charts=charts, harvest=harvest
    )


@BLUEPRINT.get("/<name>/statistics.csv", endpoint="statistics_csv")
@needs(Right.READ)
def statistics_csv(name: str) -> Response:
    """Return the statistics of a domain as CSV."""
    with reading() as opened:
        found = show_domain(opened, name).name
        text = domain_history_csv(opened, name, harvest=request.args.get("harvest", "").strip())
    headers = {"Content-Disposition": f'attachment; filename="statistics-of-{found}.csv"'}
    return Response(text, content_type="text/csv; charset=utf-8", headers=headers)
