"""A public class has a name of its own in the whole code base, so that one word means one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ROOMS = ("archive", "dedupdb", "frontier", "proxy", "browsers", "admin", "bench")


def test_no_two_public_classes_have_the_same_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for room in ROOMS:
        for path in sorted((TOP / room).rglob("*.py")):
            for node in ast.parse(path.read_text("utf-8", "surrogateescape")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(str(path.relative_to(TOP)))
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
