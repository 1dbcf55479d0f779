"""This page shows the settings in force, without their secrets."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint
from werkzeug.wrappers import Response

from admin.models.transaction import Right
from admin.web.page import needs, page, site
from archive.settings.values.redacted import shown

BLUEPRINT: Final = Blueprint("settings", __name__, url_prefix="/settings")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show each section with its settings."""
    settings = site().settings
    sections: dict[str, list[tuple[str, Any, str | None]]] = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        fields = getattr(type(value), "model_fields", None)
        if fields is None:
            sections.setdefault("", []).append(
                (name, shown(name, value), type(settings).model_fields[name].description)
            )
            continue
        sections[name] = [
            (key, shown(f"{name}.{key}", getattr(value, key)), info.description) for key, info in fields.items()
        ]
    return page("settings/index.html", sections=sections)
