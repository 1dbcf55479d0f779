"""The Flask application serves pages and API, and protects both in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, Any, Final, cast

from flask import Blueprint, Flask, Request, current_app, g, request
from flask.sessions import SecureCookieSessionInterface
from flask_wtf.csrf import CSRFError, CSRFProtect
from werkzeug.exceptions import HTTPException
from werkzeug.sansio.response import Response

from admin.collections.tasks.task_folder import upload_draft
from admin.models.errors import DatabaseRefused, EditConflict, Forbidden, NotFound, UseCaseError
from admin.models.recent_readings import RecentReadings
from admin.web import elements, formats
from admin.web.page import EXTENSION, RECENT, Site, navigation, page, require_login, takes_large_files
from admin.web.security import protect, secret_key
from archive.listener_access import HostNames
from archive.settings.load import Settings
from archive.version import version

_RETRY_SECONDS: Final = 10
"""A program that got no answer since the database was away may ask again after this time."""
MAX_FORM_BYTES: Final = 32 * 1024 * 1024
"""Bytes of a form, uploads included; longer uploads go by the API or the command line."""


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
    409: "Somebody else changed it",
    413: "The upload is too large",
    421: "This is not the address of the site",
    500: "The site has failed",
    503: "The database can't be used",
}


class _FormCookies(SecureCookieSessionInterface):
    """The cookie of forms is Secure where the browser speaks TLS."""

    def get_cookie_secure(self, app: Flask) -> bool:
        """Return whether the present request came by TLS."""
        return request.is_secure


def create_app(site: Site, names: HostNames, blueprints: Iterable[Blueprint], api: Api | None = None) -> Flask:
    """Return the application. It answers these names in the Host header; `site.settings.home` holds its key."""
    app = Flask(__name__)
    app.session_interface = _FormCookies()
    app.request_class = _Request
    app.teardown_request(_close_uploads)
    app.config.update(
        SECRET_KEY=secret_key(site.settings.home),
        MAX_CONTENT_LENGTH=MAX_FORM_BYTES,
        MAX_FORM_MEMORY_SIZE=MAX_FORM_BYTES,
        MAX_FORM_PARTS=20_000,
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
    app.before_request(_allow_long_uploads)  # before the form is read for its token
    csrf = CSRFProtect(app)  # after the visitor is known, to whose session forms belong
    for blueprint in blueprints:
        app.register_blueprint(blueprint)
    if api is not None:
        csrf.exempt(api.blueprint)  # the API's own check asks for the token when a session is used
        app.register_blueprint(api.blueprint)
    _add_errors(app, api)
    app.context_processor(_context)
    app.jinja_env.globals.update(
        {
            name: getattr(formats, name)
            for name in ("plural", "duration_text", "unicode_domain", "date_iso", "compared_text")
        },
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


class _Request(Request):
    """A form whose view takes large files has them in the home, not in the folder for temporary files."""

    def _get_file_stream(
        self,
        total_content_length: int | None,
        content_type: str | None,
        filename: str | None = None,
        content_length: int | None = None,
    ) -> IO[bytes]:
        if takes_large_files():
            return g.uploads.enter_context(upload_draft(_settings()))  # type: ignore[no-any-return]
        return super()._get_file_stream(total_content_length, content_type, filename, content_length)


def _allow_long_uploads() -> None:
    """Let the form of people who may send large files be as large as the settings say."""
    if takes_large_files() and request.method == "POST":
        g.uploads = ExitStack()
        request.max_content_length = _settings().admin.upload_max_bytes + MAX_FORM_BYTES


def _close_uploads(_error: BaseException | None) -> None:
    if (uploads := g.pop("uploads", None)) is not None:
        uploads.close()


def _settings() -> Settings:
    return cast(Site, current_app.extensions[EXTENSION]).settings


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
        return _error_page(400, "the form was too old, or did not come from this site; load its page again and repeat")

    def use_case_error(error: UseCaseError | DatabaseRefused) -> Response:
        if api is not None and request.path.startswith(f"{api.blueprint.url_prefix}/"):
            return api.refusal_answer(error)
        codes: dict[type[Exception], int] = {NotFound: 404, Forbidden: 403, EditConflict: 409, DatabaseRefused: 503}
        return _error_page(next((code for kind, code in codes.items() if isinstance(error, kind)), 409), str(error))

    app.register_error_handler(HTTPException, http_error)
    app.register_error_handler(CSRFError, csrf_error)
    app.register_error_handler(UseCaseError, use_case_error)
    app.register_error_handler(DatabaseRefused, use_case_error)


def _error_page(code: int, why: str) -> Response:
    answer = page("error.html", code, title=_TITLES.get(code, "This did not work"), why=why, code=code)
    if code == HTTPStatus.SERVICE_UNAVAILABLE:
        answer.headers["Retry-After"] = str(_RETRY_SECONDS)
    return answer
