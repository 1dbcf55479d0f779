"""The pictures of a judgement lie in the folder `qa` of the collection: the replay, and where it differs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from archive.settings.load import Settings

NAMES: Final = re.compile(r"(?:view|full-page)(?:-difference)?\.png")
"""`view.png` and `full-page.png` are the replay; the capture's pictures are records of the collection."""

TEXT_NAME: Final = "text.txt"
"""The text of the page in replay; the capture's text is a record of the collection."""


def page_folder(settings: Settings, collection: str, session: int, page: int) -> Path:
    """Return the folder for the pictures of one page of a session."""
    return session_folder(settings, collection, session) / str(page)


def session_folder(settings: Settings, collection: str, session: int) -> Path:
    """Return the folder for the pictures of a session."""
    return settings.collection(collection) / "qa" / str(session)
