"""Recorded WebSockets are read within bounds, whatever their lines hold."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from archive.warc.reading.reader import StoredRecord, read_record
from proxy.replay import conversation
from proxy.replay.conversation import Said, messages_in


def record(path: Path, block: bytes) -> StoredRecord:
    """A record of its own file with this block."""
    head = f"WARC/1.1\r\nWARC-Type: resource\r\nContent-Type: application/jsonl\r\nContent-Length: {len(block)}\r\n\r\n"
    path.write_bytes(head.encode() + block + b"\r\n\r\n")
    return read_record(path, 0)


def line(kind: str, opcode: int, text: str, **more: Any) -> bytes:
    return json.dumps({"type": kind, "opcode": opcode, "payloadData": text, **more}).encode() + b"\n"


def read(tmp_path: Path, *blocks: bytes) -> tuple[Said, ...]:
    return messages_in(record(tmp_path / f"{number}.warc", block) for number, block in enumerate(blocks))


def test_messages_come_in_order_from_all_records(tmp_path: Path) -> None:
    raw = base64.b64encode(b"\x00\xff").decode()
    first = line("receive", 1, "grüß dich") + line("send", 2, raw) + line("receive", 9, "")
    second = line("receive", 1, raw, base64=True) + line("receive", 8, base64.b64encode(b"\x03\xe8").decode())

    assert read(tmp_path, first, second + b'{"type":"end","reason":"closed"}\n') == (
        Said(False, 1, "grüß dich".encode()),
        Said(True, 2, b"\x00\xff"),
        Said(False, 1, b"\x00\xff"),
        Said(False, 8, b"\x03\xe8"),
    )


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"no JSON\n",
        b"[" * 100_000 + b"\n",
        b"[]\n",
        b'{"type":"receive","error":"x"}\n',
        line("receive", 1, "cut", truncated=True),
        line("receive", 1, "packed", compressed=True),
        line("receive", 2, "no base 64!"),
        line("other", 1, "x"),
        b'{"type":"receive","opcode":1,"payloadData":5}\n',
        b'{"type":"receive","opcode":[],"payloadData":"x"}\n',
        b"\xff\xfe\n",
    ],
)
def test_lines_that_hold_no_message_are_passed_over(tmp_path: Path, bad: bytes) -> None:
    assert read(tmp_path, bad + line("receive", 1, "good")) == (Said(False, 1, b"good"),)


def test_a_conversation_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "MAX_BYTES", 20_000)
    monkeypatch.setattr(conversation, "MAX_MESSAGES", 50)
    assert len(read(tmp_path, line("receive", 1, "x") * 500)) == 50
    assert len(read(tmp_path, line("receive", 1, "x" * 3_000) * 3, line("receive", 1, "x" * 3_000) * 50)) < 7
    assert read(tmp_path, line("receive", 1, "x" * 30_000)) == ()
