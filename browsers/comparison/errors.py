"""Compare the errors of a page's scripts at its capture with those in replay. Pure.

Two errors are one when their texts differ in numbers and in the queries of URLs alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_VARIABLE: Final = re.compile(r"\?[^\s'\"`<>]*|\b[0-9a-f]{8,}\b|\d+", re.IGNORECASE)
"""Queries, ids and numbers differ between two visits."""


@dataclass(frozen=True, slots=True)
class NewError:
    """The replay has this error, and the capture had none like it."""

    text: str
    count: int
    at: str = ""
    """URL and line of the script; empty when they are not known."""


def new_errors(captured: Sequence[Mapping[str, Any]], visits: Sequence[Sequence[Mapping[str, Any]]]) -> list[NewError]:
    """Return the errors that each visit in replay has, and the capture did not have, the most frequent first.

    The entries have the form that `browsers.ghosts.page_errors` gives them.
    """
    if not visits:
        return []
    known = _shapes(captured)
    in_all = set.intersection(*map(_shapes, visits)) - known
    found: dict[str, NewError] = {}
    for each in visits[0]:
        shape = _shape(each)
        if shape in in_all:
            before = found.get(shape)
            count = each["count"] + (before.count if before is not None else 0)
            found[shape] = NewError(
                before.text if before else each["text"], count, before.at if before else each.get("at", "")
            )
    return sorted(found.values(), key=lambda error: -error.count)


def _shapes(errors: Iterable[Mapping[str, Any]]) -> set[str]:
    return {_shape(each) for each in errors}


def _shape(error: Mapping[str, Any]) -> str:
    return _VARIABLE.sub("0", error["text"])
