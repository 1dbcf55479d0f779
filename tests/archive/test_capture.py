"""archive/capture.py: bodies in memory and in files, and what an index says of a capture."""

from __future__ import annotations

import io

from support.archive.capture_rows import capture

from archive.capture import Body, Message


def test_body_gives_memory_first_and_its_file_from_the_start_each_time() -> None:
    body = Body((b"a", b"b"), io.BytesIO(b"c" * 600_000), 600_002)
    for _ in range(2):
        assert b"".join(body.chunks()) == b"ab" + b"c" * 600_000
    assert max(map(len, body.chunks())) < 600_000


def test_message_is_head_and_body() -> None:
    message = Message(b"head\r\n\r\n", Body((b"body",), None, 4))
    assert b"".join(message.chunks()) == b"head\r\n\r\nbody"
    assert message.length == 12


def test_revisit_has_its_own_media_type_in_an_index() -> None:
    assert capture().cdx_mime == "text/html"
    assert capture(kind="revisit").cdx_mime == "warc/revisit"
    assert capture(date="20260102030405").timestamp == "20260102030405"
