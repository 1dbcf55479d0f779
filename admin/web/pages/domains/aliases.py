"""These pages show which domains are aliases of others and until when, and set, renew and end aliases."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.domains import aliases as use_cases
from admin.harvests.domains.aliases import AliasSetting, AliasView
from admin.harvests.domains.domain import show_domain
from admin.models.errors import InvalidInput, NotFound, Problem, UseCaseError
from admin.models.operation import Page
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, reading, site, transaction

BLUEPRINT: Final = Blueprint("aliases", __name__)


@BLUEPRINT.get("/aliases", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show aliases, first those that expire first."""
    is_soon = request.args.get("soon", "") == "yes"
    problem = ""
    with reading() as opened:
        try:
            found = use_cases.list_aliases(opened, about_to_expire=is_soon, after=request.args.get("after", ""))
        except UseCaseError as error:
            problem, found = str(error), Page(items=[])
    settings = site().settings.harvests
    return page(
        "domains/aliases.html",
        422 if problem else 200,
        aliases=found,
        is_soon=is_soon,
        problem=problem,
        warning_seconds=settings.alias_warning_seconds,
        alias_seconds=settings.alias_seconds,
    )


@BLUEPRINT.route("/<name>/alias", methods=["GET", "POST"], endpoint="edit")
@needs(Right.CURATE)
def edit(name: str) -> Response:
    """Make a domain an alias of another one."""
    found = read(show_domain, name)
    form = Form({"alias_of": found.alias_of or "", "edition": found.edition})
    if form.is_sent:

        def save(given: AliasSetting) -> AliasView:
            with transaction() as opened:
                try:
                    return use_cases.set_alias(opened, name, given)
                except NotFound as error:
                    raise InvalidInput(Problem("alias_of", f"{error}; add the domain first")) from error

        def present() -> dict[str, Any]:
            domain = read(show_domain, name)
            return {"alias_of": domain.alias_of or "", "edition": domain.edition}

        if (made := form.run(save, AliasSetting, present=present)) is not None:
            message = f"{made.unicode_name} is an alias of {made.alias_of}."
            return done(message, "domains.show", name=found.name)
    status = 422 if form.has_problems else 200
    seconds = site().settings.harvests.alias_seconds
    return page("domains/alias.html", status, domain=found, form=form, alias_seconds=seconds)


@BLUEPRINT.post("/<name>/alias/renew", endpoint="renew")
@needs(Right.CURATE)
def renew(name: str) -> Response:
    """Let the time of an alias begin anew."""
    carry_out(use_cases.renew_alias, name)
    return _back(f"The alias {name} was renewed.", name)


@BLUEPRINT.post("/<name>/alias/end", endpoint="end")
@needs(Right.CURATE)
def end(name: str) -> Response:
    """Make an alias a domain of its own again."""
    carry_out(use_cases.unset_alias, name)
    return _back(f"{name} is no alias any more.", name)


def _back(message: str, name: str) -> Response:
    """Go back to the list of aliases for those who came from there, and to the domain otherwise."""
    if request.form.get("back") == "list":
        return done(message, "domains.aliases.index")
    return done(message, "domains.show", name=name)
