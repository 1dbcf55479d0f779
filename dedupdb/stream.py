"""The stream on which writers announce captures, and what one entry of it looks like.

`gf:captures` is one Redis stream for the whole fleet. An entry has one field, `c`: a JSON array of the captures of one
batch, each an object with the fields of `archive.capture.Capture` by their own names, those that equal their default
left out; `refers_to` is the array [record_id, url, date]. (One object without its array is read as well.) The stream
is cut to about MAX_ENTRIES, and an indexer drops what it has taken in: the stream is news, the sidecars beside the
WARC files are the record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from itertools import batched
from typing import Any, Final

from archive.capture import Capture, Original, compact_json

STREAM: Final = "gf:captures"
FIELD: Final = b"c"
MAX_ENTRIES: Final = 100_000
_TOGETHER: Final = 64
"""Captures in one entry, at most."""

_DEFAULTS: Final = {field.name: field.default for field in fields(Capture)}
_REQUIRED: Final = frozenset(name for name, default in _DEFAULTS.items() if default is MISSING)


def to_entries(captures: Sequence[Capture]) -> list[bytes]:
    """The values of the one field of as many entries as it takes to announce them."""
    return [compact_json([_facts(capture) for capture in some]).encode() for some in batched(captures, _TOGETHER)]


def from_entry(entry: Mapping[bytes, bytes]) -> list[Capture]:
    """The captures that an entry announces. Raises ValueError for what announces none."""
    try:
        said = json.loads(entry[FIELD])
        if not said:
            raise ValueError("nothing is announced")
        return [_capture(facts) for facts in (said if isinstance(said, list) else [said])]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"stream {STREAM}: {str(entry)[:200]} is no capture: {error}") from error


def _facts(capture: Capture) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, default in _DEFAULTS.items():
        value = getattr(capture, name)
        if value is not default and value != default:
            facts[name] = value
    if capture.refers_to is not None:
        facts["refers_to"] = [capture.refers_to.record_id, capture.refers_to.url, capture.refers_to.date]
    return facts


def _capture(facts: Any) -> Capture:
    if not isinstance(facts, dict) or not facts.keys() >= _REQUIRED:
        raise ValueError("facts are missing")
    if facts.get("refers_to") is not None:
        facts["refers_to"] = Original(*facts["refers_to"])
    if "buckets" in facts:
        facts["buckets"] = tuple(facts["buckets"])
    return Capture(**facts)
