"""A public class has a name of its own in the whole code base, so that one word means one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ROOMS = ("archive", "dedupdb", "frontier", "proxy", "browsers", "admin", "bench")
PUBLIC_CLASS = re.compile(r"^class ([A-Za-z]\w*)\b", re.MULTILINE)


def test_no_two_public_classes_have_the_same_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(path for room in ROOMS for path in (TOP / room).rglob("*.py")):
        for name in PUBLIC_CLASS.findall(path.read_text("utf-8", "surrogateescape")):
            places[name].append(str(path.relative_to(TOP)))
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
