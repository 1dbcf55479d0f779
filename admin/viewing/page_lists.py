"""Imported WACZ packages bring lists of pages, which stand in the folder `pages` of their collection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from admin.collections.transfer.importing import PAGES_FOLDER
from admin.fleet.home_folder import collections
from archive.settings.load import Settings
from archive.wacz.pages import ArchivedPage
from archive.wacz.reader import read_pages


@dataclass(frozen=True, slots=True)
class PageList:
    """A page list is one list of pages of a collection."""

    collection: str
    path: Path
    version: int
    """The time of the last change in nanoseconds: a list that was written again is read again."""

    @property
    def name(self) -> str:
        """Return what names the list beside the WARC files of its collection."""
        return f"{PAGES_FOLDER}/{self.path.name}"

    def pages(self) -> Iterator[ArchivedPage]:
        """Yield the pages; what is no page is left out. Raises OSError when the file can't be opened."""
        with self.path.open("rb") as lines:
            yield from read_pages(lines)


def page_lists(settings: Settings) -> list[PageList]:
    """Return the lists of all collections of the home, by name."""
    found = []
    for name in collections(settings):
        for path in sorted((settings.collection(name) / PAGES_FOLDER).glob("*.jsonl")):
            try:
                found.append(PageList(name, path, path.stat().st_mtime_ns))
            except OSError:
                continue  # the list was removed after it was found
    return found
