"""The log of a WebSocket in WARC files: which messages it must hold."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.faults.checks.check_input import CheckInput, Expectations
from bench.faults.checks.home_contents import HomeContents
from bench.faults.checks.records import WarcRecord
from bench.faults.checks.websocket_logs import check_conversations, websocket_logs
from bench.faults.traffic.conversation import (
    CLOSE,
    TEXT,
    Conversation,
    ScriptedMessage,
    Turn,
    handshake_response,
)

TARGET = "/some/socket/3"
URL = f"http://127.0.0.1{TARGET}"


class ArchivedConversation:
    """An archive that holds the conversation of TARGET as a recorder would have heard it, in records of three lines."""

    def __init__(self) -> None:
        self.turns = Conversation.at(TARGET).turns
        said = [
            (side, message) for turn in self.turns for side in ("client", "origin") for message in messages(turn, side)
        ]
        self.lines = [line(number, side, message) for number, (side, message) in enumerate(said)]
        self.end: list[dict[str, Any]] = [{"ts": time(len(said)), "type": "end", "reason": "closed"}]
        self.truncated = ""
        self.is_whole = True

    def check_input(self) -> CheckInput:
        lines = self.lines + self.end
        pieces = [lines[at : at + 3] for at in range(0, len(lines), 3)]
        records = [stored("handshake", "response", handshake_response(TARGET), {})]
        for number, piece in enumerate(pieces):
            block = "".join(json.dumps(one) + "\n" for one in piece).encode()
            truncated = self.truncated if number == len(pieces) - 1 else ""
            fields = {
                "WARC-Concurrent-To": "<urn:uuid:handshake>",
                "WARC-Date": piece[0]["ts"],
                "WARC-Resource-Type": "websocket",
                "Content-Type": "application/jsonl",
                "WARC-Truncated": truncated,
            }
            records.append(stored(f"messages-{number}", "resource", block, fields))
        expectations = Expectations(Path("home"), "faults", [], dedup_is_whole=self.is_whole)
        return CheckInput(expectations, HomeContents(records=records), {record.id: record for record in records})

    def problems(self) -> list[str]:
        return list(check_conversations(self.check_input()))


def messages(turn: Turn, side: str) -> tuple[ScriptedMessage, ...]:
    return turn.client if side == "client" else turn.origin


def time(number: int) -> str:
    return (datetime(2026, 11, 21, tzinfo=UTC) + timedelta(microseconds=number)).isoformat(timespec="microseconds")


def line(number: int, side: str, message: ScriptedMessage) -> dict[str, Any]:
    is_text = message.opcode == TEXT
    found: dict[str, Any] = {
        "ts": time(number),
        "type": "send" if side == "client" else "receive",
        "opcode": message.opcode,
        "mask": side == "client",
        "payloadData": message.payload.decode() if is_text else b64encode(message.payload).decode(),
    }
    return found | ({"fragments": message.fragments} if message.fragments > 1 else {})


def stored(name: str, kind: str, block: bytes, fields: dict[str, str]) -> WarcRecord:
    fields = {"WARC-Type": kind, "WARC-Record-ID": f"<urn:uuid:{name}>", "WARC-Target-URI": URL, **fields}
    return WarcRecord(Path("a.warc.gz"), 0, 0, {key.lower(): value for key, value in fields.items()}, block)


def test_a_whole_log_has_no_problem() -> None:
    archived = ArchivedConversation()
    assert len(archived.lines) > 6
    assert archived.problems() == []
    (found,) = websocket_logs(archived.check_input())
    assert (found.whole_turns, found.end) == (len(archived.turns), "closed")
    assert found.ended in (len(archived.turns), len(archived.turns) - 1)


def test_the_first_messages_are_enough_after_a_kill() -> None:
    whole = ArchivedConversation().lines
    for count in range(len(whole) + 1):
        archived = ArchivedConversation()
        archived.lines, archived.end, archived.is_whole = whole[:count], [], False
        assert archived.problems() == []
        assert websocket_logs(archived.check_input())[0].whole_turns <= count
    archived.is_whole = True
    assert archived.problems() == [f"{URL}: the log has no end"]


def test_a_truncated_log_names_its_reason() -> None:
    archived = ArchivedConversation()
    archived.lines, archived.truncated = archived.lines[:3], "disconnect"
    archived.end[0]["reason"] = "disconnect"
    assert archived.problems() == []
    archived.truncated = ""
    assert "WARC-Truncated" in archived.problems()[0]
    archived.end[0]["reason"] = "closed"
    assert "the log ends with 'closed' after" in archived.problems()[0]


def test_a_missing_doubled_or_changed_message_is_found() -> None:
    for at in range(len(ArchivedConversation().lines) - 1):
        archived = ArchivedConversation()
        del archived.lines[at]
        assert "was not the next" in archived.problems()[0], f"without {at}"
        archived = ArchivedConversation()
        archived.lines.insert(at, archived.lines[at])
        assert "was not the next" in archived.problems()[0], f"{at} twice"
        archived = ArchivedConversation()
        archived.lines[at]["fragments"] = 9
        assert "was not the next" in archived.problems()[0], f"{at} in other fragments"
        archived = ArchivedConversation()
        archived.lines[at]["mask"] = not archived.lines[at]["mask"]
        assert "is no message" in archived.problems()[0], f"{at} masked otherwise"


def test_messages_of_different_turns_must_not_be_exchanged() -> None:
    archived = ArchivedConversation()
    sides = [one["type"] for one in archived.lines]
    at = len(sides) - 1 - next(n for n, (a, b) in enumerate(zip(sides[::-1], sides[-2::-1], strict=False)) if a != b)
    archived.lines[at - 1], archived.lines[at] = archived.lines[at], archived.lines[at - 1]
    archived.lines[at - 1]["ts"], archived.lines[at]["ts"] = archived.lines[at]["ts"], archived.lines[at - 1]["ts"]
    assert archived.lines[at]["opcode"] == CLOSE
    assert "was not the next" in archived.problems()[0]


def test_messages_without_a_handshake_are_found() -> None:
    given = ArchivedConversation().check_input()
    del given.contents.records[0]
    assert list(check_conversations(given)) == ["messages are concurrent to handshake, which is no handshake"]


def test_a_doubled_handshake_is_found() -> None:
    given = ArchivedConversation().check_input()
    given.contents.records.append(stored("again", "response", handshake_response(TARGET), {}))
    assert f"{URL}: the handshake is kept twice" in list(check_conversations(given))
