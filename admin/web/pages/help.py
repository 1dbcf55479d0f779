"""The page shows the operations of the REST API by its OpenAPI document, with Swagger UI."""

from __future__ import annotations

from typing import Final

from flask import Blueprint
from werkzeug.wrappers import Response

from admin.models.transaction import Right
from admin.web.page import needs, page

BLUEPRINT: Final = Blueprint("help", __name__)


@BLUEPRINT.get("/api", endpoint="api")
@needs(Right.READ)
def api() -> Response:
    """Show the operations of the API, and try them out with the own session."""
    return page("help/api.html")
