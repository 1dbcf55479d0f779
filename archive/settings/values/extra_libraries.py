"""This module says in one line which setting needs a library that is not installed, and how it is installed.

`requirements/extras.txt` locks these libraries. `./run` installs them when it finds one of these settings.
"""

from __future__ import annotations

import sys

from archive.settings.values.redacted import without_secrets


def missing_library(setting: str, value: str, error: Exception) -> str:
    """Return one line for people; `error` is the failed import of the library that the setting's value needs."""
    reason = str(error).partition("\n")[0]
    return (
        f"setting {setting} = {without_secrets(value)!r} needs a Python library that is not installed ({reason}); "
        "start Ghostfleet by ./run, which installs the libraries for PostgreSQL, S3 and OpenID Connect, or run "
        f"`{sys.executable} -m pip install --require-hashes -r requirements/extras.txt` in the folder of the repository"
    )
