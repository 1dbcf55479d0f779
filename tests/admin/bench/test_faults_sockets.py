"""WebSockets of the fault campaign: its frames, what is said over them, and what an archive must hold of that."""

from __future__ import annotations

import json
import random
import socket
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from websocket import frame

from admin.bench.faults.case import Case, Evidence
from admin.bench.faults.conversation import BINARY, CLOSE, PING, TEXT, Conversation, Side, Turn, Word, agreement
from admin.bench.faults.frames import Garbled, read, written
from admin.bench.faults.heard import conversations, heard
from admin.bench.faults.reader import Broken, Reader
from admin.bench.faults.records import Stored
from admin.bench.faults.talking import talk
from admin.bench.faults.traces import Traces

TARGET = "/some/socket/3"
URL = f"http://127.0.0.1{TARGET}"
SIZES = (0, 1, 125, 126, 65_535, 65_536, 70_001)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        one.settimeout(30)
        other.settimeout(30)
        yield one, other


@pytest.mark.parametrize("fragments", [1, 2, 5])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("masks", [None, random.Random(1)])
def test_what_is_written_is_read(
    pair: tuple[socket.socket, socket.socket], size: int, fragments: int, masks: random.Random | None
) -> None:
    word = Word(BINARY, random.Random(size).randbytes(size), fragments)
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(pair[0].sendall, written(word, masks))
        assert read(Reader(pair[1]), masked=masks is not None) == word
        sending.result()


@pytest.mark.parametrize("size", SIZES)
def test_frames_are_those_of_others(size: int) -> None:
    payload = random.Random(size).randbytes(size)
    key = random.Random(1).randbytes(4)
    assert written(Word(BINARY, payload), None) == frame(BINARY, payload)
    assert written(Word(BINARY, payload), random.Random(1)) == frame(BINARY, payload, mask=key)


@pytest.mark.parametrize(
    "sent",
    [
        b"\xc1\x00",
        frame(TEXT, b"masked", mask=b"mask"),
        frame(TEXT, b"a", fin=False) + frame(TEXT, b"b"),
        frame(PING, b"a", fin=False),
    ],
)
def test_other_frames_are_garbled(pair: tuple[socket.socket, socket.socket], sent: bytes) -> None:
    pair[0].sendall(sent)
    with pytest.raises(Garbled):
        read(Reader(pair[1]), masked=False)


def test_a_conversation_is_held_to_its_end(pair: tuple[socket.socket, socket.socket]) -> None:
    def held(stream: socket.socket, side: Side) -> list[int]:
        return list(talk(stream, Reader(stream), TARGET, side))

    with ThreadPoolExecutor(1) as pool:
        client = pool.submit(held, pair[0], "client")
        count = len(Conversation.at(TARGET).turns)
        assert held(pair[1], "origin") == list(range(count + 1))
        assert client.result() == list(range(count + 1))


def test_an_end_too_early_is_broken(pair: tuple[socket.socket, socket.socket]) -> None:
    target = next(path for path in map("/a/socket/{}".format, range(100)) if Conversation.at(path).turns[0].origin)
    with closing(pair[1]):
        talking = talk(pair[0], Reader(pair[0]), target, "client")
        assert next(talking) == 0
    with pytest.raises((Broken, ConnectionError)):
        next(talking)


def test_conversations_differ_and_are_always_the_same() -> None:
    found = [Conversation.at(f"/a/socket/{number}") for number in range(100)]
    words = [word for one in found for turn in one.turns for word in turn.client + turn.origin]
    assert found == [Conversation.at(f"/a/socket/{number}") for number in range(100)]
    assert {len(one.turns) - one.ended for one in found} == {0, 1}, "either side may close first"
    assert {len(word.payload) for word in words} > {125, 126, 65_535, 65_536}
    assert any(turn.client and turn.origin for one in found for turn in one.turns)
    assert [word.payload.decode() for word in words if word.opcode == TEXT]


class Told:
    """An archive that holds the conversation of TARGET as a recorder would have heard it, in records of three lines."""

    def __init__(self) -> None:
        self.turns = Conversation.at(TARGET).turns
        said = [(side, word) for turn in self.turns for side in ("client", "origin") for word in words(turn, side)]
        self.lines = [line(number, side, word) for number, (side, word) in enumerate(said)]
        self.end: list[dict[str, Any]] = [{"ts": time(len(said)), "type": "end", "reason": "closed"}]
        self.truncated = ""
        self.is_whole = True

    def case(self) -> Case:
        lines = self.lines + self.end
        pieces = [lines[at : at + 3] for at in range(0, len(lines), 3)]
        records = [stored("handshake", "response", agreement(TARGET), {})]
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
        evidence = Evidence(Path("home"), "faults", [], dedup_is_whole=self.is_whole)
        return Case(evidence, Traces(records=records), {record.id: record for record in records})

    def problems(self) -> list[str]:
        return list(conversations(self.case()))


