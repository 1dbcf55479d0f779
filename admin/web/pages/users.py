"""These pages show users; administrators invite and deactivate them."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, request, url_for
from werkzeug.wrappers import Response

from admin.models.people_tables import Role
from admin.models.transaction import Right
from admin.people import invitations, users
from admin.people.invitations import NewInvitation, OneTimeLink
from admin.web.forms import Form
from admin.web.page import done, needs, page, reading, transaction

BLUEPRINT: Final = Blueprint("users", __name__, url_prefix="/users")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="index")
@needs(Right.ADMINISTER)
def index() -> Response:
    """Show users and open invitations; make an invitation."""
    form = Form({"role": Role.CURATOR})
    link = None
    if form.is_sent:

        def make(given: NewInvitation) -> OneTimeLink:
            with transaction() as opened:
                return invitations.invite(opened, given)

        link = form.run(make, NewInvitation)
    return _page(form, link)


@BLUEPRINT.post("/<name>/<any(deactivate, activate, reset_password):action>", endpoint="act")
@needs(Right.ADMINISTER)
def act(name: str, action: str) -> Response:
    """Deactivate or activate a user, or make a link that sets the user's password."""
    with transaction() as opened:
        if action == "reset_password":
            link = invitations.reset_password(opened, name)
        elif action == "deactivate":
            users.deactivate_user(opened, name)
        else:
            users.activate_user(opened, name)
    if action == "reset_password":
        form = Form({"role": Role.CURATOR})
        return _page(form, link)
    return done(f"User {name} was {action}d.", "users.index")


def _page(form: Form, link: OneTimeLink | None) -> Response:
    with reading() as opened:
        found = users.list_users(opened, after=request.args.get("after", ""))
        waiting = invitations.list_invitations(opened)
    address = url_for("login.welcome", token=link.token, _external=True) if link is not None else ""
    return page(
        "users/index.html",
        422 if form.has_problems else 200,
        users=found,
        invitations=waiting,
        form=form,
        link=link,
        address=address,
        roles=list(Role),
    )
