"""Bodies are unpacked within bounds, whatever they claim to be."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from browsers.links.decoding import Decoded, decode, encoding_of, gunzip, text_of

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


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "unknown"])
def test_a_wrong_coding_gives_nothing(coding: str) -> None:
    assert decode(b"no such thing", coding, LIMIT) == Decoded(b"", "broken")


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
    body = pack(bytes(60_000_000))

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


@pytest.mark.parametrize(
    ("body", "declared", "kind", "encoding"),
    [
        (b"plain", None, "html", "utf-8"),
        ("ü".encode(), None, "html", "utf-8"),
        ("ü".encode("latin-1"), None, "html", "windows-1252"),
        (b"x", "ISO-8859-1", "html", "cp1252"),
        (b"x", "'utf8'", "html", "utf-8"),
        (b"<meta charset=koi8-r>", None, "html", "koi8-r"),
        (b"<meta http-equiv=content-type content='text/html; charset=big5'>", None, "html", "big5"),
        (b"<meta charset=koi8-r>", "utf-8", "html", "utf-8"),
        (b"<meta charset=utf-16>", None, "html", "utf-8"),
        (b"\xef\xbb\xbfx", "latin1", "html", "utf-8"),
        (b"\xff\xfex\x00", None, "html", "utf-16-le"),
        (b"<?xml version='1.0' encoding='windows-1251'?>", None, "html", "cp1251"),
        (b'@charset "shift_jis";', None, "css", "cp932"),
        (b"<meta charset=koi8-r>", None, "css", "utf-8"),
        (b"x", "hex", "html", "utf-8"),
        (b"x", "punycode", "html", "utf-8"),
        (b"x", "undefined", "html", "utf-8"),
        (b"x", "\x00", "html", "utf-8"),
    ],
)
def test_the_encoding_is_found_as_browsers_find_it(body: bytes, declared: str | None, kind: str, encoding: str) -> None:
    assert encoding_of(body, declared, kind) == encoding


@given(st.binary(max_size=200), st.text(max_size=12), st.sampled_from(["gzip", "br", "zstd", "deflate", "", "x"]))
def test_junk_never_fails(body: bytes, label: str, coding: str) -> None:
    data = decode(body, coding, LIMIT).data
    assert "\x00" not in text_of(data, encoding_of(data, label))
