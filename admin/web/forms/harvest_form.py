"""The form of a harvest definition has texts; use cases take typed values. These functions turn one into the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from admin.harvests.definitions.definition import HarvestView
from admin.harvests.domains.crawler_traps import TrapView
from admin.harvests.schedules.rules import local_moment, local_text
from admin.models.errors import InvalidInput, Problem
from admin.models.harvest_tables import HarvestKind
from admin.web.forms.limit_inputs import given_limits, limit_input, size_input

_TEXTS: Final = ("name", "comments", "audience", "collection")
_OPTIONAL: Final = ("channel", "max_seconds", "first_run", "qa_sample", "facts", "traps", "permission")
_OF_KIND: Final = {
    HarvestKind.SELECTIVE: ("schedule",),
    HarvestKind.SNAPSHOT: ("max_bytes", "max_objects", "previous"),
}
_LIMITS: Final = ("max_bytes", "max_objects")
_NUMBERS: Final = (*_LIMITS, "max_seconds")
_OFF: Final = "#"
"""A crawler trap with this sign before it is kept, and not in force."""
MOST_LINES: Final = 10_000


def empty_values(kind: HarvestKind) -> dict[str, Any]:
    """Return the values with which the form of a new harvest begins."""
    names = (*_TEXTS, *_OPTIONAL, *_OF_KIND[kind], "configurations")
    return {**dict.fromkeys(names, ""), "max_seconds": "0", "qa_follows": False, "kind": kind}


def shown_values(found: HarvestView, zone: str) -> dict[str, Any]:
    """Return what the form of a harvest shows."""
    kind = HarvestKind(found.kind)
    names = (*_TEXTS, *_OF_KIND[kind], "channel", "max_seconds", "qa_sample", "permission")
    values: dict[str, Any] = {name: "" if getattr(found, name) is None else str(getattr(found, name)) for name in names}
    if kind is HarvestKind.SNAPSHOT:
        values |= {"max_bytes": size_input(found.max_bytes), "max_objects": limit_input(found.max_objects)}
    values["first_run"] = "" if found.first_run is None else local_text(found.first_run, zone)
    values["qa_follows"] = found.qa_follows
    values["facts"] = "\n".join(f"{name}: {value}" for name, value in found.facts.items())
    values["traps"] = traps_text(found.traps)
    return values


def traps_text(traps: Sequence[TrapView]) -> str:
    """Return crawler traps as lines."""
    return "\n".join(each.expression if each.is_active else f"{_OFF} {each.expression}" for each in traps)


def given_values(sent: Mapping[str, Any], kind: HarvestKind, zone: str) -> dict[str, Any]:
    """Return what a use case takes, of what was sent. Raises InvalidInput with all problems."""
    texts = {name: str(value).replace("\r\n", "\n").strip() for name, value in sent.items()}
    values: dict[str, Any] = {name: texts[name] for name in _TEXTS if name in texts}
    for name in ("channel", *_OF_KIND[kind]):
        if name in texts and name not in _NUMBERS:
            values[name] = texts[name] or None
    if "permission" in texts:
        values["permission"] = texts["permission"]
    if "qa_sample" in texts:
        values["qa_sample"] = texts["qa_sample"]
    if "qa_follows" in sent:
        values["qa_follows"] = bool(sent["qa_follows"])
    problems: list[Problem] = []
    if "max_seconds" in texts:
        values["max_seconds"] = texts["max_seconds"] or "0"
    limits, found = given_limits({name: texts[name] for name in _LIMITS if name in texts})
    values |= limits
    problems += found
    if "first_run" in texts:
        try:
            values["first_run"] = local_moment(texts["first_run"], zone, "first_run") if texts["first_run"] else None
        except InvalidInput as error:
            problems += error.problems
    if "facts" in texts:
        values["facts"], found = _facts(texts["facts"])
        problems += found
    if "traps" in texts:
        values["traps"] = [_trap(line.strip()) for line in texts["traps"].splitlines() if line.strip()]
    if problems:
        raise InvalidInput(*problems)
    return values


def differing(sent: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the form that a person has changed, so that a change plans no date anew without need."""
    return {
        name: value
        for name, value in sent.items()
        if name not in shown or str(value).replace("\r\n", "\n").strip() != str(shown[name]).strip()
    }


def choices_of(text: str, field: str = "domains") -> list[dict[str, Any]]:
    """Return the configurations in a text: on each line a domain, and its configuration behind a space."""
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        message = f"there are {len(lines):,} lines; write at most {MOST_LINES:,} at once"
        raise InvalidInput(Problem(field, message))
    return [{"domain": parts[0], "configuration": parts[1].strip() if len(parts) > 1 else None} for parts in lines]


def _trap(line: str) -> dict[str, Any]:
    return {"expression": line.removeprefix(_OFF).strip(), "is_active": not line.startswith(_OFF)}


def _facts(text: str) -> tuple[dict[str, str], list[Problem]]:
    facts: dict[str, str] = {}
    return facts, list(_fact_problems(text, facts))


def _fact_problems(text: str, facts: dict[str, str]) -> Iterator[Problem]:
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not name.strip():
            yield Problem("facts", f"{line.strip()[:100]!r} has no name and colon; write Name: value", number)
        elif name.strip() in facts:
            yield Problem("facts", f"the name {name.strip()[:100]!r} is given twice; remove one", number)
        else:
            facts[name.strip()] = value.strip()
