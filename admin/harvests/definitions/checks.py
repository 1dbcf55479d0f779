"""This module checks what people write into harvest definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import select

from admin.harvests.input_checks import name_problem, note_problem
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.harvest_tables import Channel, Harvest, HarvestKind, Schedule
from admin.models.transaction import Transaction
from admin.qa.listing import sample_size
from archive.names.name_rules import NAME_PATTERN

LARGEST_NUMBER: Final = 2**62
LONGEST_AUDIENCE: Final = 2_000
MOST_FACTS: Final = 50
LONGEST_FACT: Final = 2_000
LONGEST_SEARCHED: Final = 255
_FACT_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_OWN_FACTS: Final = frozenset(("harvest", "kind", "run", "comments", "audience", "schedule", "extended"))


def value_problems(
    values: Mapping[str, Any], kind: HarvestKind, present_name: str | None = None
) -> Iterator[Problem | None]:
    """Yield what is wrong with the values of a definition, by themselves."""
    yield name_problem("name", values["name"], present_name)
    yield note_problem("comments", values["comments"])
    yield note_problem("audience", values["audience"], LONGEST_AUDIENCE)
    collection = values["collection"]
    if not re.fullmatch(NAME_PATTERN, collection):
        yield Problem(
            "collection", f"{collection[:80]!r} is no collection; write up to 64 letters, digits, dots, - and _"
        )
    for name in ("max_bytes", "max_objects"):
        if not -1 <= values[name] <= LARGEST_NUMBER:
            yield Problem(name, f"{values[name]} is no limit; write a number from 0 on, or -1 for no limit")
        elif kind == HarvestKind.SELECTIVE and values[name] != -1:
            yield Problem(name, "selective harvests have no limit of their own; set the limit in the configurations")
    if not 0 <= values["max_seconds"] <= LARGEST_NUMBER:
        yield Problem("max_seconds", f"{values['max_seconds']} is no time; write seconds, or 0 for no limit")
    try:
        sample_size(values["qa_sample"])
    except InvalidInput as error:
        yield from (Problem("qa_sample", problem.message) for problem in error.problems)
    first_run = values["first_run"]
    if first_run is not None and not 0 <= first_run <= LARGEST_NUMBER:
        yield Problem("first_run", f"{first_run} is no moment; use one from 1970 on, such as 2027-01-15T08:00+01:00")
    yield from _fact_problems(values["facts"])


def find_harvest(transaction: Transaction, name: str, *, lock: bool = False) -> Harvest:
    """Return the harvest definition of this name. Raises NotFound."""
    query = select(Harvest).where(Harvest.name == findable(name))
    found = transaction.session.scalars(query.with_for_update(of=Harvest) if lock else query).one_or_none()
    if found is None:
        raise NotFound("harvest", name)
    return found


def findable(name: str) -> str:
    """Return the name if it can be looked up, else an empty text, which no row has as its name."""
    return name if name.isprintable() and len(name) <= LONGEST_SEARCHED else ""


def schedule_of(transaction: Transaction, name: str | None, kind: HarvestKind) -> tuple[Schedule | None, list[Problem]]:
    """Return the schedule of this name, and what is wrong with the choice."""
    if name is None or name == "":
        return None, []
    if kind == HarvestKind.SNAPSHOT:
        return None, [Problem("schedule", "a snapshot harvest runs once and has no schedule; leave the schedule out")]
    found = transaction.session.scalars(select(Schedule).where(Schedule.name == findable(name))).one_or_none()
    return found, [] if found else [Problem("schedule", f"there is no schedule {name[:200]!r}; choose one that exists")]


def channel_of(transaction: Transaction, name: str | None, kind: HarvestKind) -> tuple[Channel | None, list[Problem]]:
    """Return the channel of this name, and what is wrong with the choice."""
    if name is None or name == "":
        return None, []
    found = transaction.session.scalars(select(Channel).where(Channel.name == findable(name))).one_or_none()
    if found is None:
        return None, [Problem("channel", f"there is no channel {name[:200]!r}; choose one that exists")]
    if found.takes_snapshots != (kind == HarvestKind.SNAPSHOT):
        takes = "snapshot" if found.takes_snapshots else "selective"
        return None, [Problem("channel", f"the channel {found.name!r} takes {takes} harvests; choose another one")]
    return found, []


def previous_of(
    transaction: Transaction, name: str | None, kind: HarvestKind, own_id: int | None
) -> tuple[Harvest | None, list[Problem]]:
    """Return the snapshot that is continued, and what is wrong with the choice."""
    if name is None or name == "":
        return None, []
    if kind != HarvestKind.SNAPSHOT:
        return None, [Problem("previous", "only a snapshot harvest continues another one; leave it out")]
    found = transaction.session.scalars(select(Harvest).where(Harvest.name == findable(name))).one_or_none()
    if found is None or found.kind != HarvestKind.SNAPSHOT:
        return None, [Problem("previous", f"there is no snapshot harvest {name[:200]!r}; choose one that exists")]
    following, seen = found, {own_id}
    while following.id not in seen:
        seen.add(following.id)
        if following.previous is None:
            return found, []
        following = following.previous
    return None, [Problem("previous", f"{found.name!r} continues this harvest itself; choose an earlier snapshot")]


def name_is_free(transaction: Transaction, name: str, own_id: int | None) -> list[Problem]:
    """Return the problem that another harvest has this name."""
    taken = transaction.session.scalar(select(Harvest.id).where(Harvest.name == findable(name)))
    if taken is None or taken == own_id:
        return []
    return [Problem("name", f"there is a harvest {name[:200]!r} already; write another name")]


def _fact_problems(facts: Mapping[str, str]) -> Iterator[Problem]:
    if len(facts) > MOST_FACTS:
        yield Problem("facts", f"there are {len(facts)} facts; write at most {MOST_FACTS}")
        return
    for name, value in facts.items():
        if name.lower() in _OWN_FACTS:
            yield Problem("facts", f"the fact {name!r} is set by the harvest itself; use another name")
        elif not _FACT_NAME.fullmatch(name):
            yield Problem("facts", f"{name[:80]!r} is no name of a fact; write up to 64 letters, digits, - and _")
        if len(value) > LONGEST_FACT or not value.isprintable():
            yield Problem(f"facts.{name[:64]}", f"write at most {LONGEST_FACT} printable characters on one line")
