"""The Flask application of the viewer puts the pages together and protects them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from flask import Flask, Response, request
from markupsafe import Markup, escape
from werkzeug.exceptions import HTTPException
from werkzeug.sansio.response import Response as AnyResponse

from admin.models.errors import DatabaseRefused, InvalidInput, NotFound, UseCaseError
from admin.units import counted
from admin.viewing import pages, player_pages
from admin.viewing.page import EXTENSION, Viewing, page
from admin.viewing.page_catalogue import END_MARK, START_MARK
from archive.access_rules import AccessRuleError
from archive.dates import Micros, iso_second
from archive.version import version

log = logging.getLogger(__name__)

PAGE_POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src 'self'; img-src 'self';"
    " script-src 'self'; frame-src 'self'"
)
_TITLES: Final = {
    403: "You may not see this",
    404: "There is no such page",
    405: "This can't be done here",
    409: "This can't be shown",
    422: "The request can't be used",
    451: "This page is blocked",
    500: "The viewer has failed",
    503: "The archive can't be read",
}


def create_app(viewing: Viewing) -> Flask:
    """Return the application."""
    app = Flask("ghostfleet-view", root_path=str(Path(__file__).parent))
    app.config.update(SEND_FILE_MAX_AGE_DEFAULT=3600, TEMPLATES_AUTO_RELOAD=False)
    app.extensions[EXTENSION] = viewing
    app.register_blueprint(pages.BLUEPRINT)
    app.register_blueprint(player_pages.BLUEPRINT)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(UseCaseError, _use_case_error)
    app.register_error_handler(DatabaseRefused, _use_case_error)
    app.register_error_handler(AccessRuleError, _rules_error)
    app.after_request(_add_headers)
    app.context_processor(lambda: {"version": version()})
    app.jinja_env.filters.update(moment=_moment, marked=_marked, count=lambda number: f"{number:,}")
    app.jinja_env.filters["captures"] = lambda number: counted(number, "capture")
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    return app


def _add_headers(response: Response) -> Response:
    response.headers.setdefault("Content-Security-Policy", PAGE_POLICY)
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    if request.endpoint != "static":
        response.headers.setdefault("Cache-Control", "no-store")
    return response


def _http_error(error: HTTPException) -> AnyResponse:
    if error.response is not None:
        return error.response
    return _error_page(error.code or 500, error.description or error.name)


def _use_case_error(error: UseCaseError | DatabaseRefused) -> AnyResponse:
    codes: dict[type[Exception], int] = {NotFound: 404, InvalidInput: 422, DatabaseRefused: 503}
    return _error_page(next((code for kind, code in codes.items() if isinstance(error, kind)), 409), str(error))


def _rules_error(error: AccessRuleError) -> AnyResponse:
    log.error("%s", error)
    return _error_page(503, "the access rules of the collection can't be read, so nothing of it is shown")


def _error_page(code: int, why: str) -> AnyResponse:
    return page("error.html", code, title=_TITLES.get(code, "This did not work"), why=why)


def _moment(date: Micros | None) -> str:
    """Return a moment for people, in UTC."""
    return "" if date is None else iso_second(date).replace("T", " ").removesuffix("Z")


def _marked(snippet: str) -> Markup:
    """Return a snippet, escaped, with the found words marked."""
    return Markup(
        str(escape(snippet)).replace(START_MARK, "<mark>").replace(END_MARK, "</mark>")
    )  # the text is escaped, and the two marks are replaced after that
