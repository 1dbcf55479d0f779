"""This page shows who was responsible for a domain and when, and notes a new owner."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.domains import domain as use_cases
from admin.harvests.domains.domain import OwnerCreation
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, reading, saving

BLUEPRINT: Final = Blueprint("owners", __name__, url_prefix="/<name>/owners")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="index")
@needs(Right.READ, changes=Right.CURATE)
def index(name: str) -> Response:
    """Show the owners of a domain, the present one first, and note another."""
    form = Form({"owner": "", "contact": ""})
    if form.is_saved_by(saving(use_cases.add_owner, name), OwnerCreation):
        return done("The owner was noted.", "domains.owners.index", name=name)
    with reading() as opened:
        domain = use_cases.show_domain(opened, name)
        owners = use_cases.list_owners(opened, name, after=request.args.get("after", ""))
    status = 422 if form.has_problems else 200
    return page("domains/owners.html", status, domain=domain, owners=owners, form=form)
