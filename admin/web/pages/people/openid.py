"""These pages send the browser of a person to an OpenID Connect provider, and take it back with a code.

A signed cookie keeps the challenge of this browser meanwhile. It is sent to these pages alone, and works once: it is
removed when the browser comes back, and the provider gives no second token for a code.
"""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import Any, Final

from flask import Blueprint, current_app, redirect, request, url_for
from itsdangerous import BadData, URLSafeTimedSerializer
from werkzeug.wrappers import Response

from admin.models.errors import UseCaseError
from admin.models.transaction import Right
from admin.people.openid import CHALLENGE_SECONDS, Challenge, OpenIdRefused, Provider, ProviderIdentity
from admin.people.openid_login import link_identity, log_in_by_openid
from admin.web.forms.form import Form
from admin.web.page import SESSION_COOKIE, carry_out, done, login_is_not_needed, needs, page, site, visitor
from admin.web.pages.people.login import entered
from admin.web.security import asked_target, safe_target

BLUEPRINT: Final = Blueprint("openid", __name__, url_prefix="/login/openid")
COOKIE: Final = "ghostfleet_openid"
_EXTENSION: Final = "ghostfleet_openid_provider"
_LONGEST_TARGET: Final = 1_000
_making = threading.Lock()


@BLUEPRINT.get("", endpoint="begin")
@login_is_not_needed
def begin() -> Response:
    """Send the browser to the provider."""
    return _leave({"next": asked_target()[:_LONGEST_TARGET]})


@BLUEPRINT.post("/link", endpoint="link")
@needs(Right.READ)
def link() -> Response:
    """Show the link to the provider, by which the person who is logged in adds an identity to the own user."""
    return _leave({"user": visitor().actor.user_id}, is_form=True)


@BLUEPRINT.get("/back", endpoint="back")
@login_is_not_needed
def back() -> Response:
    """Log in the person for whom the provider vouches, or link the identity to the user who asked for it."""
    try:
        kept = _kept(request.cookies.get(COOKIE, ""))
        challenge = Challenge(**kept["challenge"])
        parameters = {name: request.args[name] for name in request.args}
        identity = _provider().finish(challenge, _address(), parameters, site().database.clock())
        answer = _linked(identity, kept["user"]) if "user" in kept else _logged_in(identity, kept["next"])
    except UseCaseError as error:
        form = Form({"name": ""})
        form.whole.append(str(error))
        answer = page("login.html", 401, form=form, target="/")
    answer.delete_cookie(COOKIE, path=BLUEPRINT.url_prefix or "/")
    return answer


def _logged_in(identity: ProviderIdentity, target: str) -> Response:
    login = log_in_by_openid(
        site().database,
        identity,
        address=request.remote_addr or "",
        browser=request.headers.get("User-Agent", "")[:500],
        former_cookie=request.cookies.get(SESSION_COOKIE, ""),
    )
    return entered(login, safe_target(target, "/"))


def _linked(identity: ProviderIdentity, user_id: int) -> Response:
    found = site().find_visitor()
    if found is None or found.actor.user_id != user_id:
        raise OpenIdRefused("you are logged in as another user now; begin again at your profile")
    carry_out(link_identity, identity)
    return done("You can log in by the provider now.", "profile.show")


def _leave(kept: dict[str, Any], *, is_form: bool = False) -> Response:
    """Return the answer that leads to the provider. Browsers follow no redirect from a form to another site, because
    of the policy `form-action`; after a form, the page has a link instead.
    """
    try:
        url, challenge = _provider().begin(_address(), site().database.clock())
    except UseCaseError as error:
        form = Form({"name": ""})
        form.whole.append(str(error))
        return page("login.html", 503, form=form, target=kept.get("next", "/"))
    answer = page("profile/leave.html", url=url) if is_form else redirect(url, 303)
    answer.set_cookie(
        COOKIE,
        _serializer().dumps({**kept, "challenge": asdict(challenge)}),
        max_age=CHALLENGE_SECONDS,
        path=BLUEPRINT.url_prefix or "/",
        httponly=True,
        samesite="Lax",  # the browser comes back by a link from another site
        secure=request.is_secure,
    )
    return answer


def _kept(cookie: str) -> dict[str, Any]:
    """Return what `_leave` kept. Raises OpenIdRefused."""
    try:
        found: dict[str, Any] = _serializer().loads(cookie, max_age=CHALLENGE_SECONDS)
    except BadData as error:
        raise OpenIdRefused("this login was not begun in this browser, or took too long; log in again") from error
    return found


def _serializer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(current_app.config["SECRET_KEY"], salt=COOKIE)


def _provider() -> Provider:
    """Return the provider of this application, which keeps the provider's documents. Raises OpenIdRefused."""
    with _making:
        found = current_app.extensions.get(_EXTENSION)
        if found is None:
            found = current_app.extensions[_EXTENSION] = Provider(site().settings.people)
    assert isinstance(found, Provider)
    return found


def _address() -> str:
    """Return the address to which the provider sends the browser back. The Host header was checked before."""
    return url_for("openid.back", _external=True)
