"""This page shows the crawler traps of a harvest, tests expressions with sample URLs, and keeps them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.definitions import definition
from admin.harvests.definitions.data import HarvestChange, HarvestView
from admin.harvests.domains.trap_test import trap_lines
from admin.models.transaction import Right
from admin.web import trap_forms
from admin.web.forms import Form
from admin.web.page import done, needs, page, reading, transaction

BLUEPRINT: Final = Blueprint("traps", __name__, url_prefix="/<path:name>/crawler-traps")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="edit")
@needs(Right.READ, changes=Right.CURATE)
def edit(name: str) -> Response:
    """Show the crawler traps of a harvest; test others, or keep them."""
    with reading() as opened:
        found = definition.show_harvest(opened, name)
    form = Form({**_values(found), trap_forms.SAMPLES: ""})
    report = None
    if form.is_sent and request.form.get("action") == "test":
        report = trap_forms.tested(form, trap_lines(str(form.value(trap_forms.ACTIVE))), trap_forms.ACTIVE)
    elif form.is_sent:

        def save(given: HarvestChange) -> HarvestView:
            with transaction() as opened:
                return trap_forms.placed(form.values, lambda: definition.change_harvest(opened, name, given))

        def convert(sent: dict[str, Any]) -> dict[str, Any]:
            return {"traps": trap_forms.traps_of(sent), "edition": sent.get("edition")}

        def present() -> dict[str, Any]:
            with reading() as opened:
                return _values(definition.show_harvest(opened, name))

        if form.run(save, HarvestChange, convert, present) is not None:
            return done("The crawler traps were saved.", "harvests.show", name=found.name)
    status = 422 if form.has_problems else 200
    return page("harvests/traps.html", status, harvest=found, form=form, report=report)


def _values(found: HarvestView) -> dict[str, Any]:
    return {**trap_forms.values_of(found.traps), "edition": found.edition}
