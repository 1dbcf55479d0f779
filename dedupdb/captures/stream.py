"""Writers announce captures on a stream in Redis. This module writes and reads its entries.

`gf:captures` is one Redis stream for the whole fleet. An entry has one field, `c`: a JSON array of the captures of one
batch. Each capture is an array of the fields of `archive.capture.Capture`, in their order; `refers_to` is the array
[record_id, url, date]. Fields that a newer release added at the end may be missing. The stream is cut to about
MAX_ENTRIES, and an indexer removes the entries that it has read. The stream is no record: the sidecars beside the WARC
files are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from archive.capture import Capture, Original
from archive.json_text import compact_json

STREAM: Final = "gf:captures"
FIELD: Final = b"c"
MAX_ENTRIES: Final = 100_000
_TOGETHER: Final = 64
"""Captures in one entry, at most."""

_NAMES: Final = tuple(field.name for field in fields(Capture))
_values: Final = attrgetter(*_NAMES)
_REFERS_TO: Final = _NAMES.index("refers_to")
_BUCKETS: Final = _NAMES.index("buckets")


def to_entries(captures: Sequence[Capture]) -> list[bytes]:
    """Return the field values of the entries that announce the captures.

    `itertools.batched` is not used: it cuts a tuple of 64 down to the few that remain, and Python keeps thousands of
    such tuples for later use, each a small part of a large block of memory. This cost two megabytes in ten minutes.
    """
    starts = range(0, len(captures), _TOGETHER)
    return [compact_json([_facts(one) for one in captures[start : start + _TOGETHER]]).encode() for start in starts]


def from_entry(entry: Mapping[bytes, bytes]) -> list[Capture]:
    """Return the captures that an entry announces. Raises ValueError for an entry that announces none."""
    try:
        said = json.loads(entry[FIELD])
        if not said:
            raise ValueError("it announces no capture")
        return [_capture(facts) for facts in said]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"stream {STREAM}: {str(entry)[:200]} is not a capture: {error}") from error


def _facts(capture: Capture) -> Sequence[Any]:
    facts: tuple[Any, ...] = _values(capture)
    if (original := capture.refers_to) is None:
        return facts
    return [*facts[:_REFERS_TO], [original.record_id, original.url, original.date], *facts[_REFERS_TO + 1 :]]


def _capture(facts: Any) -> Capture:
    if not isinstance(facts, list):
        raise ValueError("it is not an array")
    if len(facts) > _REFERS_TO and facts[_REFERS_TO] is not None:
        facts[_REFERS_TO] = Original(*facts[_REFERS_TO])
    if len(facts) > _BUCKETS:
        facts[_BUCKETS] = tuple(facts[_BUCKETS])
    return Capture(*facts)
