"""Which release this is."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path


def version() -> str:
    """The installed distribution's version; in a source tree that is not installed, pyproject.toml's."""
    try:
        return metadata.version("ghostfleet")
    except metadata.PackageNotFoundError:
        project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
        return str(project["project"]["version"])
