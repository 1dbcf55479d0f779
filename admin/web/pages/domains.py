"""These pages show domains with their configurations and seed lists, and add and change them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.domains import domain as use_cases
from admin.harvests.domains.data import (
    DomainChange,
    DomainCreation,
    DomainUpload,
    DomainView,
    SeedListChange,
    SeedListView,
    UploadReport,
)
from admin.harvests.domains.search import list_domains
from admin.harvests.domains.seed_lists import change_seed_list, show_seed_list
from admin.harvests.domains.uploads import create_domains
from admin.models.errors import UseCaseError
from admin.models.operation import Page
from admin.models.transaction import Right
from admin.web.forms import Form
from admin.web.page import done, needs, page, reading, transaction

BLUEPRINT: Final = Blueprint("domains", __name__, url_prefix="/domains")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show domains by name, with a search."""
    return _list(Form({"name": ""}))


@BLUEPRINT.post("", endpoint="create")
@needs(Right.CURATE)
def create() -> Response:
    """Add a domain."""
    form = Form({"name": "", "comments": ""})

    def add(given: DomainCreation) -> DomainView:
        with transaction() as opened:
            return use_cases.create_domain(opened, given)

    made = form.run(add, DomainCreation)
    if made is None:
        return _list(form, 422)
    return done(f"Domain {made.unicode_name} was added.", "domains.show", name=made.name)


@BLUEPRINT.route("/upload", methods=["GET", "POST"], endpoint="upload")
@needs(Right.CURATE)
def upload() -> Response:
    """Add many domains from a list, one on each line."""
    form, report = Form({"text": ""}), None
    if form.is_sent:

        def add(given: DomainUpload) -> UploadReport:
            with transaction() as opened:
                return create_domains(opened, given)

        report = form.run(add, DomainUpload, _uploaded)
    return page("domains/upload.html", 422 if form.has_problems else 200, form=form, report=report)


@BLUEPRINT.get("/<name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show a domain."""
    with reading() as opened:
        found = use_cases.show_domain(opened, name)
    return page("domains/show.html", domain=found, form=Form({"comments": found.comments, "edition": found.edition}))


@BLUEPRINT.post("/<name>", endpoint="change")
@needs(Right.CURATE)
def change(name: str) -> Response:
    """Change what stands beside a domain."""
    form = Form({"comments": "", "default_configuration": "", "edition": ""})

    def save(given: DomainChange) -> DomainView:
        with transaction() as opened:
            return use_cases.change_domain(opened, name, given)

    if form.run(save, DomainChange) is not None:
        return done("The domain was saved.", "domains.show", name=name)
    with reading() as opened:
        found = use_cases.show_domain(opened, name)
    return page("domains/show.html", 422, domain=found, form=form)


@BLUEPRINT.post("/<name>/delete", endpoint="delete")
@needs(Right.CURATE)
def delete(name: str) -> Response:
    """Delete a domain that nothing uses."""
    with transaction() as opened:
        use_cases.delete_domain(opened, name)
    return done(f"Domain {name} was deleted.", "domains.index")


@BLUEPRINT.route("/<name>/seed-lists/<seed_list>", methods=["GET", "POST"], endpoint="seeds")
@needs(Right.READ)
def seeds(name: str, seed_list: str) -> Response:
    """Show a seed list, and change its seeds."""
    with reading() as opened:
        found = show_seed_list(opened, name, seed_list)
    form = Form({"seeds": found.seeds, "comments": found.comments, "edition": found.edition})
    if form.is_sent:

        def save(given: SeedListChange) -> SeedListView:
            with transaction() as opened:
                return change_seed_list(opened, name, seed_list, given)

        if form.run(save, SeedListChange) is not None:
            return done("The seeds were saved.", "domains.show", name=name)
    status = 422 if form.has_problems else 200
    return page("domains/seeds.html", status, name=name, seed_list=found, form=form)


def _list(form: Form, status: int = 200) -> Response:
    given: dict[str, Any] = {key: request.args.get(key, "").strip() for key in ("search", "tld", "after")}
    problem = ""
    with reading() as opened:
        try:
            found = list_domains(opened, **given)
        except UseCaseError as error:
            problem, found = str(error), Page(items=[])
    return page("domains/index.html", status, domains=found, form=form, given=given, problem=problem)


def _uploaded(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the text of the form, or of the file that was sent with it."""
    file = request.files.get("file")
    text = file.read().decode("utf-8-sig", "replace") if file is not None and file.filename else sent.get("text", "")
    return {"text": text}
