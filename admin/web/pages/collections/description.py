"""These pages describe a collection and its captures, change their states, and exclude URLs from what readers see."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.curation.descriptions import describe, exclusions
from admin.curation.descriptions.describe import DescriptionChange, DescriptionView
from admin.curation.descriptions.dublin_core import ELEMENTS
from admin.curation.descriptions.exclusions import ExclusionCreation
from admin.curation.descriptions.states import TRANSITIONS
from admin.harvests.schedules.rules import local_moment, local_text
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, reading, saving, transaction, visitor, with_long_lists

BLUEPRINT: Final = Blueprint("description", __name__, url_prefix="/<name>/description")
_LONG: Final = ("description", "rights", "coverage")
_PREFIX: Final = "dc_"


@BLUEPRINT.get("", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show the description of a collection, and the URLs that are excluded."""
    return _show(name, Form(), 200)


@BLUEPRINT.route("/edit", methods=["GET", "POST"], endpoint="edit")
@with_long_lists
@needs(Right.CURATE)
def edit(name: str) -> Response:
    """Describe a collection, and change its state."""
    found = read(describe.show_description, name)
    form = Form(_values(found))
    if form.is_saved_by(saving(describe.describe_collection, name), DescriptionChange, _given):
        return done("The description was saved.", "collections.description.show", name=name)
    return _edit(name, found, form)


@BLUEPRINT.route("/capture", methods=["GET", "POST"], endpoint="capture")
@with_long_lists
@needs(Right.READ, changes=Right.CURATE)
def capture(name: str) -> Response:
    """Show or change the description of the capture that the address names."""
    url, timestamp = request.args.get("url", ""), request.args.get("timestamp", "")
    with reading() as opened:
        found = describe.show_capture_description(opened, name, url=url, timestamp=timestamp)
    form = Form(_values(found))
    if form.is_sent:

        def save(given: DescriptionChange) -> DescriptionView:
            with transaction() as opened:
                return describe.describe_capture(opened, name, given, url=url, timestamp=timestamp)

        if form.run(save, DescriptionChange, _given) is not None:
            place = {"name": name, "url": url, "timestamp": timestamp}
            return done("The description was saved.", "collections.description.capture", **place)
    return _edit(name, found, form)


@BLUEPRINT.post("/exclusions", endpoint="exclude")
@needs(Right.CURATE)
def exclude(name: str) -> Response:
    """Exclude URLs from what readers see."""
    form = Form({"url": "", "reason": ""})

    if form.run(saving(exclusions.create_exclusion, name), ExclusionCreation) is not None:
        return done("Readers see these URLs no more.", "collections.description.show", name=name)
    return _show(name, form, 422)


@BLUEPRINT.post("/exclusions/<int:number>/remove", endpoint="remove")
@needs(Right.CURATE)
def remove(name: str, number: int) -> Response:
    """Let readers see excluded URLs again."""
    carry_out(exclusions.remove_exclusion, name, number)
    return done("The exclusion was removed.", "collections.description.show", name=name)


def _show(name: str, form: Form, status: int) -> Response:
    with reading() as opened:
        found = describe.show_description(opened, name)
        hidden = exclusions.list_exclusions(opened, name, after=request.args.get("after"))
    return page("collections/description.html", status, name=name, found=found, hidden=hidden, form=form)


def _edit(name: str, found: DescriptionView, form: Form) -> Response:
    return page(
        "collections/description_edit.html",
        422 if form.has_problems else 200,
        name=name,
        found=found,
        form=form,
        elements=ELEMENTS,
        long=_LONG,
        states=[found.state, *sorted(TRANSITIONS[found.state])],
    )


def _values(found: DescriptionView) -> dict[str, Any]:
    fields = {f"{_PREFIX}{each}": "\n".join(found.dublin_core.get(each, [])) for each in ELEMENTS}
    until = "" if found.embargo_until is None else local_text(found.embargo_until, visitor().zone.key)
    return {
        **fields,
        "state": found.state,
        "reason": found.reason,
        "tags": ", ".join(found.tags),
        "embargo_until": until,
        "edition": found.edition,
    }


def _given(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use case takes: each line of a field is a value. Raises InvalidInput."""
    values: dict[str, Any] = {name: sent[name] for name in ("state", "reason", "edition") if sent.get(name) is not None}
    until = str(sent.get("embargo_until", "")).strip()
    if until:
        values["embargo_until"] = local_moment(until, visitor().zone.key, "embargo_until")
    else:
        values["lift_embargo"] = True
    values["dublin_core"] = {
        each: [line for line in str(sent.get(f"{_PREFIX}{each}", "")).splitlines() if line.strip()] for each in ELEMENTS
    }
    values["tags"] = [each.strip() for each in str(sent.get("tags", "")).split(",") if each.strip()]
    return values