def words(turn: Turn, side: str) -> tuple[Word, ...]:
    return turn.client if side == "client" else turn.origin


def time(number: int) -> str:
    return (datetime(2026, 11, 21, tzinfo=UTC) + timedelta(microseconds=number)).isoformat(timespec="microseconds")


def line(number: int, side: str, word: Word) -> dict[str, Any]:
    is_text = word.opcode == TEXT
    found: dict[str, Any] = {
        "ts": time(number),
        "type": "send" if side == "client" else "receive",
        "opcode": word.opcode,
        "mask": side == "client",
        "payloadData": word.payload.decode() if is_text else b64encode(word.payload).decode(),
    }
    return found | ({"fragments": word.fragments} if word.fragments > 1 else {})


def stored(name: str, kind: str, block: bytes, fields: dict[str, str]) -> Stored:
    fields = {"WARC-Type": kind, "WARC-Record-ID": f"<urn:uuid:{name}>", "WARC-Target-URI": URL, **fields}
    return Stored(Path("a.warc.gz"), 0, 0, {key.lower(): value for key, value in fields.items()}, block)


def test_all_that_was_said_is_in_order() -> None:
    told = Told()
    assert len(told.lines) > 6
    assert told.problems() == []
    (found,) = heard(told.case())
    assert (found.over, found.end) == (len(told.turns), "closed")
    assert found.ended in (len(told.turns), len(told.turns) - 1)


def test_every_beginning_is_in_order_after_a_kill() -> None:
    whole = Told().lines
    for count in range(len(whole) + 1):
        told = Told()
        told.lines, told.end, told.is_whole = whole[:count], [], False
        assert told.problems() == []
        assert heard(told.case())[0].over <= count
    told.is_whole = True
    assert told.problems() == [f"{URL}: what was said is kept without its end"]


def test_what_was_cut_says_why() -> None:
    told = Told()
    told.lines, told.truncated = told.lines[:3], "disconnect"
    told.end[0]["reason"] = "disconnect"
    assert told.problems() == []
    told.truncated = ""
    assert "WARC-Truncated" in told.problems()[0]
    told.end[0]["reason"] = "closed"
    assert "it ends with 'closed' after" in told.problems()[0]


def test_a_gap_a_copy_a_change_and_a_stranger_are_found() -> None:
    for at in range(len(Told().lines) - 1):
        told = Told()
        del told.lines[at]
        assert "was not the next" in told.problems()[0], f"without {at}"
        told = Told()
        told.lines.insert(at, told.lines[at])
        assert "was not the next" in told.problems()[0], f"{at} twice"
        told = Told()
        told.lines[at]["fragments"] = 9
        assert "was not the next" in told.problems()[0], f"{at} in other fragments"
        told = Told()
        told.lines[at]["mask"] = not told.lines[at]["mask"]
        assert "nobody said" in told.problems()[0], f"{at} masked otherwise"


def test_turns_must_not_be_mixed() -> None:
    told = Told()
    sides = [one["type"] for one in told.lines]
    at = len(sides) - 1 - next(n for n, (a, b) in enumerate(zip(sides[::-1], sides[-2::-1], strict=False)) if a != b)
    told.lines[at - 1], told.lines[at] = told.lines[at], told.lines[at - 1]
    told.lines[at - 1]["ts"], told.lines[at]["ts"] = told.lines[at]["ts"], told.lines[at - 1]["ts"]
    assert told.lines[at]["opcode"] == CLOSE
    assert "was not the next" in told.problems()[0]


def test_messages_of_no_handshake_are_found() -> None:
    case = Told().case()
    del case.traces.records[0]
    assert list(conversations(case)) == ["messages are concurrent to handshake, which is no handshake"]


def test_a_handshake_twice_is_found() -> None:
    case = Told().case()
    case.traces.records.append(stored("again", "response", agreement(TARGET), {}))
    assert f"{URL}: its handshake is kept twice" in list(conversations(case))
