"""These pages show what the jobs harvested of a domain over time, with a chart, a table, and the table as CSV."""

from __future__ import annotations

from collections.abc import Sequence

from flask import request
from werkzeug.wrappers import Response

from admin.harvests.domains.domain import show_domain
from admin.harvests.statistics.domain_history import (
    DomainHistoryLine,
    domain_history,
    domain_history_csv,
    domain_totals,
)
from admin.models.transaction import Right
from admin.web.charts import BarChart, Yield, charts_of_work
from admin.web.formats import date_text
from admin.web.page import needs, page, reading, visitor
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
    charts = _charts(history.items[::-1])
    return page(
        "domains/statistics.html", domain=domain, totals=totals, history=history, charts=charts, harvest=harvest
    )


def _charts(lines: Sequence[DomainHistoryLine]) -> list[BarChart]:
    """Return what each job harvested, oldest first; nothing for one job, which the table shows as well."""
    if len(lines) < 2:
        return []
    zone = visitor().zone
    return charts_of_work(
        "job",
        [
            Yield(each.job_id, date_text(each.ended, zone), each.objects, (each.new_bytes, each.known_bytes))
            for each in lines
        ],
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
