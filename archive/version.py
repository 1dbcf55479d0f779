"""The version of this release, and the name of the program in records and protocols."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path
from typing import Final


def version() -> str:
    """Return the version of the installed distribution, or of pyproject.toml in a tree that is not installed."""
    try:
        return metadata.version("ghostfleet")
    except metadata.PackageNotFoundError:
        project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
        return str(project["project"]["version"])


SOFTWARE: Final = f"ghostfleet/{version()}"
"""Program and version, for `software` fields and product tokens."""
