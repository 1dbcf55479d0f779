"""These pages show domains with everything that belongs to them, and add, change and delete them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.domains import domain as use_cases
from admin.harvests.domains.domain import DomainChange, DomainCreation, DomainView
from admin.harvests.domains.search import ORDERS, list_domains, tld_statistics
from admin.harvests.statistics.domain_history import newest_result
from admin.models.errors import UseCaseError
from admin.models.operation import Page
from admin.models.transaction import Right
from admin.web.forms.extended_inputs import ExtendedInputs
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, reading, saving

BLUEPRINT: Final = Blueprint("domains", __name__, url_prefix="/domains")
_ORDER_NAMES: Final = {"name": "name", "-name": "name, backwards", "newest": "newest first"}
_YES_NO: Final = {"yes": True, "no": False}


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show domains by name, with a search."""
    return _list(Form({"name": ""}))


@BLUEPRINT.get("/new", endpoint="new")
@needs(Right.CURATE)
def new() -> Response:
    """Show the form of a new domain."""
    inputs = read(ExtendedInputs, "domain")
    form = Form({"name": "", "comments": "", **inputs.values({})})
    return page("domains/new.html", form=form, fields=inputs.fields)


@BLUEPRINT.post("", endpoint="create")
@needs(Right.CURATE)
def create() -> Response:
    """Add a domain."""
    inputs = read(ExtendedInputs, "domain")
    form = Form({"name": "", "comments": "", **inputs.values({})}, places=inputs.places)

    made = form.run(
        saving(use_cases.create_domain),
        DomainCreation,
        lambda sent: {**inputs.without(sent), "extended": inputs.given(sent, {})},
    )
    if made is not None:
        return done(f"Domain {made.unicode_name} was added.", "domains.show", name=made.name)
    if inputs.fields or "comments" in request.form:
        return page("domains/new.html", 422, form=form, fields=inputs.fields)
    return _list(form, 422)


@BLUEPRINT.get("/tlds", endpoint="tlds")
@needs(Right.READ)
def tlds() -> Response:
    """Count domains by top-level domain."""
    level = request.args.get("level", "0")
    with reading() as opened:
        found = tld_statistics(opened, level=int(level) if level in ("0", "1", "2") else 0)
    most = max((each.domains for each in found.items), default=0)
    return page("domains/tlds.html", tlds=found, level=level, most=most)


@BLUEPRINT.get("/<name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show a domain."""
    with reading() as opened:
        found = use_cases.show_domain(opened, name)
        newest = newest_result(opened, found.name)
    return page("domains/show.html", domain=found, newest=newest)


@BLUEPRINT.route("/<name>/edit", methods=["GET", "POST"], endpoint="change")
@needs(Right.CURATE)
def change(name: str) -> Response:
    """Change comments, default configuration and extended fields of a domain."""
    with reading() as opened:
        found = use_cases.show_domain(opened, name)
        inputs = ExtendedInputs(opened, "domain")
    form = Form(_values(found, inputs), places=inputs.places)
    if form.is_sent:

        def convert(sent: dict[str, Any]) -> dict[str, Any]:
            values = {**inputs.without(sent), "extended": inputs.given(sent, found.extended)}
            return values if sent.get("default_configuration") else {**values, "default_configuration": None}

        if form.is_saved_by(
            saving(use_cases.change_domain, name),
            DomainChange,
            convert,
            lambda: _values(read(use_cases.show_domain, name), inputs),
        ):
            return done("The domain was saved.", "domains.show", name=found.name)
    status = 422 if form.has_problems else 200
    return page("domains/edit.html", status, domain=found, form=form, fields=inputs.fields)


@BLUEPRINT.post("/<name>/delete", endpoint="delete")
@needs(Right.CURATE)
def delete(name: str) -> Response:
    """Delete a domain that nothing uses."""
    carry_out(use_cases.delete_domain, name)
    return done(f"Domain {name} was deleted.", "domains.index")


def _values(found: DomainView, inputs: ExtendedInputs) -> dict[str, Any]:
    return {
        "comments": found.comments,
        "default_configuration": found.default_configuration or "",
        "edition": found.edition,
        **inputs.values(found.extended),
    }


def _list(form: Form, status: int = 200) -> Response:
    keys = ("search", "tld", "after", "alias", "has_history", "field", "value", "order")
    given = {key: request.args.get(key, "").strip() for key in keys}
    problem = ""
    with reading() as opened:
        inputs = ExtendedInputs(opened, "domain")
        try:
            found = list_domains(
                opened,
                search=given["search"],
                tld=given["tld"],
                alias=_YES_NO.get(given["alias"]),
                has_history=_YES_NO.get(given["has_history"]),
                field=given["field"],
                value=given["value"],
                order=given["order"] if given["order"] in ORDERS else "name",
                after=given["after"],
            )
        except UseCaseError as error:
            problem, found = str(error), Page(items=[])
    is_filtered = any(value for key, value in given.items() if key not in ("order", "after"))
    return page(
        "domains/index.html",
        status if status != 200 else (422 if problem else 200),
        domains=found,
        form=form,
        given=given,
        problem=problem,
        fields=inputs.fields,
        orders=list(_ORDER_NAMES.items()),
        is_filtered=is_filtered,
    )
