"""People see these pages before they are logged in: the login, and what one-time links lead to."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, abort, redirect, request, url_for
from werkzeug.wrappers import Response

from admin.models.errors import UseCaseError
from admin.people.invitations import Acceptance, LinkRefused, accept_invitation, open_link, set_password
from admin.people.login import Login, log_in, stranger
from admin.people.sessions import end_session_of
from admin.web.forms.form import Form
from admin.web.page import SESSION_COOKIE, login_is_not_needed, page, site
from admin.web.security import asked_target

BLUEPRINT: Final = Blueprint("login", __name__)


@BLUEPRINT.route("/login", methods=["GET", "POST"], endpoint="show")
@login_is_not_needed
def show() -> Response:
    """Show the login form, and log in."""
    form = Form({"name": ""})
    target = asked_target()
    if form.is_sent:
        try:
            login = log_in(
                site().database,
                request.form.get("name", "")[:500],
                request.form.get("password", "")[:2000],
                address=request.remote_addr or "",
                browser=request.headers.get("User-Agent", "")[:500],
                former_cookie=request.cookies.get(SESSION_COOKIE, ""),
            )
        except UseCaseError as error:
            form.whole.append(str(error))
        else:
            return entered(login, target)
    form.values.pop("password", None)
    return page("login.html", 200 if not form.has_problems else 401, form=form, target=target)


@BLUEPRINT.post("/logout", endpoint="leave")
@login_is_not_needed
def leave() -> Response:
    """End the session."""
    with site().database.transaction(stranger(request.remote_addr or "")) as transaction:
        end_session_of(transaction, request.cookies.get(SESSION_COOKIE, ""))
    answer = redirect(url_for("login.show"), 303)
    answer.delete_cookie(SESSION_COOKIE, **_cookie_place())
    answer.headers["Clear-Site-Data"] = '"cache"'
    return answer


@BLUEPRINT.route("/welcome/<token>", methods=["GET", "POST"], endpoint="welcome")
@login_is_not_needed
def welcome(token: str) -> Response:
    """Let a person with a one-time link choose a name and a password."""
    try:
        link = open_link(site().database, token)
    except LinkRefused as error:
        return page("error.html", 410, title="This link can't be used", why=str(error), code=410)
    form = Form({"name": link.user or "", "full_name": "", "email": "", "zone": "UTC"})
    if form.is_sent:
        password = request.form.get("password", "")
        form.values.pop("password", None)
        form.values.pop("repeated", None)
        if password != request.form.get("repeated", ""):
            form.values["password"] = ""
            form.add("password", "the two passwords differ; type the same one twice")
        elif (login := _accepted(form, token, link.user, password)) is not None:
            return entered(login, "/")
    return page("welcome.html", form=form, link=link)


def entered(login: Login, target: str) -> Response:
    """Return the answer that gives the browser its session."""
    answer = redirect(target, 303)
    now = site().database.clock()
    answer.set_cookie(
        SESSION_COOKIE,
        login.cookie,
        max_age=max(0, (login.expires - now) // 1_000_000),
        httponly=True,
        samesite="Lax",
        **_cookie_place(),
    )
    return answer


def _accepted(form: Form, token: str, user: str | None, password: str) -> Login | None:
    sent: dict[str, Any] = {
        "address": request.remote_addr or "",
        "browser": request.headers.get("User-Agent", "")[:500],
    }
    database = site().database
    form.values["password"] = ""  # so that problems of the password have their place
    if user is not None:
        try:
            return set_password(database, token, password, **sent)
        except UseCaseError as error:
            form.take(error)
            return None
    values = {name: request.form.get(name, "") for name in ("name", "full_name", "email", "zone")}
    return form.run(
        lambda given: accept_invitation(database, token, given, **sent),
        Acceptance,
        lambda _: {**values, "password": password},
    )


def _cookie_place() -> dict[str, Any]:
    return {"path": "/", "secure": request.is_secure}


@BLUEPRINT.get("/favicon.ico", endpoint="icon")
@login_is_not_needed
def icon() -> Response:
    """Answer old browsers, which ask for this name."""
    abort(404)
