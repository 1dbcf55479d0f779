"""These pages show the extended fields of domains and harvests; administrators define them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.domains import extended_fields as use_cases
from admin.harvests.domains.extended_fields import FieldChange, FieldCreation, FieldView
from admin.models.domain_tables import FieldKind
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, read, saving, transaction

BLUEPRINT: Final = Blueprint("extended_fields", __name__, url_prefix="/extended-fields")
_SWITCHES: Final = ("is_mandatory", "is_kept_with_jobs")
_NUMBER: Final = "<int(max=9223372036854775807):number>"


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show the extended fields in the order of the forms."""
    found = read(use_cases.list_fields)
    return page("extended_fields/index.html", fields=found)


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@needs(Right.ADMINISTER)
def create() -> Response:
    """Define an extended field."""
    values = {"entity": "domain", "name": "", "kind": FieldKind.TEXT, "choices": "", "default": "", "position": 0}
    form = Form({**values, **dict.fromkeys(_SWITCHES, False)}, switches=_SWITCHES)
    if form.is_sent and (made := form.run(saving(use_cases.create_field), FieldCreation, _given)) is not None:
        return done(f"The field {made.name} was made.", "domains.extended_fields.index")
    return _page(form, None)


@BLUEPRINT.route(f"/{_NUMBER}", methods=["GET", "POST"], endpoint="edit")
@needs(Right.ADMINISTER)
def edit(number: int) -> Response:
    """Change an extended field."""
    found = read(use_cases.show_field, number)
    form = Form(_values(found), switches=_SWITCHES)
    if form.is_saved_by(
        saving(use_cases.change_field, number), FieldChange, _given, lambda: _values(read(use_cases.show_field, number))
    ):
        return done("The field was saved.", "domains.extended_fields.index")
    return _page(form, found)


@BLUEPRINT.post(f"/{_NUMBER}/delete", endpoint="delete")
@needs(Right.ADMINISTER)
def delete(number: int) -> Response:
    """Delete an extended field; one that has values takes the confirmation that these are deleted too."""
    with transaction() as opened:
        use_cases.delete_field(opened, number, also_values=request.form.get("also_values") == "yes")
    return done("The field was deleted.", "domains.extended_fields.index")


def _values(found: FieldView) -> dict[str, Any]:
    values = found.model_dump(include={"name", "kind", "default", "position", "edition", *_SWITCHES})
    return {**values, "choices": "\n".join(found.choices)}


def _given(sent: dict[str, Any]) -> dict[str, Any]:
    choices = [line.strip() for line in str(sent.get("choices", "")).splitlines() if line.strip()]
    return {**sent, "choices": choices}


def _page(form: Form, found: FieldView | None) -> Response:
    status = 422 if form.has_problems else 200
    return page("extended_fields/edit.html", status, form=form, field=found, kinds=list(FieldKind))
