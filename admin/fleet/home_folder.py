"""The home folder: made, proven writable, with the control ports' token, before anything starts in it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

from archive.durably import write_once
from archive.settings import Settings

TOKEN_FILE: Final = "control.token"
_TOKEN_BYTES: Final = 32


class HomeError(Exception):
    """The home can't be used; the message names the folder and the remedy."""


def prepare(home: Path) -> None:
    """Make the home if need be, prove that it can be written to, give it a control token."""
    try:
        (home / "logs").mkdir(parents=True, exist_ok=True)
        probe = home / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
        write_once(home / TOKEN_FILE, f"{secrets.token_urlsafe(_TOKEN_BYTES)}\n".encode())  # commands share it
    except OSError as error:
        raise HomeError(
            f"the home {home} can't be written to ({error.strerror}); choose another with --home"
        ) from error


def control_token(home: Path) -> str:
    """The bearer token of the control ports. Raises HomeError when there is none."""
    try:
        if token := (home / TOKEN_FILE).read_text("ascii").strip():
            return token
        raise HomeError(f"{home / TOKEN_FILE} is empty; start something in this home, and it gets a new one")
    except OSError as error:
        raise HomeError(f"{home / TOKEN_FILE} can't be read ({error.strerror}); is --home right?") from error


def collections(settings: Settings) -> list[str]:
    """Names of the collections in the home, in order."""
    folder = settings.home / "collections"
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
