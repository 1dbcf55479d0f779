"""The lists of pages of a package: one JSON object for each page, below a head. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from archive.dates import Micros, iso_date
from archive.json_text import compact_json

PAGES: Final = "pages/pages.jsonl"
"""The pages that a reader begins with: the seeds."""
EXTRA_PAGES: Final = "pages/extraPages.jsonl"
"""All other pages."""


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A page is a URL that a crawl or a person visited, at a time."""

    id: str
    url: str
    date: Micros
    title: str = ""
    mime: str = ""
    status: int | None = None
    depth: int | None = None
    """How many links lie between the seed and the page; None when nobody noted it."""
    is_seed: bool = False
    text: str = ""

    def line(self) -> str:
        """Return the page's line of a list, with a line end."""
        said: dict[str, object] = {"id": self.id, "url": self.url, "title": self.title, "ts": milliseconds(self.date)}
        known = {"mime": self.mime, "status": self.status, "depth": self.depth, "text": self.text}
        said |= {name: value for name, value in known.items() if value not in ("", None)}
        if self.is_seed:
            said["seed"] = True
        return f"{compact_json(said)}\n"


def head(title: str, *, is_main: bool, has_text: bool) -> str:
    """Return the first line of a list, with a line end."""
    name = "pages" if is_main else "extra-pages"
    return f"{compact_json({'format': 'json-pages-1.0', 'id': name, 'title': title, 'hasText': has_text})}\n"


def milliseconds(date: Micros) -> str:
    """Return a moment as players write it, such as 2026-11-21T08:15:00.123Z."""
    return f"{iso_date(date)[:-4]}Z"
