"""This page shows the crawler traps of a domain, tests expressions with sample URLs, and keeps them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.domains import crawler_traps as use_cases
from admin.harvests.domains.data import TrapsChange, TrapsView
from admin.harvests.domains.domain import show_domain
from admin.harvests.domains.trap_test import trap_lines
from admin.models.transaction import Right
from admin.web import trap_forms
from admin.web.forms import Form
from admin.web.page import done, needs, page, reading, transaction

BLUEPRINT: Final = Blueprint("traps", __name__, url_prefix="/<name>/crawler-traps")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="edit")
@needs(Right.READ, changes=Right.CURATE)
def edit(name: str) -> Response:
    """Show the crawler traps of a domain; test others, or keep them."""
    with reading() as opened:
        domain = show_domain(opened, name)
        found = use_cases.show_domain_traps(opened, name)
    form = Form({**_values(found), trap_forms.SAMPLES: ""})
    report = None
    if form.is_sent and request.form.get("action") == "test":
        report = trap_forms.tested(form, trap_lines(str(form.value(trap_forms.ACTIVE))), trap_forms.ACTIVE)
    elif form.is_sent:

        def save(given: TrapsChange) -> TrapsView:
            with transaction() as opened:
                return trap_forms.placed(form.values, lambda: use_cases.set_domain_traps(opened, name, given))

        def convert(sent: dict[str, Any]) -> dict[str, Any]:
            return {"traps": trap_forms.traps_of(sent), "edition": sent.get("edition")}

        def present() -> dict[str, Any]:
            with reading() as opened:
                return _values(use_cases.show_domain_traps(opened, name))

        if form.run(save, TrapsChange, convert, present) is not None:
            return done("The crawler traps were saved.", "domains.show", name=domain.name)
    status = 422 if form.has_problems else 200
    return page("domains/traps.html", status, domain=domain, traps=found.traps, form=form, report=report)


def _values(found: TrapsView) -> dict[str, Any]:
    return {**trap_forms.values_of(found.traps), "edition": found.edition}
