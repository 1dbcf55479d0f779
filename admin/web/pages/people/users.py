"""These pages show users; administrators invite and make them, change and deactivate them, and end their sessions."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request, url_for
from werkzeug.wrappers import Response

from admin.models.people_tables import Role
from admin.models.transaction import Right
from admin.people import api_tokens, invitations, users
from admin.people.invitations import NewInvitation, OneTimeLink
from admin.people.users import NewUser, UserChange, UserView
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, reading, saving, transaction

BLUEPRINT: Final = Blueprint("users", __name__, url_prefix="/users")
_NUMBER: Final = "<int(max=9223372036854775807):number>"
_DONE: Final = {
    "deactivate": "User {} was deactivated, and all sessions of the user ended.",
    "activate": "User {} was activated.",
    "release": "User {} may try to log in again at once.",
    "end_sessions": "All sessions of {} were ended.",
}
_ACTIVE: Final = {"yes": True, "no": False}


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="index")
@needs(Right.ADMINISTER)
def index() -> Response:
    """Show users and open invitations; make an invitation."""
    form = Form({"role": Role.CURATOR})
    link = None
    if form.is_sent:
        link = form.run(saving(invitations.invite), NewInvitation)
    return _list(form, link)


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@needs(Right.ADMINISTER)
def create() -> Response:
    """Make a user, and a link by which the person chooses a password."""
    form = Form({"name": "", "full_name": "", "email": "", "role": Role.READER, "zone": "UTC"})
    if form.is_sent and (link := form.run(saving(invitations.create_user), NewUser)) is not None:
        return _list(Form({"role": Role.CURATOR}), link)
    return page("users/new.html", 422 if form.has_problems else 200, form=form, roles=list(Role))


@BLUEPRINT.route("/<name>", methods=["GET", "POST"], endpoint="show")
@needs(Right.ADMINISTER)
def show(name: str) -> Response:
    """Show a user with sessions and tokens, and change the user."""
    found = read(users.show_user, name)
    form = Form(_values(found))
    if form.is_saved_by(
        saving(users.change_user, name), UserChange, present=lambda: _values(read(users.show_user, name))
    ):
        return done(f"User {found.name} was saved.", "users.show", name=found.name)
    return _user(form, found.name)


@BLUEPRINT.post("/<name>/<any(deactivate, activate, release, end_sessions, reset_password):action>", endpoint="act")
@needs(Right.ADMINISTER)
def act(name: str, action: str) -> Response:
    """Carry out an action on a user; `reset_password` shows the link once."""
    with transaction() as opened:
        match action:
            case "reset_password":
                link = invitations.reset_password(opened, name)
            case "deactivate":
                users.deactivate_user(opened, name)
            case "activate":
                users.activate_user(opened, name)
            case "release":
                users.release_user(opened, name)
            case _:
                users.end_user_sessions(opened, name)
    if action == "reset_password":
        return _list(Form({"role": Role.CURATOR}), link)
    return done(_DONE[action].format(name), "users.show", name=name)


@BLUEPRINT.post(f"/<name>/tokens/{_NUMBER}/revoke", endpoint="revoke_token")
@needs(Right.ADMINISTER)
def revoke_token(name: str, number: int) -> Response:
    """Revoke an API token of a user."""
    carry_out(api_tokens.revoke_user_token, name, number)
    return done("The token was revoked.", "users.show", name=name)


@BLUEPRINT.post(f"/invitations/{_NUMBER}/revoke", endpoint="revoke_invitation")
@needs(Right.ADMINISTER)
def revoke_invitation(number: int) -> Response:
    """Revoke a link that was not used."""
    carry_out(invitations.revoke_invitation, number)
    return done("The link was revoked.", "users.index")


def _values(found: UserView) -> dict[str, Any]:
    return found.model_dump(include={"full_name", "email", "zone", "role", "edition"})


def _user(form: Form, name: str) -> Response:
    with reading() as opened:
        found = users.show_user(opened, name)
        sessions = users.show_user_sessions(opened, name)
        tokens = api_tokens.list_user_tokens(opened, name)
    status = 422 if form.has_problems else 200
    return page("users/show.html", status, user=found, sessions=sessions, tokens=tokens, form=form, roles=list(Role))


def _list(form: Form, link: OneTimeLink | None) -> Response:
    given = {key: request.args.get(key, "").strip() for key in ("begins_with", "role", "active", "after")}
    with reading() as opened:
        found = users.list_users(
            opened,
            role=Role(given["role"]) if given["role"] in list(Role) else None,
            is_active=_ACTIVE.get(given["active"]),
            begins_with=given["begins_with"],
            after=given["after"],
        )
        waiting = invitations.list_invitations(opened)
    address = url_for("login.welcome", token=link.token, _external=True) if link is not None else ""
    return page(
        "users/index.html",
        422 if form.has_problems else 200,
        users=found,
        invitations=waiting,
        form=form,
        given=given,
        link=link,
        address=address,
        roles=list(Role),
    )
