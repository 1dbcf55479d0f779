"""This page shows the crawler traps of a domain, tests expressions with sample URLs, and keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flask import Blueprint
from werkzeug.wrappers import Response

from admin.harvests.domains import crawler_traps as use_cases
from admin.harvests.domains.crawler_traps import TrapsChange, TrapView
from admin.harvests.domains.domain import show_domain
from admin.models.transaction import Right
from admin.web.forms import trap_forms
from admin.web.page import done, needs, page, read, reading, saving, with_long_lists

BLUEPRINT: Final = Blueprint("traps", __name__, url_prefix="/<name>/crawler-traps")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="edit")
@with_long_lists
@needs(Right.READ, changes=Right.CURATE)
def edit(name: str) -> Response:
    """Show the crawler traps of a domain; test others, or keep them."""
    with reading() as opened:
        domain = show_domain(opened, name)
        found = use_cases.show_domain_traps(opened, name)

    def present() -> tuple[Sequence[TrapView], int]:
        found = read(use_cases.show_domain_traps, name)
        return found.traps, found.edition

    form, report, is_saved = trap_forms.edit(present, TrapsChange, saving(use_cases.set_domain_traps, name))
    if is_saved:
        return done("The crawler traps were saved.", "domains.show", name=domain.name)
    status = 422 if form.has_problems else 200
    return page("domains/traps.html", status, domain=domain, traps=found.traps, form=form, report=report)
