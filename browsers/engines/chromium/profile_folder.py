"""Each browser process gets a new folder with the files that Chromium reads at its start."""

from __future__ import annotations

import os
from pathlib import Path

from archive.files import make_folder
from browsers.engines.chromium import flags
from browsers.engines.files import new_folder, remove


def new_profile_folder(local_state: str) -> Path:
    """Return a new folder with the files that Chromium reads at its start. Raises OSError, and no folder is left."""
    folder = new_folder()
    preferences = folder / "profile" / "Default" / "Preferences"
    try:
        preferences.parent.mkdir(parents=True)
        preferences.write_text(flags.PREFERENCES, "utf-8")
        (folder / "profile" / "Local State").write_text(local_state, "utf-8")
    except OSError:
        remove(folder)
        raise
    return folder


def prepare_window_profile(profile: Path) -> None:
    """Make the profile folder of a window that a person uses; the folder of an earlier window stays as it is."""
    preferences = profile / "Default" / "Preferences"
    if not preferences.exists():
        make_folder(preferences.parent)
        preferences.write_text(flags.WINDOW_PREFERENCES, "utf-8")


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment in which Chromium keeps all its files in the folder."""
    return {**os.environ, "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder), "TMPDIR": str(folder)}


def profile_flag(folder: Path) -> str:
    """Return the flag that names the profile in the folder."""
    return f"--user-data-dir={folder / 'profile'}"
