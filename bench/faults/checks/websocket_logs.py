"""This module compares the kept messages of each WebSocket with the messages that were sent."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.faults.checks.check_input import CheckInput
from bench.faults.checks.records import WarcRecord, bare
from bench.faults.traffic.conversation import TEXT, Conversation, ScriptedMessage, Side, Turn
from bench.faults.traffic.ledger import SWITCHED

_SIDES: Final[Mapping[str, Side]] = {"send": "client", "receive": "origin"}
_KEYS: Final = {"ts", "type", "opcode", "mask", "payloadData", "fragments"}
_END: Final = {"ts", "type", "reason"}


class _Wrong(Exception):
    """A log is wrong; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class WebSocketLog:
    """The log of one WebSocket has the number of whole turns, and the reason of the end.

    `problem` says what the log has besides these turns and a part of the next one.
    """

    handshake: WarcRecord
    whole_turns: int = 0
    end: str = ""
    problem: str = ""

    @property
    def ended(self) -> int:
        """Return the number of turns that must be kept when the client saw the end."""
        return Conversation.at(self.handshake.target).ended


def websocket_logs(given: CheckInput) -> list[WebSocketLog]:
    """Return the log of each kept handshake."""
    logs = _logs(given)
    return [_read_log(record, logs.get(record.id, ())) for record in given.answers() if _is_handshake(record)]


def check_conversations(given: CheckInput) -> Iterator[str]:
    """Yield the logs that are not the first messages of the conversation, in order and without a gap."""
    found, urls = websocket_logs(given), set[str]()
    for one in found:
        url = one.handshake.url
        if one.problem:
            yield f"{url}: {one.problem}"
        elif given.expectations.nothing_is_lost and not one.end:
            yield f"{url}: the log has no end"
        if url in urls:
            yield f"{url}: the handshake is kept twice"
        urls.add(url)
    leftovers = _logs(given).keys() - {one.handshake.id for one in found}
    yield from (f"messages are concurrent to {name}, which is no handshake" for name in sorted(leftovers))


def _is_handshake(record: WarcRecord) -> bool:
    return record.kind == "response" and record.block.startswith(b"HTTP/1.1 %d " % SWITCHED)


def _logs(given: CheckInput) -> dict[str, list[WarcRecord]]:
    """Return the records of messages, in order, by the id of their handshake."""
    found: dict[str, list[WarcRecord]] = {}
    for record in given.contents.records:
        if record.kind == "resource":
            found.setdefault(bare(record.field("WARC-Concurrent-To")), []).append(record)
    for records in found.values():
        records.sort(key=lambda record: (record.field("WARC-Date"), record.path.name, record.offset))
    return found


def _read_log(handshake: WarcRecord, records: Sequence[WarcRecord]) -> WebSocketLog:
    turns = Conversation.at(handshake.target).turns
    try:
        lines = [line for record in records for line in _lines(handshake, record)]
        end = _end(records, lines)
        over = _over(turns, [_message(line) for line in (lines[:-1] if end else lines)])
        if end and (end == "closed") != (over == len(turns)):
            raise _Wrong(f"the log ends with {end!r} after {over} of {len(turns)} turns")
    except _Wrong as wrong:
        return WebSocketLog(handshake, problem=str(wrong))
    return WebSocketLog(handshake, over, end)


def _lines(handshake: WarcRecord, record: WarcRecord) -> list[dict[str, Any]]:
    """Return the lines of one record. Raises _Wrong when the record is not a record of messages."""
    fields = {"Content-Type": "application/jsonl", "WARC-Resource-Type": "websocket", "WARC-Target-URI": handshake.url}
    for name, value in fields.items():
        if record.field(name) != value:
            raise _Wrong(f"record {record.id} has {record.field(name)!r} as its {name}")
    if not record.block.endswith(b"\n"):
        raise _Wrong(f"record {record.id} does not end with a line end")
    try:
        return [json.loads(line) for line in record.block[:-1].split(b"\n")]
    except ValueError as error:
        raise _Wrong(f"record {record.id}: {error}") from error


def _end(records: Sequence[WarcRecord], lines: Sequence[dict[str, Any]]) -> str:
    """Return the reason in the last line, or "" without one. Raises _Wrong when the records say something else."""
    times = [line.get("ts", "") for line in lines]
    if times != sorted(times):
        raise _Wrong("the lines are not in the order of their times")
    is_there = bool(lines) and lines[-1].keys() == _END and lines[-1]["type"] == "end"
    end = str(lines[-1]["reason"]) if is_there else ""
    said = [record.field("WARC-Truncated") for record in records]
    if said != [*[""] * (len(records) - 1), "" if end == "closed" else end][: len(records)]:
        raise _Wrong(f"the records have WARC-Truncated {said}, and the log ends with {end!r}")
    return end


def _message(line: dict[str, Any]) -> tuple[Side, ScriptedMessage]:
    side = _SIDES.get(str(line.get("type")))
    if side is None or not line.keys() <= _KEYS or line.get("mask") is not (side == "client"):
        raise _Wrong(f"a line that is no message: {str(line)[:200]}")
    opcode, text = line["opcode"], line["payloadData"]
    payload = text.encode() if opcode == TEXT else b64decode(text, validate=True)
    return side, ScriptedMessage(opcode, payload, line.get("fragments", 1))


def _over(turns: Sequence[Turn], said: Sequence[tuple[Side, ScriptedMessage]]) -> int:
    """Return the number of whole turns. Raises _Wrong at a message that can't be the next one."""
    begun = 0
    left: dict[Side, deque[ScriptedMessage]] = {"client": deque(), "origin": deque()}
    for number, (side, message) in enumerate(said):
        if not any(left.values()) and begun < len(turns):
            left = {"client": deque(turns[begun].client), "origin": deque(turns[begun].origin)}
            begun += 1
        if not left[side] or left[side].popleft() != message:
            raise _Wrong(
                f"message {number}, the {side}'s with opcode {message.opcode}, was not the next in turn {begun}"
            )
    return begun - any(left.values())
