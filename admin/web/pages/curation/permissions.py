"""These pages show permissions and licences of sites, and write letters to their owners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.curation.permissions import letters, permission
from admin.curation.permissions.letters import LetterInput, LetterTemplateInput, LetterTemplateView
from admin.curation.permissions.permission import PermissionChange, PermissionCreation, PermissionView
from admin.harvests.schedules.rules import local_moment, local_text
from admin.models.curation_tables import PermissionState
from admin.models.errors import EditConflict, InvalidInput, Problem
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, reading, saving, visitor

BLUEPRINT: Final = Blueprint("permissions", __name__, url_prefix="/permissions")
_TEXTS: Final = ("contact", "email", "licence", "licence_url", "notes")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show permissions by site."""
    search, asked = request.args.get("search", "")[:200], request.args.get("state", "")
    state = PermissionState(asked) if asked in list(PermissionState) else None
    with reading() as opened:
        found = permission.list_permissions(opened, search=search, state=state, after=request.args.get("after"))
    form = Form({"search": search, "state": asked})
    return page("curation/permissions.html", found=found, form=form, states=list(PermissionState))


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@needs(Right.CURATE)
def create() -> Response:
    """Note the permission of a site."""
    site = request.args.get("site", "")[:1_000]
    form = Form({**dict.fromkeys(_TEXTS, ""), "site": site, "state": PermissionState.ASKED, "granted_until": ""})
    if form.is_sent:
        made = form.run(saving(permission.create_permission), PermissionCreation, _given)
        if made is not None:
            return done(f"The permission of {made.site} was noted.", "permissions.show", number=made.id)
    status = 422 if form.has_problems else 200
    return page("curation/permission_edit.html", status, form=form, found=None, states=list(PermissionState))


@BLUEPRINT.get("/<int:number>", endpoint="show")
@needs(Right.READ)
def show(number: int) -> Response:
    """Show a permission with its history."""
    with reading() as opened:
        found = permission.show_permission(opened, number)
        events = permission.list_events(opened, number)
        templates = letters.list_templates(opened)
    names = list(dict.fromkeys([letters.DEFAULT_NAME, *(each.name for each in templates.items)]))
    return page("curation/permission.html", found=found, events=events, templates=names, form=Form())


@BLUEPRINT.route("/<int:number>/edit", methods=["GET", "POST"], endpoint="edit")
@needs(Right.CURATE)
def edit(number: int) -> Response:
    """Change a permission."""
    found = read(permission.show_permission, number)
    form = Form(_values(found))
    if form.is_saved_by(saving(permission.change_permission, number), PermissionChange, _changed):
        return done("The permission was saved.", "permissions.show", number=number)
    status = 422 if form.has_problems else 200
    return page("curation/permission_edit.html", status, form=form, found=found, states=list(PermissionState))


@BLUEPRINT.post("/<int:number>/letter", endpoint="letter")
@needs(Right.CURATE)
def letter(number: int) -> Response:
    """Write a letter, to copy or to send."""
    form = Form({"template": "", "is_sent": ""})

    made = form.run(
        saving(letters.write_letter, number), LetterInput, lambda sent: {**sent, "is_sent": bool(sent.get("is_sent"))}
    )
    return page("curation/letter.html", 422 if made is None else 200, letter=made, number=number, form=form)


@BLUEPRINT.post("/<int:number>/remove", endpoint="remove")
@needs(Right.CURATE)
def remove(number: int) -> Response:
    """Remove a permission with its history."""
    carry_out(permission.remove_permission, number)
    return done("The permission was removed.", "permissions.index")


@BLUEPRINT.route("/letters/<name>", methods=["GET", "POST"], endpoint="template")
@needs(Right.CURATE)
def template(name: str) -> Response:
    """Show or save the template of letters; a template that is saved by another name is another template."""
    with reading() as opened:
        found = letters.show_template(opened, name)
        known = [each.name for each in letters.list_templates(opened).items]
    form = Form({"name": name, "subject": found.subject, "body": found.body, "edition": found.edition})
    if form.is_sent:
        saved_name = form.value("name")

        def save(given: LetterTemplateInput) -> LetterTemplateView:
            if saved_name == name:
                return carry_out(letters.save_template, name, given)
            try:
                return carry_out(letters.save_template, saved_name, given.model_copy(update={"edition": 0}))
            except EditConflict as error:
                there = f"there is a template {saved_name!r} already; open that one, or choose another name"
                raise InvalidInput(Problem("name", there)) from error

        def without_name(sent: Mapping[str, Any]) -> dict[str, Any]:
            return {key: value for key, value in sent.items() if key != "name"}

        if form.run(save, LetterTemplateInput, without_name) is not None:
            return done("The template was saved.", "permissions.template", name=saved_name)
    status = 422 if form.has_problems else 200
    return page("curation/letter_template.html", status, name=name, form=form, fields=letters.FIELDS, known=known)


def _values(found: PermissionView) -> dict[str, Any]:
    until = "" if found.granted_until is None else local_text(found.granted_until, visitor().zone.key)
    texts = {field: getattr(found, field) for field in _TEXTS}
    return {**texts, "state": found.state, "granted_until": until, "note": "", "edition": found.edition}


def _given(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use case takes. Raises InvalidInput."""
    until = str(sent.get("granted_until", "")).strip()
    values = {name: str(each).replace("\r\n", "\n").strip() for name, each in sent.items() if name != "granted_until"}
    return values | ({"granted_until": local_moment(until, visitor().zone.key, "granted_until")} if until else {})


def _changed(sent: dict[str, Any]) -> dict[str, Any]:
    values = _given(sent)
    return values if "granted_until" in values else {**values, "is_endless": True}
