"""What the archive holds of each WebSocket, held against what was said over it."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from admin.bench.faults.case import Case
from admin.bench.faults.conversation import TEXT, Conversation, Side, Turn, Word
from admin.bench.faults.ledger import SWITCHED
from admin.bench.faults.records import Stored, bare

_SIDES: Final[Mapping[str, Side]] = {"send": "client", "receive": "origin"}
_KEYS: Final = {"ts", "type", "opcode", "mask", "payloadData", "fragments"}
_END: Final = {"ts", "type", "reason"}


class _Wrong(Exception):
    """Why a log can't be what was said."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The log of one handshake. `over`: how many whole turns are in it, from the first on; `end`: the reason it names.

    `problem` is what else is in it than these turns, and the beginning of the next.
    """

    handshake: Stored
    over: int = 0
    end: str = ""
    problem: str = ""

    @property
    def ended(self) -> int:
        """The turns that must be there if the client has seen its end."""
        return Conversation.at(self.handshake.target).ended


def heard(case: Case) -> list[Heard]:
    """Of each handshake that was kept."""
    logs = _logs(case)
    return [_heard(record, logs.get(record.id, ())) for record in case.answers() if _is_handshake(record)]


def conversations(case: Case) -> Iterator[str]:
    """What is kept of what was said is its beginning, in order, each message once; nothing else looks like it."""
    found, urls = heard(case), set[str]()
    for one in found:
        url = one.handshake.url
        if one.problem:
            yield f"{url}: {one.problem}"
        elif case.evidence.nothing_is_lost and not one.end:
            yield f"{url}: what was said is kept without its end"
        if url in urls:
            yield f"{url}: its handshake is kept twice"
        urls.add(url)
    strays = _logs(case).keys() - {one.handshake.id for one in found}
    yield from (f"messages are concurrent to {name}, which is no handshake" for name in sorted(strays))


def _is_handshake(record: Stored) -> bool:
    return record.kind == "response" and record.block.startswith(b"HTTP/1.1 %d " % SWITCHED)


def _logs(case: Case) -> dict[str, list[Stored]]:
    """The records of messages, in order, by the id of what they are concurrent to."""
    found: dict[str, list[Stored]] = {}
    for record in case.traces.records:
        if record.kind == "resource":
            found.setdefault(bare(record.field("WARC-Concurrent-To")), []).append(record)
    for records in found.values():
        records.sort(key=lambda record: (record.field("WARC-Date"), record.path.name, record.offset))
    return found


def _heard(handshake: Stored, records: Sequence[Stored]) -> Heard:
    turns = Conversation.at(handshake.target).turns
    try:
        lines = [line for record in records for line in _lines(handshake, record)]
        end = _end(records, lines)
        over = _over(turns, [_word(line) for line in (lines[:-1] if end else lines)])
        if end and (end == "closed") != (over == len(turns)):
            raise _Wrong(f"it ends with {end!r} after {over} of {len(turns)} turns")
    except _Wrong as wrong:
        return Heard(handshake, problem=str(wrong))
    return Heard(handshake, over, end)


def _lines(handshake: Stored, record: Stored) -> list[dict[str, Any]]:
    """Of one record. Raises _Wrong when it has not the form of such records."""
    fields = {"Content-Type": "application/jsonl", "WARC-Resource-Type": "websocket", "WARC-Target-URI": handshake.url}
    for name, value in fields.items():
        if record.field(name) != value:
            raise _Wrong(f"record {record.id} has {record.field(name)!r} as its {name}")
    if not record.block.endswith(b"\n"):
        raise _Wrong(f"record {record.id} does not end with a whole line")
    try:
        return [json.loads(line) for line in record.block[:-1].split(b"\n")]
    except ValueError as error:
        raise _Wrong(f"record {record.id}: {error}") from error


def _end(records: Sequence[Stored], lines: Sequence[dict[str, Any]]) -> str:
    """The reason in the last line, if it is an end; the records must say the same."""
    times = [line.get("ts", "") for line in lines]
    if times != sorted(times):
        raise _Wrong("its lines are not in the order of their time")
    is_there = bool(lines) and lines[-1].keys() == _END and lines[-1]["type"] == "end"
    end = str(lines[-1]["reason"]) if is_there else ""
    said = [record.field("WARC-Truncated") for record in records]
    if said != [*[""] * (len(records) - 1), "" if end == "closed" else end][: len(records)]:
        raise _Wrong(f"its records have {said} as their WARC-Truncated, and it ends with {end!r}")
    return end


def _word(line: dict[str, Any]) -> tuple[Side, Word]:
    side = _SIDES.get(str(line.get("type")))
    if side is None or not line.keys() <= _KEYS or line.get("mask") is not (side == "client"):
        raise _Wrong(f"a line that nobody said: {str(line)[:200]}")
    opcode, text = line["opcode"], line["payloadData"]
    payload = text.encode() if opcode == TEXT else b64decode(text, validate=True)
    return side, Word(opcode, payload, line.get("fragments", 1))


def _over(turns: Sequence[Turn], said: Sequence[tuple[Side, Word]]) -> int:
    """How many turns are over. Raises _Wrong at a word that can't have been the next."""
    begun = 0
    left: dict[Side, deque[Word]] = {"client": deque(), "origin": deque()}
    for number, (side, word) in enumerate(said):
        if not any(left.values()) and begun < len(turns):
            left = {"client": deque(turns[begun].client), "origin": deque(turns[begun].origin)}
            begun += 1
        if not left[side] or left[side].popleft() != word:
            raise _Wrong(f"message {number}, the {side}'s with opcode {word.opcode}, was not the next in turn {begun}")
    return begun - any(left.values())
