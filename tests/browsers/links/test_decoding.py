"""The encoding of a document is found as browsers find it, whatever the document claims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from browsers.links.decoding import encoding_of, text_of


@pytest.mark.parametrize(
    ("body", "declared", "kind", "encoding"),
    [
        (b"plain", None, "html", "utf-8"),
        ("ü".encode(), None, "html", "utf-8"),
        ("ü".encode("latin-1"), None, "html", "windows-1252"),
        (b"x", "ISO-8859-1", "html", "cp1252"),
        (b"x", "'utf8'", "html", "utf-8"),
        (b"<meta charset=koi8-r>", None, "html", "koi8-r"),
        (b"<meta http-equiv=content-type content='text/html; charset=big5'>", None, "html", "big5hkscs"),
        (b"<meta charset=koi8-r>", "utf-8", "html", "utf-8"),
        (b"<meta charset=utf-16>", None, "html", "utf-8"),
        (b"\xef\xbb\xbfx", "latin1", "html", "utf-8"),
        (b"\xff\xfex\x00", None, "html", "utf-16-le"),
        (b"<?xml version='1.0' encoding='windows-1251'?>", None, "html", "cp1251"),
        (b'@charset "shift_jis";', None, "css", "cp932"),
        (b"<meta charset=koi8-r>", None, "css", "utf-8"),
        (b"x", "SJIS", "html", "cp932"),
        (b"<meta charset=windows-31j>", None, "html", "cp932"),
        (b"x", "windows-949", "html", "cp949"),
        (b"x", "windows-874", "html", "cp874"),
        (b"x", "iso-8859-8-i", "html", "iso8859-8"),
        (b"x", "x-cp1250", "html", "cp1250"),
        (b"x", "x-gbk", "html", "gb18030"),
        (b"x", "x-euc-jp", "html", "euc_jp"),
        (b"x", "utf_8_sig", "html", "utf-8"),
        (b"x", "hex", "html", "utf-8"),
        (b"x", "punycode", "html", "utf-8"),
        (b"x", "undefined", "html", "utf-8"),
        (b"x", "\x00", "html", "utf-8"),
    ],
)
def test_the_encoding_is_found_as_browsers_find_it(body: bytes, declared: str | None, kind: str, encoding: str) -> None:
    assert encoding_of(body, declared, kind) == encoding


@given(st.binary(max_size=200), st.text(max_size=12))
def test_junk_never_fails(body: bytes, label: str) -> None:
    assert "\x00" not in text_of(body, encoding_of(body, label))


def test_ascii_that_says_it_were_utf16_is_read_as_ascii() -> None:
    assert encoding_of(b"<a href=/x>", "utf-16") == "utf-8"
    assert encoding_of("<a href=/x>".encode("utf-16-le"), "utf-16le") == "utf-16-le"
