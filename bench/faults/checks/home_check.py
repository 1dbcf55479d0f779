"""This module checks a home: each response that a client saw must be there, and each invariant must hold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.faults.checks.check_input import CheckInput, Expectations, payload_of
from bench.faults.checks.home_contents import HomeContents
from bench.faults.checks.invariants import INVARIANTS
from bench.faults.checks.records import DamagedRecord, WarcRecord, read_at
from bench.faults.checks.websocket_logs import WebSocketLog, websocket_logs
from bench.faults.traffic.ledger import SeenResponse

_MOST: Final = 5
"""The number of errors of one kind that are listed."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant does not hold. The message says where."""

    invariant: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check has the lost URLs among the seen responses, and the violations.

    `revisits` is the number of revisit records. `cut` is the number of WebSockets whose handshake is kept, and not the
    end.
    """

    lost: frozenset[str]
    revisits: int
    cut: int
    violations: tuple[Violation, ...]


def check_home(expectations: Expectations) -> CheckResult:
    """Check the home and return what does not hold."""
    contents = HomeContents.read(expectations.home, expectations.collection)
    given = CheckInput(expectations, contents, {record.id: record for record in contents.records})
    if expectations.removed:
        contents.leave_out(expectations.removed, expectations.home, expectations.collection)
    lines = _by_url(contents)
    said = {one.handshake.url: one for one in websocket_logs(given)}
    lost = {
        one.url: why
        for one in expectations.seen
        if (why := _missing(given, lines.get(one.url, ()), one) or _missing_messages(said.get(one.url), one))
    }
    found = [Violation("seen is kept", message) for message in _first(f"{url}: {why}" for url, why in lost.items())]
    for invariant, test in INVARIANTS.items():
        found += [Violation(invariant, message) for message in _first(test(given))]
    revisits = sum(record.kind == "revisit" for record in contents.records)
    return CheckResult(frozenset(lost), revisits, sum(one.end != "closed" for one in said.values()), tuple(found))


def _by_url(contents: HomeContents) -> Mapping[str, Sequence[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in contents.lines:
        found.setdefault(line["url"], []).append(line)
    return found


def _missing(given: CheckInput, lines: Sequence[dict[str, Any]], seen: SeenResponse) -> str:
    """Return why a seen response can't be read where the index says; "" when it can."""
    why = "it is in no index"
    for line in lines:
        try:
            record = read_at(given.archive / line["filename"], int(line["offset"]), int(line["length"]))
        except (OSError, DamagedRecord) as error:
            why = str(error)
            continue
        original = given.original_of(record)
        if original is None and not record.is_of_another_archive:
            why = f"revisit {record.id} has no original"
        elif (record.id, record.url) != (line["id"], seen.url):
            why = f"the index leads to {record.id} of {record.url}"
        elif int(record.block[9:12]) != seen.status or not _has(original, seen):
            why = f"record {record.id} holds something else"
        else:
            return ""
    return why


def _missing_messages(said: WebSocketLog | None, seen: SeenResponse) -> str:
    """Return why the messages of a WebSocket can't be read up to the end that a client saw.

    The result is "" when they can, and for a response that is no WebSocket.
    """
    if not seen.is_websocket:
        return ""
    if said is None:
        return "its handshake is nowhere"
    if said.whole_turns < said.ended:
        return said.problem or f"{said.whole_turns} of {said.ended} turns of what was said are kept"
    return ""


def _has(original: WarcRecord | None, seen: SeenResponse) -> bool:
    """Return whether the record has the seen payload. A record in another archive is taken as right."""
    return original is None or hashlib.sha256(payload_of(original)).digest() == seen.sha256


def _first(messages: Iterable[str]) -> Iterator[str]:
    """Yield the first few messages, and the number of the others."""
    more = 0
    for number, message in enumerate(messages):
        if number < _MOST:
            yield message
        else:
            more += 1
    if more:
        yield f"and {more} more"
