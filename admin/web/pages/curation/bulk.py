"""This page changes many domains at once; a preview comes first."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.curation.bulk import change
from admin.curation.bulk.change import BulkAction, BulkChange, BulkReport
from admin.harvests.domains.upload_lines import lines_of_bytes
from admin.models.errors import InvalidInput
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.forms.limit_inputs import given_limits
from admin.web.page import needs, page, read, site, visitor, with_long_lists

BLUEPRINT: Final = Blueprint("bulk", __name__, url_prefix="/bulk-changes")
_FIELDS: Final = tuple(BulkChange.model_fields)
_LIMITS: Final = ("max_bytes", "max_objects")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="show")
@with_long_lists
@needs(Right.CURATE)
def show() -> Response:
    """Choose domains and a change, preview the change, and carry it out."""
    form = Form({**dict.fromkeys(_FIELDS, ""), "action": BulkAction.ADD_TAG})
    report, is_done = None, False
    if form.is_sent:
        form.values["domains"] = _listed(form.values["domains"])
        is_done = request.form.get("step") == "do"

        def run(given: BulkChange) -> BulkReport:
            if is_done:
                return change.change_in_parts(site().database, visitor().actor, given)
            return read(change.preview_change, given)

        report = form.run(run, BulkChange, lambda sent: _given({**sent, "domains": form.values["domains"]}))
    return page(
        "curation/bulk.html",
        422 if form.has_problems else 200,
        form=form,
        report=report,
        is_done=is_done and report is not None,
        actions=list(BulkAction),
        fields=_FIELDS,
    )


def _listed(text: str) -> str:
    """Return the list of the file, or the pasted one without a file."""
    file = request.files.get("file")
    if file is None or not file.filename:
        return text.replace("\r\n", "\n")
    return "\n".join(each.text for each in lines_of_bytes([file.read()]))


def _given(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use case takes. Raises InvalidInput."""
    values = {name: str(sent[name]) for name in _FIELDS if str(sent.get(name, "")).strip()}
    limits, problems = given_limits({name: values.pop(name) for name in _LIMITS if name in values})
    if problems:
        raise InvalidInput(*problems)
    return values | limits
