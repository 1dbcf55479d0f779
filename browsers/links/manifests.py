"""This module finds the URLs in manifests: web app manifests (JSON) and playlists of HLS (RFC 8216). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final
from urllib.parse import urlsplit

from archive.json_text import parsed_object
from browsers.links.collector import LinkCollector

APP_TYPES: Final = frozenset({"application/manifest+json"})
PLAYLIST_TYPES: Final = frozenset(
    {"application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl"}
)
TYPES: Final = APP_TYPES | PLAYLIST_TYPES
MAX_ENTRIES: Final = 500
"""Largest number of entries of one list in a web app manifest."""
_APP_NAME: Final = re.compile(r"\.webmanifest$|(?:^|/)(?:[\w-]+[._-])?manifest\.json$", re.I)
_PLAYLIST_MARK: Final = "#EXTM3U"
_LINE: Final = re.compile(r"[^\r\n]+")
_URI: Final = re.compile(r'[:,]URI="([^"\r\n]*)"')


def has_app_name(url: str) -> bool:
    """Return whether the URL has a name of a web app manifest, whose type browsers don't look at."""
    return bool(_APP_NAME.search(urlsplit(url).path))


def is_playlist(text: str) -> bool:
    """Return whether the text is a playlist. Its first line says so."""
    return text.startswith(_PLAYLIST_MARK)


def collect_app(found: LinkCollector, text: str) -> None:
    """Add the icons, screenshots and shortcuts of a web app manifest, and its start page."""
    manifest = parsed_object(text)
    for name in ("icons", "screenshots"):
        _add_pictures(found, manifest, name, f"manifest/{name}")
    for shortcut in _entries(manifest, "shortcuts"):
        found.add(_text(shortcut, "url"), "L", "manifest/shortcuts")
        _add_pictures(found, shortcut, "icons", "manifest/shortcuts")
    found.add(_text(manifest, "start_url"), "L", "manifest/start_url")


def collect_playlist(found: LinkCollector, text: str) -> None:
    """Add the variants, segments, keys and further playlists that an HLS playlist names. All are parts of the page."""
    if not is_playlist(text):
        return
    for line in _LINE.finditer(text):
        if not line[0].startswith("#"):
            found.add(line[0].strip(), "E", "playlist/line")
        elif line[0].startswith("#EXT"):
            for uri in _URI.finditer(line[0]):
                found.add(uri[1], "E", "playlist/@URI")


def _add_pictures(found: LinkCollector, holder: dict[str, Any], name: str, context: str) -> None:
    for picture in _entries(holder, name):
        found.add(_text(picture, "src"), "E", context)


def _entries(holder: dict[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a list; a value of another type has none."""
    values = holder.get(name)
    if isinstance(values, list):
        yield from (each for each in islice(values, MAX_ENTRIES) if isinstance(each, dict))


def _text(holder: dict[str, Any], name: str) -> str | None:
    value = holder.get(name)
    return value if isinstance(value, str) else None
