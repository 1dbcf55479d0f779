"""Judges what is left of a round: whether each response that a client saw is there, and each promise is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from admin.bench.faults.case import Case, Evidence, payload_of
from admin.bench.faults.heard import Heard, heard
from admin.bench.faults.ledger import Seen
from admin.bench.faults.promises import PROMISES
from admin.bench.faults.records import Stored, Torn, read_at
from admin.bench.faults.traces import Traces

_MOST: Final = 5
"""How many of one kind are told one by one."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that is broken, by its name, and how."""

    promise: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """URLs of the seen responses that are lost, and what is broken; and how much there was to find something broken in.

    `revisits` were written; of `cut` WebSockets the handshake was kept and not the end.
    """

    lost: frozenset[str]
    revisits: int
    cut: int
    violations: tuple[Violation, ...]


def judge(evidence: Evidence) -> Verdict:
    """Reads what is left and says what is broken."""
    traces = Traces.read(evidence.home, evidence.collection)
    case = Case(evidence, traces, {record.id: record for record in traces.records})
    lines = _by_url(traces)
    said = {one.handshake.url: one for one in heard(case)}
    lost = {
        one.url: why
        for one in evidence.seen
        if (why := _missing(case, lines.get(one.url, ()), one) or _unsaid(said.get(one.url), one))
    }
    found = [Violation("seen is kept", message) for message in _first(f"{url}: {why}" for url, why in lost.items())]
    for promise, test in PROMISES.items():
        found += [Violation(promise, message) for message in _first(test(case))]
    revisits = sum(record.kind == "revisit" for record in traces.records)
    return Verdict(frozenset(lost), revisits, sum(one.end != "closed" for one in said.values()), tuple(found))


def _by_url(traces: Traces) -> Mapping[str, Sequence[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in traces.lines:
        found.setdefault(line["url"], []).append(line)
    return found


def _missing(case: Case, lines: Sequence[dict[str, Any]], seen: Seen) -> str:
    """Why a response that a client saw can't be read at its place in the index; "" when it can."""
    why = "it is in no index"
    for line in lines:
        try:
            record = read_at(case.archive / line["filename"], int(line["offset"]), int(line["length"]))
        except (OSError, Torn) as error:
            why = str(error)
            continue
        original = case.original_of(record)
        if original is None and not record.is_of_another_archive:
            why = f"revisit {record.id} has no original"
        elif (record.id, record.url) != (line["id"], seen.url):
            why = f"the index leads to {record.id} of {record.url}"
        elif int(record.block[9:12]) != seen.status or not _has(original, seen):
            why = f"record {record.id} holds something else"
        else:
            return ""
    return why


def _unsaid(said: Heard | None, seen: Seen) -> str:
    """Why what was said over a WebSocket can't be read up to the end that a client saw; "" when it can, or was none."""
    if not seen.is_socket:
        return ""
    if said is None:
        return "its handshake is nowhere"
    if said.over < said.ended:
        return said.problem or f"{said.over} of {said.ended} turns of what was said are kept"
    return ""


def _has(original: Stored | None, seen: Seen) -> bool:
    """Whether a record has the payload that was seen; taken on trust when it is in another archive."""
    return original is None or hashlib.sha256(payload_of(original)).digest() == seen.sha256


def _first(messages: Iterable[str]) -> Iterator[str]:
    """The first few, and how many there are besides."""
    more = 0
    for number, message in enumerate(messages):
        if number < _MOST:
            yield message
        else:
            more += 1
    if more:
        yield f"and {more} more"
