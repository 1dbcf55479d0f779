"""These pages show the work that waits for a person."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, Response, request
from werkzeug.wrappers import Response as AnyResponse

from admin.curation.tray import tray
from admin.curation.tray.entries import TrayKind
from admin.curation.tray.tray import TrayAssignmentInput, TrayDismissal
from admin.models.people_tables import Role
from admin.models.transaction import Right
from admin.models.validation import validated
from admin.web.page import carry_out, done, needs, page, reading

BLUEPRINT: Final = Blueprint("tray", __name__, url_prefix="/tray")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> AnyResponse:
    """Show the in-tray of the person who looks."""
    asked = request.args.get("kind", "")
    kind = TrayKind(asked) if asked in list(TrayKind) else None
    with reading() as opened:
        found = tray.list_tray(opened, kind=kind, after=request.args.get("after"))
    return page("curation/tray.html", tray=found, kind=kind, kinds=list(TrayKind), roles=list(Role))


@BLUEPRINT.get("/count", endpoint="count")
@needs(Right.READ)
def count() -> AnyResponse:
    """Return the number of entries, for the navigation."""
    with reading() as opened:
        number = tray.count_tray(opened).entries
    return Response(f"({number:,})" if number else "", content_type="text/html; charset=utf-8")


@BLUEPRINT.post("/dismiss", endpoint="dismiss")
@needs(Right.READ)
def dismiss() -> AnyResponse:
    """Put an entry off, or dismiss it."""
    given: dict[str, Any] = {"entry": request.form.get("entry", "")}
    if days := request.form.get("days", ""):
        given["days"] = days
    carry_out(tray.dismiss_entry, validated(TrayDismissal, given))
    return done("The entry was put off." if days else "The entry was dismissed.", "tray.index")


@BLUEPRINT.post("/assign", endpoint="assign")
@needs(Right.CURATE)
def assign() -> AnyResponse:
    """Give an entry to a person or to a role."""
    given = {
        "entry": request.form.get("entry", ""),
        "person": request.form.get("person", "").strip(),
        "role": request.form.get("role", "") or None,
    }
    carry_out(tray.assign_entry, validated(TrayAssignmentInput, given))
    return done("The entry was assigned.", "tray.index")
