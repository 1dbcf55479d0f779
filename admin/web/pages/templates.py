"""These pages show templates with their versions, and make, change, compare, copy, restore and delete them."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from flask import Blueprint, request, url_for
from werkzeug.wrappers import Response

from admin.harvests.templates import catalogue, texts
from admin.harvests.templates.comparison import side_by_side
from admin.harvests.templates.data import (
    Edition,
    NewTemplate,
    NewVersion,
    TemplateChange,
    TemplateCopy,
    TemplateText,
    TemplateView,
)
from admin.harvests.templates.stock import DEFAULT_TEMPLATE
from admin.models.errors import EditConflict, UseCaseError
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.forms.scope_form import asked_about
from admin.web.forms.template_form import TemplateForm
from admin.web.page import carry_out, done, needs, page, read, reading, saving, transaction, with_long_lists

BLUEPRINT: Final = Blueprint("templates", __name__, url_prefix="/templates")
_MOST_CHOICES: Final = 500


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show templates by name."""
    search = request.args.get("search", "")[:100]
    with reading() as opened:
        found = catalogue.list_templates(opened, search=search, after=request.args.get("after", ""))
    return page("templates/index.html", templates=found, search=search)


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@with_long_lists
@needs(Right.CURATE)
def create() -> Response:
    """Make a template by fields, from a text, or from an uploaded file."""
    with reading() as opened:
        start = catalogue.show_template(opened, DEFAULT_TEMPLATE).text
    form = TemplateForm(start)
    if form.is_sent and form.accept():
        given = NewTemplate(name=_typed("name"), text=form.document, comments=_typed("comments"))
        try:
            made = carry_out(catalogue.create_template, given)
            return done(f"Template {made.name} was made.", "templates.show", name=made.name)
        except UseCaseError as error:
            form.refused(error)
    return _edit(form, None)


@BLUEPRINT.post("/verify", endpoint="verify")
@with_long_lists
@needs(Right.CURATE)
def verify() -> dict[str, Any]:
    """Tell the editor's script what is wrong with a text, as JSON."""
    text = request.form.get("text", "").replace("\r\n", "\n")
    found = read(texts.verify_text, TemplateText(text=text))
    return {"problems": [each.model_dump(include={"line", "message"}) for each in found.problems]}


@BLUEPRINT.get("/<path:name>/download/<int:number>", endpoint="download")
@needs(Right.READ)
def download(name: str, number: int) -> Response:
    """Return the text of a version as a file."""
    text = read(catalogue.download_version, name, number)
    file = quote(f"{name}-{number}.yaml", safe="")
    headers = {"Content-Disposition": f"attachment; filename=template.yaml; filename*=UTF-8''{file}"}
    return Response(text, content_type="application/yaml; charset=utf-8", headers=headers)


@BLUEPRINT.get("/<path:name>/compare", endpoint="compare")
@needs(Right.READ)
def compare(name: str) -> Response:
    """Show what differs between two versions, of one template or of two."""
    old, new = request.args.get("old", type=int), request.args.get("new", type=int)
    other = request.args.get("other") or None
    with reading() as opened:
        found = catalogue.compare_versions(opened, name, old=old or 1, new=new, other=other)
        versions = [each.number for each in catalogue.list_versions(opened, name, limit=_MOST_CHOICES).items]
        names = [each.name for each in catalogue.list_templates(opened, limit=_MOST_CHOICES).items]
    return page(
        "templates/compare.html", name=name, comparison=found, versions=versions, names=names, other=other or name
    )


@BLUEPRINT.route("/<path:name>/edit", methods=["GET", "POST"], endpoint="edit")
@with_long_lists
@needs(Right.CURATE)
def edit(name: str) -> Response:
    """Give a template a new version, by fields or as text."""
    found = read(catalogue.show_template, name)
    form = TemplateForm(found.text, name, found.edition)
    conflict = None
    if form.is_sent and form.accept():
        edition = request.form.get("edition", type=int)
        given = NewVersion(text=form.document, comments=_typed("comments"), edition=edition)
        try:
            changed = carry_out(catalogue.add_version, name, given)
            is_new = changed.version != found.version
            text = f"Version {changed.version} was made." if is_new else "The text is the same; no version was made."
            return done(text, "templates.show", name=name)
        except EditConflict as error:
            form.refused(error)
            form.values["edition"] = error.present
            conflict = side_by_side(found.text, form.document)
        except UseCaseError as error:
            form.refused(error)
    return _edit(form, found, conflict=conflict)


