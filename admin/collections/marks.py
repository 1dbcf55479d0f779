"""An unfinished deletion or renaming has a mark in the home, so that other commands see it and the same one resumes it.

The folder of a collection is called `.NAME.deleting` while the collection is being deleted. A collection that is being
renamed has a file `.renaming` in its folder with both names; the file is written first and removed last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archive.files import replacement
from archive.settings.load import Settings

_DELETING: Final = ".deleting"
RENAMING_FILE: Final = ".renaming"


@dataclass(frozen=True, slots=True)
class Renaming:
    """A renaming that has begun and is not complete."""

    old: str
    new: str


def deleting_folder(settings: Settings, name: str) -> Path:
    """Return the path of a collection's folder while the collection is being deleted."""
    return settings.home / "collections" / f".{name}{_DELETING}"


def unfinished_deletions(settings: Settings) -> list[str]:
    """Return the names of the collections that are only partly deleted, sorted."""
    folder = settings.home / "collections"
    found = folder.glob(f".*{_DELETING}") if folder.is_dir() else ()
    return sorted(path.name[1:].removesuffix(_DELETING) for path in found if path.is_dir())


def unfinished_renaming(folder: Path) -> Renaming | None:
    """Return the unfinished renaming of the collection in this folder; None without one."""
    try:
        found = json.loads((folder / RENAMING_FILE).read_text("utf-8"))
        return Renaming(str(found["from"]), str(found["to"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, NotADirectoryError):
        return None


def mark_renaming(folder: Path, change: Renaming) -> None:
    """Write the file that marks a renaming, durably."""
    with replacement(folder / RENAMING_FILE) as file:
        file.write(json.dumps({"from": change.old, "to": change.new}).encode())
