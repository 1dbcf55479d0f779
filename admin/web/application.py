"""The Flask application serves pages and API, and protects both in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, cast

from flask import Blueprint, Flask, current_app, g, redirect, request
from flask.sessions import SecureCookieSessionInterface
from flask_wtf.csrf import CSRFError, CSRFProtect
from werkzeug.exceptions import HTTPException
from werkzeug.sansio.response import Response

from admin.models.errors import DatabaseRefused, EditConflict, Forbidden, InvalidInput, NotFound, UseCaseError
from admin.models.recent_readings import RecentReadings
from admin.web import elements, formats
from admin.web.body_limits import limit_forms
from admin.web.kept_forms import keep_sent_form
from admin.web.page import EXTENSION, RECENT, Site, navigation, page, require_login
from admin.web.security import protect, secret_key
from archive.dates import iso_second
from archive.listener_access import HostNames
from archive.version import version

_RETRY_SECONDS: Final = 10
"""A program that got no answer since the database was away may ask again after this time."""


@dataclass(frozen=True, slots=True)
class Api:
    """The application serves this API beside its pages."""

    blueprint: Blueprint
    error_answer: Callable[[HTTPException], Response]
    """Makes the answer for a path or a method that the API does not have."""
    refusal_answer: Callable[[Exception], Response]
    """Makes the answer for a refusal before the API's own views are reached, as when the database is away."""


_TITLES: Final = {
    400: "The request can't be used",
    403: "You may not do this",
    404: "There is no such page",
    405: "This can't be done here",
    413: "The upload is too large",
    421: "This is not the address of the site",
    422: "The input can't be used",
    500: "The site has failed",
    503: "The database can't be used",
}
_CODES: Final[dict[type[Exception], int]] = {InvalidInput: 422, NotFound: 404, Forbidden: 403, DatabaseRefused: 503}
"""The API answers with the same codes. Other refusals of use cases are 409."""


class _FormCookies(SecureCookieSessionInterface):
    """The cookie of forms is Secure where the browser speaks TLS."""

    def get_cookie_secure(self, app: Flask) -> bool:
        """Return whether the present request came by TLS."""
        return request.is_secure


def create_app(site: Site, names: HostNames, blueprints: Iterable[Blueprint], api: Api | None = None) -> Flask:
    """Return the application. It answers these names in the Host header; `site.settings.home` holds its key."""
    app = Flask(__name__)
    app.session_interface = _FormCookies()
    app.config.update(
        SECRET_KEY=secret_key(site.settings.home),
        SESSION_COOKIE_NAME="ghostfleet_form",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        WTF_CSRF_TIME_LIMIT=None,
        WTF_CSRF_SSL_STRICT=False,  # some browsers send no Referer; `protect` compares Origin instead
        SEND_FILE_MAX_AGE_DEFAULT=3600,
        TEMPLATES_AUTO_RELOAD=False,
    )
    app.extensions[EXTENSION] = site
    app.extensions[RECENT] = RecentReadings(site.database)
    protect(app, names)
    require_login(app)
    limit_forms(app)  # before the form is read for its token
    csrf = CSRFProtect(app)  # after the visitor is known, to whose session forms belong
    for blueprint in blueprints:
        app.register_blueprint(blueprint)
    if api is not None:
        csrf.exempt(api.blueprint)  # the API's own check asks for the token when a session is used
        app.register_blueprint(api.blueprint)
    _add_errors(app, api)
    app.context_processor(_context)
    app.jinja_env.globals.update(
        {name: getattr(formats, name) for name in ("plural", "duration_text", "unicode_domain", "compared_text")},
        iso_second=iso_second,
        NOTHING=formats.NOTHING,
        badge_element=elements.badge,
        time_element=elements.time_element(_zone, site.database.clock),
        options_of=lambda values: [(value, value) for value in values],
    )
    app.jinja_env.filters.update(
        date=lambda moment: formats.date_text(moment, _zone()),
        date_input=lambda moment: formats.date_input(moment, _zone()),
        ago=lambda moment: formats.ago_text(moment, site.database.clock()),
        count=formats.count_text,
        size=formats.size_text,
        limit=formats.limit_text,
        size_limit=formats.size_limit_text,
        duration=formats.duration_text,
        unicode_domain=formats.unicode_domain,
    )
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    return app


def _context() -> dict[str, Any]:
    return {
        "visitor": g.get("visitor"),
        "navigation": navigation(),
        "nonce": g.get("nonce", ""),
        "version": version(),
        "url_endpoints": current_app.view_functions,
        "provider": _provider_name(),
    }


def _provider_name() -> str:
    """Return what people call the OpenID Connect provider; empty when none is set."""
    people = cast(Site, current_app.extensions[EXTENSION]).settings.people
    return people.oidc_name if people.oidc_issuer and people.oidc_client_id else ""


def _zone() -> Any:
    visitor = g.get("visitor")
    return formats.zone_of("UTC") if visitor is None else visitor.zone


def _add_errors(app: Flask, api: Api | None) -> None:
    def http_error(error: HTTPException) -> Response:
        if api is not None and request.path.startswith(f"{api.blueprint.url_prefix}/"):
            return api.error_answer(error)
        if error.response is not None:  # a redirect
            return error.response
        return _error_page(error.code or 500, error.description or error.name)

    def csrf_error(error: CSRFError) -> Response:
        visitor = g.get("visitor")
        if visitor is not None and (target := keep_sent_form(visitor.actor.user_id)):
            return redirect(target, 303)  # the person has logged in again since the page of the form was loaded
        return _error_page(400, "the form was too old, or did not come from this site; load its page again and repeat")

    def use_case_error(error: UseCaseError | DatabaseRefused) -> Response:
        if api is not None and request.path.startswith(f"{api.blueprint.url_prefix}/"):
            return api.refusal_answer(error)
        code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), 409)
        return _error_page(code, str(error), "Somebody else changed it" if isinstance(error, EditConflict) else "")

    app.register_error_handler(HTTPException, http_error)
    app.register_error_handler(CSRFError, csrf_error)
    app.register_error_handler(UseCaseError, use_case_error)
    app.register_error_handler(DatabaseRefused, use_case_error)


def _error_page(code: int, why: str, title: str = "") -> Response:
    answer = page("error.html", code, title=title or _TITLES.get(code, "This did not work"), why=why, code=code)
    if code == HTTPStatus.SERVICE_UNAVAILABLE:
        answer.headers["Retry-After"] = str(_RETRY_SECONDS)
    return answer
