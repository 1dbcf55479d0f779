"""docs/reference/commands.md has every command and option as `--help` prints them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parents[2] / "docs"


def loaded(name: str) -> ModuleType:
    """Return a script of the docs folder as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_commands_is_current() -> None:
    page = loaded("command_table")

    assert page.TARGET.read_text("utf-8") == page.document(), "run .venv/bin/python docs/command_table.py"


def test_the_page_about_heritrix_is_current() -> None:
    page = loaded("heritrix_table")

    assert page.TARGET.read_text("utf-8") == page.document(), "run .venv/bin/python docs/heritrix_table.py"
