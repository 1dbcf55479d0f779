"""Everybody makes and revokes the own API tokens here. The text of a token is shown once."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint
from werkzeug.wrappers import Response

from admin.models.people_tables import Role
from admin.models.transaction import RIGHTS, Right
from admin.people import api_tokens
from admin.people.api_tokens import NewApiToken
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, saving, visitor

BLUEPRINT: Final = Blueprint("tokens", __name__, url_prefix="/tokens")
_DAYS: Final = 365


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show the own tokens, and make another one."""
    form = Form({"name": "", "role": visitor().actor.role, "days": _DAYS})
    made = None
    if form.is_sent:
        made = form.run(saving(api_tokens.create_token), NewApiToken, _given)
        if made is not None:
            form.values["name"] = ""
    found = read(api_tokens.list_tokens)
    own = RIGHTS[visitor().actor.role]
    roles = [role for role in Role if RIGHTS[role] <= own]
    return page(
        "profile/tokens.html", 422 if form.has_problems else 200, tokens=found, form=form, made=made, roles=roles
    )


@BLUEPRINT.post("/<int(max=9223372036854775807):number>/revoke", endpoint="revoke")
@needs(Right.READ)
def revoke(number: int) -> Response:
    """Revoke one of the own tokens."""
    carry_out(api_tokens.revoke_token, number)
    return done("The token was revoked.", "profile.tokens.index")


def _given(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use case takes; no number of days is a token that works for ever."""
    return {**sent, "days": str(sent.get("days", "")).strip() or None}
