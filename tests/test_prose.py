"""Docstrings begin with an imperative or with the name of their subject, as CONTRIBUTING.md asks.

ruff (D401) checks the imperatives of functions. These tests find first sentences that begin without a subject, also
in the docstrings of attributes, subjects that say nothing about the class, and docstrings that Python 3.13 refuses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
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

NO_SUBJECT_OF_ATTRIBUTE = frozenset(("its", "so", "those", "what", "whether"))
"""Other first words, such as "For" or "None", can begin a plain note on a value."""
EMPTY_SUBJECT = re.compile(r"(?:an?|the|this) (?:object|model|class)\b", re.IGNORECASE)
"""A class says by its own noun what it is."""
HALF_CHARACTER = re.compile("[\ud800-\udfff]")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_docstring_is_unicode_and_begins_with_its_subject(folder: str) -> None:
    found = [line for path in sorted((ROOT / folder).rglob("*.py")) for line in faults(path)]
    assert "\n".join(found) == ""


def test_a_docstring_without_a_subject_is_found(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        '"""A module."""\ndef plain():\n    """Return it."""\ndef wrong():\n    """What is left."""\n'
        'if True:\n    def half():\n        """Return \\ud800."""\n'
    )
    assert [line.partition(": ")[2] for line in faults(path)] == [
        "wrong: 'What is left.'",
        r"half: 'Return \ud800.'",
    ]


def test_an_attribute_without_a_subject_and_a_class_with_an_empty_one_are_found(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        '"""A module."""\nclass Wrong:\n    """The object waits."""\n    a: int = 1\n    """Whether it waits."""\n'
        '    def __init__(self) -> None:\n        self.b = 2\n        """So many wait."""\n        self.c = 3\n'
        '        """The number of waits."""\n'
    )
    assert [line.partition(": ")[2] for line in faults(path)] == [
        "Wrong: 'The object waits.'",
        "a: 'Whether it waits.'",
        "self.b: 'So many wait.'",
    ]


def faults(path: Path) -> Iterator[str]:
    """The docstrings in one file that begin without a subject, with an empty one, or are no Unicode."""
    for node in blocks(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            whole = ast.get_docstring(node) or ""
            text = whole.partition("\n\n")[0]
            is_empty = isinstance(node, ast.ClassDef) and EMPTY_SUBJECT.match(text)
            # Python 3.13 and later refuse a module whose docstring has half a character; 3.12 does not.
            if is_empty or first_word(text) in NO_SUBJECT or HALF_CHARACTER.search(whole):
                yield f"{path}:{getattr(node, 'lineno', 1)}: {getattr(node, 'name', 'module')}: {text!r}"
        for name, text, line in attribute_docstrings(node):
            if first_word(text) in NO_SUBJECT_OF_ATTRIBUTE:
                yield f"{path}:{line}: {name}: {text!r}"


def first_word(text: str) -> str:
    return text.split(" ")[0].strip(".,:").lower()


def blocks(node: ast.AST) -> Iterator[ast.AST]:
    """The node, and all statements in it that have statements of their own. Expressions have no docstrings."""
    yield node
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, name, ()):
            if hasattr(child, "body"):
                yield from blocks(child)


def attribute_docstrings(node: ast.AST) -> Iterator[tuple[str, str, int]]:
    """The name, the docstring and the line of each assignment in a body that a text follows."""
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return
    for statement, following in pairwise(body):
        match statement, following:
            case (
                ast.AnnAssign(target=target) | ast.Assign(targets=[target]) | ast.TypeAlias(name=target),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield ast.unparse(target), text, following.lineno
