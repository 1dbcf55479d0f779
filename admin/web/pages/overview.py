"""The overview shows what runs now, what needs attention, what runs next, disks and the fleet."""

from __future__ import annotations

from typing import Final

from flask import Blueprint
from werkzeug.wrappers import Response

from admin.harvests.statistics.overview import show_overview
from admin.models.transaction import Right
from admin.web.page import needs, page, recent

BLUEPRINT: Final = Blueprint("overview", __name__)


@BLUEPRINT.get("/", endpoint="show")
@needs(Right.READ)
def show() -> Response:
    """Show the overview."""
    return _page("overview/show.html")


@BLUEPRINT.get("/overview/live", endpoint="live")
@needs(Right.READ)
def live() -> Response:
    """Show the part of the overview that changes."""
    return _page("overview/live.html")


def _page(template: str) -> Response:
    return page(template, view=recent("overview", show_overview))
