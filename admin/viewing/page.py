"""Every page of the viewer uses these functions: they tell what the sender may see, and fill the template."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Response, abort, current_app, render_template

from admin.collections.browsing.index import index_if_any
from admin.models.database import Database
from admin.viewing.origins import Origins
from admin.viewing.page_catalogue import PageCatalogue
from admin.viewing.readable import ReaderAccess
from archive.names.name_rules import NAME_PATTERN
from archive.settings.load import Settings

EXTENSION: Final = "ghostfleet-view"
LONGEST_URL: Final = 9_000
_REFRESH_SECONDS: Final = 0.5
_ADDRESS: Final = re.compile(
    r"(?:https?://[^\s/]+|(?:[\w-]+\.)+[^\W\d_][\w-]{1,62}(?::[0-9]{1,5})?(?=[/?#*]|$))\S*", re.I
)


@dataclass(frozen=True, slots=True)
class Viewing:
    """The pages of one viewer share these objects."""

    settings: Settings
    database: Database
    """The database gives the settings to use cases by its transactions; the viewer reads nothing from it."""
    catalogue: PageCatalogue
    access: ReaderAccess
    only: Callable[[], str | None]
    """Returns the one collection that the sender of the present request may see; None for all."""
    origins: Origins
    root_of_frame: Callable[[str, str], str]
    """Returns how paths on the host name of a collection begin, for a page whose paths begin with a root."""


def viewing() -> Viewing:
    """Return what the pages share."""
    found = current_app.extensions[EXTENSION]
    assert isinstance(found, Viewing)
    return found


def page(template: str, status: int = 200, **values: Any) -> Response:
    """Return the page that the template makes of these values."""
    return Response(render_template(template, **values), status, content_type="text/html; charset=utf-8")


def check_collection(name: str) -> None:
    """Refuse the request (404) for a collection that is not there, and (403) for one that its ticket does not name."""
    if not re.fullmatch(NAME_PATTERN, name):
        abort(404, "there is no such collection")
    if viewing().only() not in (None, name):
        abort(403, "this link is for another collection")


def refresh_catalogue() -> bool:
    """Read new records for half a second. Return whether all have been read."""
    with index_if_any(viewing().settings) as index:
        return index is None or viewing().catalogue.refresh(index, _REFRESH_SECONDS)


def address_in(text: str) -> str | None:
    """Return the URL that a person typed, with its scheme; None for words to search for."""
    if len(text) > LONGEST_URL or not _ADDRESS.fullmatch(text):
        return None
    found = text if "://" in text else f"http://{text}"
    try:
        return found if urlsplit(found).hostname else None
    except ValueError:
        return None
