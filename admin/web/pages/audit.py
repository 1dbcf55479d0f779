"""This page shows who changed what."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.models.errors import UseCaseError
from admin.models.transaction import Right
from admin.people.audit import list_audit
from admin.web.forms.form import Form
from admin.web.page import needs, page, reading

BLUEPRINT: Final = Blueprint("audit", __name__, url_prefix="/audit")
_FILTERS: Final = ("actor", "action", "entity", "entity_id", "after")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.ADMINISTER)
def index() -> Response:
    """Show changes, newest first, with filters."""
    sent = {name: request.args.get(name, "").strip() for name in _FILTERS}
    given: dict[str, Any] = {name: text for name, text in sent.items() if text}
    problem = ""
    with reading() as opened:
        try:
            entries = list_audit(opened, **given)
        except UseCaseError as error:
            problem, entries = str(error), list_audit(opened)
    return page("audit/index.html", entries=entries, form=Form(given), problem=problem)
