"""Finds docstrings whose first sentence is neither an imperative nor a statement with a finite verb.

Run `python tests/prose/docstrings.py [FOLDER…]` for a list. The verbs lie in `imperatives.txt` and `finite_verbs.txt`
beside this file, one a line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("archive", "dedupdb", "frontier", "proxy", "browsers", "admin", "bench")
_HERE: Final = Path(__file__).parent
_IMPERATIVES: Final = frozenset((_HERE / "imperatives.txt").read_text("utf-8").split())
_FINITE_VERBS: Final = frozenset((_HERE / "finite_verbs.txt").read_text("utf-8").split())

# A first sentence that begins with one of these names no subject.
_NO_BEGINNING: Final = frozenset(
    """
    about after against among at before behind below beside between by during for from in into of off on onto out over
    than to under until upon with within without what whatever whether which whichever who whoever whom whose where why
    how it its that those they one's nobody somebody nothing something as if when while
    """.split()  # noqa: SIM905 a list of words is easier to read as a text
)
# A relative clause holds a verb and yet makes no sentence: what follows these words is not searched for a verb.
_AUXILIARIES: Final = frozenset(("has", "have", "had", "is", "are", "was", "were"))
_CLAUSE: Final = re.compile(r"\b(?:that|which|who|whom|whose|where|whether|what|how|why|if|when|while|until|because)\b")


@dataclass(frozen=True, slots=True)
class Problem:
    """A docstring that breaks the rule."""

    path: Path
    line: int
    name: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.name}: {self.sentence!r}"


def first_sentence(docstring: str) -> str:
    """Return the first sentence on one line, without code in backquotes and without what parentheses hold."""
    paragraph = " ".join(docstring.strip().split("\n\n")[0].split())
    plain = re.sub(r"``?[^`]*``?", "X", paragraph)
    plain = re.sub(r"\([^()]*\)", "", plain)
    return re.split(r"(?<=[.!?:;])\s", plain, maxsplit=1)[0]


def is_sentence(sentence: str, *, imperative_only: bool) -> bool:
    """Return whether `sentence` is an imperative or, where that is enough, has a finite verb in its main clause."""
    words = re.findall(r"[A-Za-z'-]+", sentence)
    if not words or words[0].lower() in _NO_BEGINNING:
        return False
    if words[0].lower() in _IMPERATIVES:
        return True
    if imperative_only:
        return False
    main = _CLAUSE.split(sentence)
    searched = main[0] if len(main) == 1 else main[0] + " " + " ".join(_after_clause(part) for part in main[1:])
    return any(word.lower() in _FINITE_VERBS for word in re.findall(r"[A-Za-z'-]+", searched))


def _after_clause(part: str) -> str:
    """Return what follows the relative clause's own verb, for the sake of `The host that is due waits.`"""
    words = re.findall(r"[A-Za-z'-]+", part)
    for at, word in enumerate(words):
        if word.lower() in _FINITE_VERBS:
            has_participle = word.lower() in _AUXILIARIES and words[at + 1 : at + 2]
            return " ".join(words[at + 2 if has_participle else at + 1 :])
    return ""


def problems(path: Path) -> Iterator[Problem]:
    """Yield the docstrings of one Python file that break the rule."""
    tree = ast.parse(path.read_text("utf-8"))
    shown = path.relative_to(TOP)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = ast.get_docstring(node)
        if not docstring:
            continue
        sentence = first_sentence(docstring)
        if not is_sentence(sentence, imperative_only=_is_action(node)):
            name = "module" if isinstance(node, ast.Module) else node.name
            yield Problem(shown, getattr(node, "lineno", 1), name, sentence)


def _is_action(node: ast.AST) -> bool:
    """Return whether PEP 257 asks for an imperative: functions and methods, but not properties and fixtures."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    if node.name == "__init__":  # describes arguments
        return False
    marks = {ast.unparse(each).split("(")[0].rsplit(".", 1)[-1] for each in node.decorator_list}
    return not marks & {"property", "cached_property", "fixture", "setter"} and not node.name.startswith("test_")


def all_problems(folders: tuple[str, ...] = FOLDERS) -> list[Problem]:
    """Return the problems of every Python file below `folders`, in the order of their paths."""
    return [each for folder in folders for path in sorted((TOP / folder).rglob("*.py")) for each in problems(path)]


if __name__ == "__main__":
    found = all_problems(tuple(sys.argv[1:]) or FOLDERS)
    print("\n".join(map(str, found)))
    print(f"{len(found)} docstrings", file=sys.stderr)
    sys.exit(bool(found))
