"""Docstrings begin with an imperative or with the name of their subject, as CONTRIBUTING.md asks.

ruff (D401) checks the imperatives of functions. This test finds first sentences that begin without a subject.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import ROOT

FOLDERS = ("archive", "dedupdb", "frontier", "proxy", "browsers", "admin", "bench")
NO_SUBJECT = frozenset(
    """
    about after against among at before behind below beside between by during for from in into of off on onto out over
    than to under until upon with within without what whatever whether which whichever who whoever whom whose where why
    how it its that those they one's nobody somebody nothing something as if when while
    """.split()  # noqa: SIM905 a list of words is easier to read as a text
)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_docstring_begins_with_its_subject(folder: str) -> None:
    found = [line for path in sorted((ROOT / folder).rglob("*.py")) for line in without_subject(path)]
    assert "\n".join(found) == ""


def test_a_docstring_without_a_subject_is_found(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text('"""A module."""\ndef plain():\n    """Return it."""\ndef wrong():\n    """What is left."""\n')
    assert [line.partition(": ")[2] for line in without_subject(path)] == ["wrong: 'What is left.'"]


def without_subject(path: Path) -> Iterator[str]:
    """The docstrings of modules, classes and functions in one file that begin with a word of NO_SUBJECT."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = (ast.get_docstring(node) or "").partition("\n\n")[0]
            if text.split(" ")[0].strip(".,:").lower() in NO_SUBJECT:
                yield f"{path}:{getattr(node, 'lineno', 1)}: {getattr(node, 'name', 'module')}: {text!r}"
