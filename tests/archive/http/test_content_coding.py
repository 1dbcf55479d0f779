"""Bodies are unpacked within bounds, whatever they claim to be."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from archive.http.content_coding import Decoded, decode, gunzip

TEXT = b"<p>The pond is frozen.</p>" * 40
LIMIT = 1 << 22


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("", TEXT),
        ("identity", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        ("GZIP ", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)[2:-4]),
        ("br", brotli.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT)),
        ("gzip, br", brotli.compress(gzip.compress(TEXT))),
    ],
)
def test_every_coding_of_the_web_is_undone(coding: str, body: bytes) -> None:
    assert decode(body, coding, LIMIT) == Decoded(TEXT)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "none", "UTF-8", "binary", "gzip, br", "compress"])
def test_a_text_that_is_not_in_the_named_coding_is_taken_as_it_is(coding: str) -> None:
    for text in (TEXT, b"User-agent: *\nDisallow: /a\n", "Ü,".encode(), b"x", b"", b"#EXTM3U\na.m3u8"):
        assert decode(text, coding, LIMIT) == Decoded(text)


@pytest.mark.parametrize("named", ["gzip, gzip", "none, gzip", "gzip, none", "gzip, br", "zstd, gzip", "deflate"])
def test_a_coding_that_was_not_applied_hides_none_that_was(named: str) -> None:
    for moment in range(1_795_000_000, 1_795_000_200):  # a gzip file has the time, and brotli takes some for its own
        assert decode(gzip.compress(TEXT, mtime=moment), named, LIMIT) == Decoded(TEXT)


def test_members_and_frames_are_read_to_the_last_one() -> None:
    assert decode(gzip.compress(TEXT) * 2 + b"more", "gzip", LIMIT) == Decoded(TEXT * 2)
    assert decode(zstandard.compress(TEXT) * 2, "zstd", LIMIT) == Decoded(TEXT * 2)


def test_a_coding_that_breaks_off_in_the_middle_gives_its_beginning() -> None:
    noise = b"".join(b"%d," % (number * 7919) for number in range(9000))
    packed = gzip.compress(noise)
    half = len(packed) // 2

    decoded = decode(packed[:half] + bytes(200) + packed[half + 200 :], "gzip", LIMIT)

    assert decoded.problem == "broken"
    assert len(decoded.data) > 1000
    assert decoded.data[:1000] == noise[:1000]


def test_a_body_of_empty_members_is_a_bomb() -> None:
    assert decode(gzip.compress(b"") * 20_000, "gzip", LIMIT) == Decoded(b"", "bomb")


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_body_that_ends_short_gives_what_there_is(coding: str) -> None:
    noise = b"".join(b"%d," % (number * 7919) for number in range(9000))
    whole = gzip.compress(noise) if coding == "gzip" else brotli.compress(noise, quality=1)

    decoded = decode(whole[: len(whole) // 2], coding, LIMIT)

    assert decoded.problem == "broken"
    assert noise.startswith(decoded.data)


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("br", lambda data: brotli.compress(data, quality=1)),
        ("zstd", zstandard.compress),
        ("deflate", zlib.compress),
        ("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
    ],
)
def test_a_bomb_is_stopped(coding: str, pack: object) -> None:
    assert callable(pack)
    body = pack(bytes(20_000_000))

    decoded = decode(body, coding, 1 << 26)

    assert decoded.problem == "bomb"
    assert len(decoded.data) <= max(1 << 20, len(body) * 500)


def test_a_long_list_of_codings_is_a_bomb() -> None:
    assert decode(TEXT, ", ".join(["gzip"] * 100), LIMIT) == Decoded(b"", "bomb")


def test_what_is_larger_than_the_limit_is_cut_and_said_so() -> None:
    noise = b"".join(b"%d," % number for number in range(1000))

    assert decode(gzip.compress(noise), "gzip", 100) == Decoded(noise[:100], "capped")
    assert decode(noise, "", 100) == Decoded(noise[:100], "capped")


def test_only_gzip_files_are_gunzipped() -> None:
    assert gunzip(gzip.compress(TEXT), LIMIT) == Decoded(TEXT)
    assert gunzip(TEXT, LIMIT) == Decoded(TEXT)


@given(st.binary(max_size=200), st.sampled_from(["gzip", "br", "zstd", "deflate", "", "x"]))
def test_junk_never_fails(body: bytes, coding: str) -> None:
    assert isinstance(decode(body, coding, LIMIT), Decoded)
