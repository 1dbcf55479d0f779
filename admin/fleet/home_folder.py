"""Prepare the home folder: create it, check that it is writable, and create the token of the control ports."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Final

from archive.files import write_once
from archive.home_access import mend
from archive.names.name_rules import NAME_PATTERN
from archive.settings.archive import Readers
from archive.settings.load import Settings

TOKEN_FILE: Final = "control.token"
_TOKEN_BYTES: Final = 32


class HomeError(Exception):
    """The home can't be used. The message names the folder and the remedy."""


def prepare(home: Path, readers: Readers = "owner") -> str:
    """Create the home if needed, check that it is writable, and create its control token. Raises HomeError.

    Files of the home that other users can read get their permissions. Return a line for people; empty when none did.
    """
    try:
        if not home.exists():
            home.mkdir(mode=0o700, parents=True)
        (home / "logs").mkdir(parents=True, exist_ok=True)
        probe = home / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
        write_once(home / TOKEN_FILE, f"{secrets.token_urlsafe(_TOKEN_BYTES)}\n".encode())  # all commands use one token
        return mend(home, readers).line
    except OSError as error:
        raise HomeError(
            f"the home {home} can't be written to ({error.strerror}); choose another home with --home"
        ) from error


def mended(settings: Settings) -> str:
    """Give the files of a home their permissions, if there is a home that this process may change.

    Return a line for people; empty when nothing was changed.
    """
    try:
        return mend(settings.home, settings.archive.readable_by).line
    except OSError:
        return ""


def control_token(home: Path) -> str:
    """Return the bearer token of the control ports. Raises HomeError when there is none."""
    try:
        if token := (home / TOKEN_FILE).read_text("ascii").strip():
            return token
        raise HomeError(f"{home / TOKEN_FILE} is empty; delete it, and the next start of a fleet writes a new token")
    except OSError as error:
        raise HomeError(f"{home / TOKEN_FILE} can't be read ({error.strerror}); check --home") from error


def collections(settings: Settings) -> list[str]:
    """Return the names of the collections in the home, sorted. Folders with other names are no collections."""
    folder = settings.home / "collections"
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(entry.name for entry in found if re.fullmatch(NAME_PATTERN, entry.name) and entry.is_dir())
