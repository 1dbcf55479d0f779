"""These pages keep the passwords of a domain for parts that ask for one. A secret that was saved is never shown."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint
from werkzeug.wrappers import Response

from admin.harvests.domains import passwords as use_cases
from admin.harvests.domains.domain import show_domain
from admin.harvests.domains.passwords import PasswordChange, PasswordCreation, PasswordView
from admin.models.errors import NotFound
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, saving

BLUEPRINT: Final = Blueprint("passwords", __name__, url_prefix="/<name>/passwords")
_SECRET: Final = "password"


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@needs(Right.CURATE)
def create(name: str) -> Response:
    """Add a password to a domain."""
    domain = read(show_domain, name)
    form = Form({"name": "", "url": f"http://{domain.name}/", "realm": "", "username": "", _SECRET: ""})
    if form.is_sent and (made := form.run(saving(use_cases.create_password, name), PasswordCreation)) is not None:
        return done(f"Password {made.name} was kept. Nobody can read it again.", "domains.show", name=domain.name)
    return _page(form, domain.name, None)


@BLUEPRINT.route("/<password>", methods=["GET", "POST"], endpoint="edit")
@needs(Right.CURATE)
def edit(name: str, password: str) -> Response:
    """Change a password of a domain; an empty secret leaves the present one."""
    domain = read(show_domain, name)
    found = next((each for each in domain.passwords if each.name == password), None)
    if found is None:
        raise NotFound(f"password of {domain.name}", password)
    form = Form({**found.model_dump(include={"url", "realm", "username"}), _SECRET: ""})
    if form.is_sent:

        def convert(sent: dict[str, Any]) -> dict[str, Any]:
            return {**sent, _SECRET: sent.get(_SECRET) or None}

        if form.run(saving(use_cases.change_password, name, password), PasswordChange, convert) is not None:
            return done(f"Password {password} was saved.", "domains.show", name=domain.name)
    return _page(form, domain.name, found)


@BLUEPRINT.post("/<password>/delete", endpoint="delete")
@needs(Right.CURATE)
def delete(name: str, password: str) -> Response:
    """Delete a password that no configuration uses."""
    carry_out(use_cases.delete_password, name, password)
    return done(f"Password {password} was deleted.", "domains.show", name=name)


def _page(form: Form, domain: str, found: PasswordView | None) -> Response:
    form.values[_SECRET] = ""  # what was typed there must not stand in a page
    status = 422 if form.has_problems else 200
    return page("domains/password.html", status, form=form, name=domain, password=found)
