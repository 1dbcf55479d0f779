"""An answer as it is sent to a client of HTTP/1.1, read back into its parts, however it is cut."""

from __future__ import annotations

import pytest

from proxy.protocol.answer import AnswerPart, AnswerReader
from proxy.protocol.http1 import ResponseHead

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=1\r\n me\r\n0\r\nX-Sum: 1\r\nx-b:2\r\n\r\n"
)
LENGTH = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhello"


def read(method: str, *pieces: bytes) -> list[AnswerPart]:
    reader = AnswerReader(method)
    return [part for piece in pieces for part in reader.feed(piece)]


def payload(parts: list[AnswerPart]) -> bytes:
    return b"".join(part for part in parts if isinstance(part, bytes))


def statuses(parts: list[AnswerPart]) -> list[int]:
    return [part.status for part in parts if isinstance(part, ResponseHead)]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks_become_payload_and_trailers(size: int) -> None:
    parts = read("GET", *(CHUNKED[at : at + size] for at in range(0, len(CHUNKED), size)))

    assert (statuses(parts), payload(parts)) == ([200], b"hello me")
    assert parts[-1] == ((b"X-Sum", b"1"), (b"x-b", b"2"))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_interim_heads_come_before_the_final_one(size: int) -> None:
    parts = read("GET", *(LENGTH[at : at + size] for at in range(0, len(LENGTH), size)))

    assert (statuses(parts), payload(parts)) == ([100, 404], b"hello")


def test_the_answer_to_a_head_has_no_body() -> None:
    reader = AnswerReader("HEAD")
    (head,) = reader.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")

    assert isinstance(head, ResponseHead)
    assert (reader.has_begun, reader.framing.value) == (True, "none")
