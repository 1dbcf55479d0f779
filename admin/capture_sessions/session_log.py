"""Read from the log of the recording proxy what a capture session has kept, and which pages were opened.

The proxy writes a line when the records of an exchange are on disk. So a process that was killed loses nothing: the
next one reads the log again from its beginning, and comes to the same counts and pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from admin.jobs.progress.tally import LogFollower, is_novel, size_of
from archive.crawl_log import BLOCKED_BY_RULE, FILE_NAME, NAVIGATION, SHOWS_SECRET, LogLine
from archive.dates import Micros
from archive.rotated_log import open_log

_NOT_KEPT: Final = frozenset(("notKept", "notArchived"))
_REDIRECT: Final = range(300, 400)
_MOST_LINES: Final = 20_000
"""Lines that are read at once, so that the heartbeat of a process goes on while a long log is read."""
MOST_PAGES: Final = 100_000
"""Pages of a session that are listed; the records of all others are kept as well."""
_DOCUMENTS: Final = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain", "image/svg+xml")
LAST_SHOWN: Final = 30
_MOST_SHOWING: Final = 100
"""URLs of responses with a typed secret that are listed."""


@dataclass(frozen=True, slots=True)
class OpenedPage:
    """A person opened this page."""

    url: str
    mime: str
    captured: Micros


@dataclass(frozen=True, slots=True)
class KeptUrl:
    """The collection has the response to a request, or there was none."""

    url: str
    code: int
    mime: str
    is_novel: bool
    size: int
    at: Micros


class SessionLog:
    """The log of one capture session, which grows."""

    def __init__(self, folder: Path) -> None:
        self._follower = LogFollower(folder / FILE_NAME)
        self.urls = self.novel = self.known = self.failed = self.bytes = self.pages = 0
        self.is_behind = False
        """The log has more lines than were read at once."""
        self.last_kept: Micros | None = None
        self.last: list[KeptUrl] = []
        """The newest exchanges, the oldest first."""
        self.shown_secrets: dict[str, None] = {}
        """The URLs whose responses show a secret that was typed, in the order of the log."""

    def read(self) -> Iterator[OpenedPage]:
        """Count new lines, at most some thousand of them, and yield the pages that were opened."""
        self.is_behind = False
        for number, line in enumerate(self._follower.lines(), 1):
            if page := self._count(line):
                self.pages += 1
                if self.pages <= MOST_PAGES:
                    yield page
            if number >= _MOST_LINES:
                self.is_behind = True
                return

    def _count(self, line: LogLine) -> OpenedPage | None:
        if not line.url.startswith(("http:", "https:")):
            return None
        if line.code == BLOCKED_BY_RULE:
            return None
        if line.code <= 0:
            self.failed += 1
            self._note(line, is_new=False)
            return None
        if not _NOT_KEPT.isdisjoint(line.annotations):
            return None
        is_new = is_novel(line)
        self.urls += 1
        self.novel += is_new
        self.known += not is_new
        self.bytes += size_of(line)
        self.last_kept = line.time
        if SHOWS_SECRET in line.annotations and len(self.shown_secrets) < _MOST_SHOWING:
            self.shown_secrets[line.url] = None
        self._note(line, is_new=is_new)
        if NAVIGATION not in line.annotations or line.code in _REDIRECT or not line.mime.startswith(_DOCUMENTS):
            return None
        return OpenedPage(line.url, line.mime, line.started or line.time)

    def _note(self, line: LogLine, *, is_new: bool) -> None:
        self.last.append(KeptUrl(line.url, line.code, line.mime, is_new, size_of(line), line.time))
        del self.last[:-LAST_SHOWN]


def last_kept_urls(folder: Path, most_bytes: int = 60_000) -> list[KeptUrl]:
    """Return the newest exchanges of a session's log, the newest first. Only the end of the log is read."""
    from archive import crawl_log

    path = folder / FILE_NAME
    try:
        with open_log(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - most_bytes))
            lines = file.read().split(b"\n")
    except OSError:
        return []
    if size > most_bytes:
        del lines[0]  # its beginning was cut off
    found = []
    for raw in lines[-LAST_SHOWN - 1 :]:
        try:
            line = crawl_log.parse(raw.decode("utf-8", "replace"))
        except ValueError:
            continue
        if _NOT_KEPT.isdisjoint(line.annotations) and line.code != BLOCKED_BY_RULE:
            found.append(KeptUrl(line.url, line.code, line.mime, is_novel(line), size_of(line), line.time))
    return found[::-1][:LAST_SHOWN]
