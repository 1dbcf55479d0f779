"""This page shows the crawler traps of a harvest, tests expressions with sample URLs, and keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flask import Blueprint
from werkzeug.wrappers import Response

from admin.harvests.definitions import definition
from admin.harvests.definitions.definition import HarvestChange
from admin.harvests.domains.crawler_traps import TrapView
from admin.models.transaction import Right
from admin.web.forms import trap_forms
from admin.web.page import done, needs, page, read, saving, with_long_lists

BLUEPRINT: Final = Blueprint("traps", __name__, url_prefix="/<path:name>/crawler-traps")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="edit")
@with_long_lists
@needs(Right.READ, changes=Right.CURATE)
def edit(name: str) -> Response:
    """Show the crawler traps of a harvest; test others, or keep them."""
    found = read(definition.show_harvest, name)

    def present() -> tuple[Sequence[TrapView], int]:
        found = read(definition.show_harvest, name)
        return found.traps, found.edition

    form, report, is_saved = trap_forms.edit(present, HarvestChange, saving(definition.change_harvest, name))
    if is_saved:
        return done("The crawler traps were saved.", "harvests.show", name=found.name)
    status = 422 if form.has_problems else 200
    return page("harvests/traps.html", status, harvest=found, form=form, report=report)
