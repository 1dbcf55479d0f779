"""The overview shows what runs now, what needs a person, what runs next, and the fleet."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint
from sqlalchemy import select
from werkzeug.wrappers import Response

from admin.harvests.dispatch import harvesters, listing
from admin.models.harvest_tables import Harvest
from admin.models.job_tables import HarvesterState, JobStatus
from admin.models.transaction import Right
from admin.web.page import needs, page, reading

BLUEPRINT: Final = Blueprint("overview", __name__)
_SHOWN: Final = 20


@BLUEPRINT.get("/", endpoint="show")
@needs(Right.READ)
def show() -> Response:
    """Show the overview."""
    return page("overview/show.html", **_values())


@BLUEPRINT.get("/overview/live", endpoint="live")
@needs(Right.READ)
def live() -> Response:
    """Show the part of the overview that changes."""
    return page("overview/live.html", **_values())


def _values() -> dict[str, Any]:
    with reading() as opened:
        running = listing.list_jobs(opened, status=JobStatus.STARTED, limit=_SHOWN)
        failed = listing.list_jobs(opened, status=JobStatus.FAILED, limit=_SHOWN)
        counts = listing.count_by_status(opened)
        fleet = harvesters.list_harvesters(opened)
        stopped = opened.session.scalars(
            select(Harvest).where(Harvest.is_active.is_(False), Harvest.why_inactive != "").limit(_SHOWN)
        ).all()
        coming = opened.session.scalars(
            select(Harvest)
            .where(Harvest.is_active.is_(True), Harvest.next_run.is_not(None))
            .order_by(Harvest.next_run)
            .limit(_SHOWN)
        ).all()
        opened.session.expunge_all()  # the end of the block would empty the rows that the template shows
    waiting = [each for each in fleet if each.is_silent or each.state is HarvesterState.DORMANT]
    return {
        "running": running,
        "failed": failed,
        "counts": counts,
        "fleet": fleet,
        "stopped": stopped,
        "coming": coming,
        "waiting": waiting,
    }
