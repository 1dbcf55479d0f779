"""archive/json_text.py: JSON on one line."""

from __future__ import annotations

from archive.json_text import compact_json


def test_json_is_on_one_line_and_readable() -> None:
    assert compact_json({"a": ["é", 1]}) == '{"a":["é",1]}'
