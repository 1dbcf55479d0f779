"""These pages show templates with their versions, and make, change, compare and copy them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.templates import catalogue
from admin.harvests.templates.data import Edition, NewTemplate, NewVersion, TemplateView
from admin.models.transaction import Right
from admin.web.forms import Form
from admin.web.page import done, needs, page, reading, transaction

BLUEPRINT: Final = Blueprint("templates", __name__, url_prefix="/templates")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show templates by name."""
    with reading() as opened:
        found = catalogue.list_templates(opened, after=request.args.get("after", ""))
    return page("templates/index.html", templates=found)


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@needs(Right.CURATE)
def create() -> Response:
    """Make a template from a text or an uploaded file."""
    form = Form({"name": "", "comments": "", "text": ""})
    if form.is_sent:

        def save(given: NewTemplate) -> TemplateView:
            with transaction() as opened:
                return catalogue.create_template(opened, given)

        made = form.run(save, NewTemplate, _with_file)
        if made is not None:
            return done(f"Template {made.name} was made.", "templates.show", name=made.name)
    return page("templates/edit.html", 422 if form.has_problems else 200, form=form, name="")


@BLUEPRINT.get("/<path:name>/download/<int:number>", endpoint="download")
@needs(Right.READ)
def download(name: str, number: int) -> Response:
    """Return the text of a version as a file."""
    with reading() as opened:
        text = catalogue.download_version(opened, name, number)
    headers = {"Content-Disposition": "attachment; filename=template.yaml"}
    return Response(text, content_type="application/yaml; charset=utf-8", headers=headers)


@BLUEPRINT.get("/<path:name>/compare", endpoint="compare")
@needs(Right.READ)
def compare(name: str) -> Response:
    """Show what differs between two versions."""
    with reading() as opened:
        old, new = request.args.get("old", type=int), request.args.get("new", type=int)
        found = catalogue.compare_versions(opened, name, old=old or 1, new=new)
    return page("templates/compare.html", name=name, comparison=found)


@BLUEPRINT.route("/<path:name>/edit", methods=["GET", "POST"], endpoint="edit")
@needs(Right.CURATE)
def edit(name: str) -> Response:
    """Give a template a new version."""
    with reading() as opened:
        found = catalogue.show_template(opened, name)
    form = Form({"text": found.text, "comments": "", "edition": found.edition})
    if form.is_sent:

        def save(given: NewVersion) -> TemplateView:
            with transaction() as opened:
                return catalogue.add_version(opened, name, given)

        if (changed := form.run(save, NewVersion, _with_file)) is not None:
            return done(f"Version {changed.version} was made.", "templates.show", name=name)
    return page("templates/edit.html", 422 if form.has_problems else 200, form=form, name=name)


@BLUEPRINT.post("/<path:name>/<any(activate, deactivate, delete):action>", endpoint="act")
@needs(Right.CURATE)
def act(name: str, action: str) -> Response:
    """Activate, deactivate or delete a template."""
    with transaction() as opened:
        if action == "delete":
            catalogue.delete_template(opened, name)
            return done(f"Template {name} was deleted.", "templates.index")
        use_case = catalogue.activate_template if action == "activate" else catalogue.deactivate_template
        use_case(opened, name, Edition())
    return done(f"Template {name} was {action}d.", "templates.show", name=name)


@BLUEPRINT.get("/<path:name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show a template with its versions and users."""
    with reading() as opened:
        found = catalogue.show_template(opened, name)
        versions = catalogue.list_versions(opened, name)
        users = catalogue.list_users(opened, name)
    return page("templates/show.html", found=found, versions=versions, users=users)


def _with_file(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the form; an uploaded file takes the place of the text."""
    file = request.files.get("file")
    if file is not None and file.filename:
        return {**sent, "text": file.read(2_000_000).decode("utf-8", "replace")}
    return {**sent, "text": sent.get("text", "").replace("\r\n", "\n")}