@BLUEPRINT.route("/<path:name>/copy", methods=["GET", "POST"], endpoint="copy")
@needs(Right.CURATE)
def copy(name: str) -> Response:
    """Make a template from a version of this one."""
    with reading() as opened:
        number = request.args.get("version", type=int)
        found = catalogue.show_version(opened, name, number or catalogue.show_template(opened, name).version)
    form = Form({"name": "", "comments": ""})
    if form.is_sent:
        made = form.run(
            saving(catalogue.copy_template, name), TemplateCopy, lambda sent: {**sent, "version": found.number}
        )
        if made is not None:
            return done(f"Template {made.name} was made.", "templates.show", name=made.name)
    return page("templates/copy.html", 422 if form.has_problems else 200, form=form, found=found)


@BLUEPRINT.route("/<path:name>/rename", methods=["GET", "POST"], endpoint="rename")
@needs(Right.CURATE)
def rename(name: str) -> Response:
    """Change the name and the comments of a template."""
    found = read(catalogue.show_template, name)
    form = Form({"name": found.name, "comments": found.comments, "edition": found.edition})
    if form.is_sent:

        def present() -> dict[str, Any]:
            return {"name": found.name, "comments": found.comments, "edition": found.edition}

        changed = form.run(saving(catalogue.change_template, name), TemplateChange, present=present)
        if changed is not None:
            return done("The template was saved.", "templates.show", name=changed.name)
    return page("templates/rename.html", 422 if form.has_problems else 200, form=form, name=name)


@BLUEPRINT.post("/<path:name>/restore/<int:number>", endpoint="restore")
@needs(Right.CURATE)
def restore(name: str, number: int) -> Response:
    """Give a template the text of an old version again."""
    edition = request.form.get("edition", type=int)
    changed = carry_out(catalogue.restore_version, name, number, Edition(edition=edition))
    return done(f"Version {changed.version} was made; it is version {number} again.", "templates.show", name=name)


@BLUEPRINT.post("/<path:name>/<any(activate, deactivate, delete):action>", endpoint="act")
@needs(Right.CURATE)
def act(name: str, action: str) -> Response:
    """Activate, deactivate or delete a template."""
    with transaction() as opened:
        if action == "delete":
            catalogue.delete_template(opened, name, edition=request.form.get("edition", type=int))
            return done(f"Template {name} was deleted.", "templates.index")
        use_case = catalogue.activate_template if action == "activate" else catalogue.deactivate_template
        use_case(opened, name, Edition())
    return done(f"Template {name} was {action}d.", "templates.show", name=name)


@BLUEPRINT.get("/<path:name>/users", endpoint="users")
@needs(Right.READ)
def users(name: str) -> Response:
    """Show every configuration that uses a template."""
    with reading() as opened:
        found = catalogue.list_users(opened, name, after=request.args.get("after"))
    return page("templates/users.html", name=name, users=found)


@BLUEPRINT.get("/<path:name>/versions/<int:number>", endpoint="version")
@needs(Right.READ)
def version(name: str, number: int) -> Response:
    """Show one version of a template."""
    with reading() as opened:
        found = catalogue.show_version(opened, name, number)
        edition = catalogue.show_template(opened, name).edition
    return page("templates/version.html", found=found, edition=edition)


@BLUEPRINT.get("/<path:name>/scope", endpoint="scope")
@needs(Right.CURATE)
def scope(name: str) -> Response:
    """Say why URLs are in or out of the scope of a template."""
    with reading() as opened:
        catalogue.show_template(opened, name)
        asked = asked_about(opened, template=name)
    back = url_for("templates.show", name=name)
    return page("templates/scope.html", asked.status, asked=asked, title=name, back=back, has_seeds=False)


@BLUEPRINT.get("/<path:name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show a template with its versions and users."""
    with reading() as opened:
        found = catalogue.show_template(opened, name)
        versions = catalogue.list_versions(opened, name, after=request.args.get("after"))
        some = catalogue.list_users(opened, name, limit=20)
    return page("templates/show.html", found=found, versions=versions, users=some)


def _edit(form: TemplateForm, found: TemplateView | None, **values: Any) -> Response:
    status = 422 if form.has_problems else 200
    return page("templates/edit.html", status, form=form, name=found.name if found else "", found=found, **values)


def _typed(name: str) -> str:
    return request.form.get(name, "")
