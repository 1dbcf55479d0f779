"""Sphinx builds the documentation site with this configuration: `sphinx-build -W docs .cache/docs`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

_TOP = Path(__file__).resolve().parent.parent

project = "Ghostfleet"
release = tomllib.loads((_TOP / "pyproject.toml").read_text("utf-8"))["project"]["version"]
copyright = "the Ghostfleet authors"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
# Links to files of the repository outside of docs/ are no links of the site.
myst_all_links_external = False
suppress_warnings = ["myst.strikethrough"]
exclude_patterns = ["*.py"]
html_theme = "furo"
html_title = f"Ghostfleet {release}"
html_static_path: list[str] = []
nitpicky = True


def _without_mermaid(_app: object, _page: str, text: list[str]) -> None:
    """Leave the Mermaid source out of the site, where the drawing made from it stands."""
    text[0] = re.sub(r"```mermaid\n.*?```\n", "", text[0], flags=re.DOTALL)


def setup(app: Sphinx) -> None:
    """Connect the hook above."""
    app.connect("source-read", _without_mermaid)
