"""Readers of the viewer meet URLs that the archive lacks. With `view.collect_misses`, these URLs are counted.

Each collection has a file for each day. A file names URLs, the archived pages that asked for them, and how often they
were asked for. A file says nothing about readers: neither who asked nor when on that day. URLs with a query are not
collected, since a reader may have typed a part of one.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from archive.dates import iso_date, now_micros
from archive.file_lock import locked_folder
from archive.files import make_folder, replacement
from archive.settings.load import Settings

KEPT_DAYS: Final = 30
_DAY: Final = 86_400_000_000
_MOST_COLLECTIONS: Final = 200
_LONGEST: Final = 2_000
_LONGEST_FILE: Final = 64_000_000
_DAY_FILE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.json")


@dataclass(frozen=True, slots=True)
class ReaderMiss:
    """Readers asked for a URL that the archive lacks."""

    url: str
    page: str
    """The archived page that asks for the URL; empty when the URL is a page itself."""
    times: int
    last_day: str
    """The newest day on which a reader asked, such as 2026-11-27."""


class MissCollector:
    """The collector counts what readers miss in memory, and adds the counts to the files when `flush` is called.

    `note` and `flush` may be called from different threads.
    """

    def __init__(self, settings: Settings) -> None:
        """Read nothing and write nothing yet."""
        self._settings = settings
        self._most = settings.view.misses_per_day
        self._lock = threading.Lock()
        self._counts: dict[str, dict[str, ReaderMiss]] = {}

    def note(self, collection: str, url: str, page: str) -> None:
        """Count a URL that the archive lacks and that `page` asks for, if the setting and the limits allow it."""
        url = url.partition("#")[0]
        if not self._settings.view.collect_misses or not is_collectable(url):
            return
        page = page.partition("#")[0]
        with self._lock:
            if collection not in self._counts and len(self._counts) >= _MOST_COLLECTIONS:
                return
            _add(self._counts.setdefault(collection, {}), ReaderMiss(url, _asking(page, url), 1, _today()), self._most)

    def flush(self) -> None:
        """Add the counts to the files of today. Raises OSError; all counts that are not written yet are lost then."""
        with self._lock:
            counts, self._counts = self._counts, {}
        for collection, misses in counts.items():
            if self._settings.collection(collection).is_dir():
                self._write(_folder(self._settings, collection), misses)

    def _write(self, folder: Path, misses: Mapping[str, ReaderMiss]) -> None:
        make_folder(folder)
        with locked_folder(folder):
            for day in {miss.last_day for miss in misses.values()}:
                known = _read(folder / f"{day}.json", day)
                for miss in misses.values():
                    if miss.last_day == day:
                        _add(known, miss, self._most)
                rows = {miss.url: [miss.times, miss.page] for miss in known.values()}
                with replacement(folder / f"{day}.json", durable=False, mode=0o600) as file:
                    file.write(json.dumps(rows, ensure_ascii=False).encode("utf-8", "replace"))
            for old in _days(folder):
                if old.stem < _first_kept():
                    old.unlink(missing_ok=True)


def read_misses(settings: Settings, collection: str) -> list[ReaderMiss]:
    """Return what readers of the collection missed on the last days, the URLs that were asked for most often first."""
    found: dict[str, ReaderMiss] = {}
    for path in _days(_folder(settings, collection)):
        for miss in _read(path, path.stem).values() if path.stem >= _first_kept() else ():
            _add(found, miss, most=KEPT_DAYS * settings.view.misses_per_day)
    return sorted(found.values(), key=lambda miss: (-miss.times, miss.url))


def is_collectable(url: str) -> bool:
    """Return whether the URL may be collected: a web address of a bearable length, without a login and a query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "?" not in url and "@" not in parts.netloc and len(url) <= _LONGEST


def _asking(page: str, url: str) -> str:
    return page if page != url and is_collectable(page) else ""


def _add(misses: dict[str, ReaderMiss], miss: ReaderMiss, most: int) -> None:
    """Add a count to those of a URL. A further URL is left out when there are `most` already."""
    known = misses.get(miss.url)
    if known is not None:
        last = max(known.last_day, miss.last_day)
        misses[miss.url] = replace(known, page=known.page or miss.page, times=known.times + miss.times, last_day=last)
    elif len(misses) < most:
        misses[miss.url] = miss


def _read(path: Path, day: str) -> dict[str, ReaderMiss]:
    """Return the misses of a file; none when there is no file, or one that can't be read."""
    found: dict[str, ReaderMiss] = {}
    with suppress(OSError, ValueError, RecursionError):
        if path.stat().st_size > _LONGEST_FILE:
            return found
        rows = json.loads(path.read_bytes())
        for url, row in rows.items() if isinstance(rows, dict) else ():
            match row:
                case [int(times), str(page)] if times > 0 and is_collectable(url):
                    found[url] = ReaderMiss(url, _asking(page, url), times, day)
    return found


def _days(folder: Path) -> list[Path]:
    """Return the files of a collection, the oldest day first."""
    try:
        return sorted(path for path in folder.iterdir() if _DAY_FILE.fullmatch(path.name))
    except OSError:
        return []


def _folder(settings: Settings, collection: str) -> Path:
    return settings.collection(collection) / "qa" / "reader-misses"


def _today() -> str:
    return iso_date(now_micros())[:10]


def _first_kept() -> str:
    """Return the oldest day that is kept; today is the newest."""
    return iso_date(now_micros() - (KEPT_DAYS - 1) * _DAY)[:10]
