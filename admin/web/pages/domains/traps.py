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
from admin.web import trap_forms
from admin.web.page import done, needs, page, reading, transaction, with_long_lists

BLUEPRINT: Final = Blueprint("traps", __name__, url_prefix="/<name>/crawler-traps")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="edit")
@with_long_lists
@needs(Right.READ, changes=Right.CURATE)
def edit(name: str) -> Response:
    """Show the crawler traps of a domain; test others, or keep them."""
    with reading() as opened:
        domain = show_domain(opened, name)
        found = use_cases.show_domain_traps(opened, name)

    def read() -> tuple[Sequence[TrapView], int]:
        with reading() as opened:
            present = use_cases.show_domain_traps(opened, name)
        return present.traps, present.edition

    def save(given: TrapsChange) -> None:
        with transaction() as opened:
            use_cases.set_domain_traps(opened, name, given)

    form, report, is_saved = trap_forms.edit(read, TrapsChange, save)
    if is_saved:
        return done("The crawler traps were saved.", "domains.show", name=domain.name)
    status = 422 if form.has_problems else 200
    return page("domains/traps.html", status, domain=domain, traps=found.traps, form=form, report=report)
