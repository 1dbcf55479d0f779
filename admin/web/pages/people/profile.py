"""Everybody sees and changes the own name, address and time zone here, the password, and the own sessions."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.models.errors import InvalidInput, Problem, UseCaseError
from admin.models.transaction import Right
from admin.people import sessions
from admin.people.openid_login import unlink_identity
from admin.people.profile import ProfileChange, change_password, change_profile, show_profile
from admin.people.users import UserView
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, saving, site, transaction, visitor
from admin.web.pages.people.login import entered

BLUEPRINT: Final = Blueprint("profile", __name__, url_prefix="/profile")
_PASSWORDS: Final = ("present", "password", "repeated")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="show")
@needs(Right.READ)
def show() -> Response:
    """Show the own profile, and change it."""
    found = read(show_profile)
    form = Form(_values(found))
    if form.is_saved_by(saving(change_profile), ProfileChange, present=lambda: _values(read(show_profile))):
        return done("Your profile was saved.", "profile.show")
    status = 422 if form.has_problems else 200
    return page("profile/show.html", status, user=found, form=form)


@BLUEPRINT.route("/password", methods=["GET", "POST"], endpoint="password")
@needs(Right.READ)
def password() -> Response:
    """Change the own password, for which the present one is needed. All other sessions end."""
    form = Form(dict.fromkeys(_PASSWORDS, ""))
    if form.is_sent:
        try:
            if request.form.get("password", "") != request.form.get("repeated", ""):
                raise InvalidInput(Problem("password", "the two passwords differ; type the same one twice"))
            login = change_password(
                site().database,
                visitor().actor,
                request.form.get("present", "")[:2000],
                request.form.get("password", "")[:2000],
                browser=request.headers.get("User-Agent", "")[:500],
            )
        except UseCaseError as error:
            form.take(error)
        else:
            return entered(login, "/profile")
    form.values.update(dict.fromkeys(_PASSWORDS, ""))  # what was typed must not stand in a page
    status = 422 if form.has_problems else 200
    least = site().settings.people.password_min_length
    return page("profile/password.html", status, form=form, least=least)


@BLUEPRINT.get("/sessions", endpoint="sessions")
@needs(Right.READ)
def list_sessions() -> Response:
    """Show the own sessions, the last used one first."""
    found = read(sessions.list_sessions)
    return page("profile/sessions.html", sessions=found, own=visitor().session_id)


@BLUEPRINT.post("/sessions/<id>/end", endpoint="end_session")
@needs(Right.READ)
def end_session(id: str) -> Response:
    """End one of the own sessions."""
    carry_out(sessions.end_session, id)
    return done("The session was ended.", "profile.sessions")


@BLUEPRINT.post("/sessions/end-others", endpoint="end_others")
@needs(Right.READ)
def end_others() -> Response:
    """End all own sessions but the present one."""
    with transaction() as opened:
        others = [each.id for each in sessions.list_sessions(opened).items if each.id != visitor().session_id]
        for each in others:
            sessions.end_session(opened, each)
    return done(f"{len(others)} other sessions were ended.", "profile.sessions")


@BLUEPRINT.post("/unlink", endpoint="unlink")
@needs(Right.READ)
def unlink() -> Response:
    """Let the person no longer log in by OpenID Connect."""
    carry_out(unlink_identity)
    return done("You no longer log in by the provider.", "profile.show")


def _values(found: UserView) -> dict[str, Any]:
    return found.model_dump(include={"full_name", "email", "zone", "edition"})
