"""archive/warc/compression/gzip_member.py: members that every gzip reader understands."""

from __future__ import annotations

import gzip
import os
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.warc.compression.gzip_member import packed, packed_stream, stored_stream

BODIES = [b"", b"a", b"text " * 30_000, os.urandom(65_535), os.urandom(65_536), os.urandom(200_001)]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("body", BODIES, ids=len)
def test_members_unpack_to_what_went_in(body: bytes, level: int) -> None:
    pieces = [body[:10], b"", body[10:]]
    assert gzip.decompress(packed(body, level)) == body
    assert gzip.decompress(b"".join(packed_stream(pieces, level))) == body
    assert gzip.decompress(b"".join(stored_stream(b"head", pieces, level))) == b"head" + body


def test_stored_bytes_are_in_the_member_as_they_are() -> None:
    body = os.urandom(1000)
    assert body in b"".join(stored_stream(b"head", [body], 1))


def test_the_same_bytes_give_the_same_member() -> None:
    for member in (packed(b"a", 1), b"".join(packed_stream([b"a"], 1)), b"".join(stored_stream(b"a", [], 1))):
        assert member[:3] == b"\x1f\x8b\x08"
        assert member[4:8] == bytes(4), "no time in it"


@given(st.binary(max_size=300), st.lists(st.binary(max_size=300)))
def test_members_end_where_they_say(head: bytes, chunks: list[bytes]) -> None:
    unpack = zlib.decompressobj(31)
    data = b"".join(stored_stream(head, chunks, 1))
    assert unpack.decompress(data + b"next") == head + b"".join(chunks)
    assert unpack.unused_data == b"next"


def test_chunks_that_do_not_get_smaller_are_stored_and_the_others_packed() -> None:
    text, noise = b"a fern in the shade. " * 12_000, os.urandom(262_144)
    chunks = [b"head", text, *[noise] * 17, text, b"", noise]

    member = b"".join(packed_stream(chunks, 1))

    assert gzip.decompress(member) == b"".join(chunks)
    assert len(member) < 18 * len(noise) + len(text) // 2
    assert noise[:1000] in member
