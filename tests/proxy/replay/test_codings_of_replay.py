"""Replay sends the codings that a payload has and that the client takes, and no header of the recorded connection."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from itertools import product

import brotli
import pytest
import zstandard
from support.archive.foreign_warcs import http
from support.archive.imported_collection import ImportedShelf, made

from archive.settings.load import Settings
from proxy.protocol.byte_range import ByteRange
from proxy.replay import undone_codings
from proxy.replay.undone_codings import accepts, true_codings, undone

URL = "http://hill.example/"
PAGE = b"<!doctype html><title>t</title><p>visible " + b"and long " * 20_000
RAW = zlib.compressobj(wbits=-15)
WITHOUT_HEAD = RAW.compress(PAGE) + RAW.flush()
CODED = {
    "gzip": gzip.compress(PAGE),
    "x-gzip": gzip.compress(PAGE[:9]) + gzip.compress(PAGE[9:]),
    "deflate": zlib.compress(PAGE),
    "br": brotli.compress(PAGE),
    "zstd": zstandard.compress(PAGE),
    "gzip, br": brotli.compress(gzip.compress(PAGE)),
}
EVERY = "gzip, deflate, br, zstd"


@pytest.fixture
def shelf(settings: Settings) -> Iterator[ImportedShelf]:
    with ImportedShelf(settings) as opened:
        yield opened


def test_each_coding_is_sent_to_clients_that_take_it_and_undone_for_others(shelf: ImportedShelf) -> None:
    for at, (coding, body) in enumerate(CODED.items()):
        url = f"{URL}{at}"
        lines = (
            f"Content-Encoding: {coding}",
            'ETag: "1"',
            "Content-MD5: x",
            "Digest: y",
            "Repr-Digest: z",
            "Last-Modified: a",
        )
        shelf.take(made("response", url, http(body, "200 OK", *lines))[0], name=f"{at}.warc.gz")

        taken = shelf.heard(url, None, EVERY)
        assert taken is not None
        assert taken[1] == body
        assert f"\r\nContent-Encoding: {coding}\r\n".encode() in taken[0]
        for accepted in (
            (),
            ("",),
            ("identity",),
            (f"{coding};q=0, *",),
            ("br;q=0, gzip;q=0.000, deflate;q=0, zstd;q=0",),
        ):
            found = shelf.heard(url, None, *accepted)
            assert found is not None
            head = found[0].lower()
            assert found[1] == PAGE, (coding, accepted)
            assert b"\r\ncontent-length: %d\r\n" % len(PAGE) in head
            assert b"\r\nvary: accept-encoding\r\n" in head
            assert b"\r\nlast-modified: a\r\n" in head
            assert not [
                name for name in (b"content-encoding", b"etag", b"content-md5", b"digest") if b"\n%b:" % name in head
            ]

        part = shelf.heard(url, None, ranges=(ByteRange(10, 19),))
        assert part is not None
        assert (part[0].split(b" ")[1], part[1]) == (b"206", PAGE[10:20])
        asked = shelf.heard(url, None, method="HEAD")
        assert asked is not None
        assert b"\r\nContent-Length: %d\r\n" % len(PAGE) in asked[0]
        assert asked[1] == b""


FALSE = ("gzip", "deflate", "br", "zstd", "compress", "none", "UTF-8", "binary", "gzip, gzip", "identity")


def test_a_coding_that_the_body_does_not_have_is_left_out(shelf: ImportedShelf) -> None:
    for at, (coding, body) in enumerate(product(FALSE, (b"short", PAGE))):
        url = f"{URL}{at}"
        lines = (f"Content-Encoding: {coding}", "Content-MD5: of the coded body", f"Content-Length: {len(body)}")
        shelf.take(made("response", url, http(body, "200 OK", *lines))[0], name=f"{at}.warc.gz")

        for accepted in (EVERY, "identity"):
            found = shelf.heard(url, None, accepted)
            assert found is not None, coding
            assert found[1] == body, coding
            assert b"content-encoding" not in found[0].lower().replace(b"content-encoding: identity", b""), coding
            assert coding == "identity" or b"Content-MD5" not in found[0], coding


def test_one_of_two_codings_is_true(shelf: ImportedShelf) -> None:
    shelf.take(
        made("response", URL, http(CODED["gzip"], "200 OK", "Content-Encoding: gzip", "Content-Encoding: br"))[0]
    )

    found = shelf.heard(URL, None, EVERY)

    assert found is not None
    assert found[0].count(b"Content-Encoding") == 1
    assert b"\r\nContent-Encoding: gzip\r\n" in found[0]
    assert gzip.decompress(found[1]) == PAGE


def test_a_body_that_is_cut_off_or_damaged_is_sent_as_far_as_it_goes(shelf: ImportedShelf) -> None:
    for at, body in enumerate((CODED["gzip"][:200], CODED["gzip"][:-8] + bytes(8), CODED["gzip"] + b"junk")):
        url = f"{URL}{at}"
        shelf.take(made("response", url, http(body, "200 OK", "Content-Encoding: gzip"))[0], name=f"{at}.warc.gz")

        plain, coded = shelf.ask(url), shelf.ask(url, None, "gzip")

        assert plain is not None
        assert plain[1]
        assert PAGE.startswith(plain[1])
        assert coded == (200, body)


def test_a_bomb_keeps_its_coding(shelf: ImportedShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undone_codings, "MOST_UNDONE", 1_000_000)
    bomb = gzip.compress(bytes(2_000_000))
    shelf.take(made("response", URL, http(bomb, "200 OK", "Content-Encoding: gzip"))[0])

    assert shelf.ask(URL) == (200, bomb)


@pytest.mark.parametrize("coding", CODED)
def test_pieces_of_any_size_give_the_content(coding: str) -> None:
    names = tuple(word.strip().encode() for word in coding.split(","))
    body = CODED[coding]
    for size in (1, 7, 1000):
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        assert b"".join(undone(pieces, names)) == PAGE
    assert true_codings(names, body, is_whole=True) == names


def test_deflate_without_a_head_is_known() -> None:
    assert true_codings((b"deflate",), WITHOUT_HEAD, is_whole=True) == (b"deflate",)
    assert b"".join(undone((WITHOUT_HEAD,), (b"deflate",))) == PAGE


def test_weights_of_codings() -> None:
    def taken(value: str, *codings: bytes) -> bool:
        return accepts(((b"accept-encoding", value.encode(), b""),), codings)

    assert taken("GZIP", b"x-gzip")
    assert taken("*", b"br")
    assert taken("gzip;q=0.1, br", b"gzip", b"br")
    assert not taken("*;q=0, gzip", b"br")
    assert not taken("gzip; q=0", b"gzip")
    assert not taken("*, br;q=0.0", b"br")
    assert not accepts((), (b"gzip",))


def test_headers_of_the_recorded_connection_are_not_sent(shelf: ImportedShelf) -> None:
    lines = (
        "Connection: close, X-Hop", "X-Hop: 1", "Keep-Alive: 5", "Proxy-Connection: x", "TE: x",
        "Proxy-Authenticate: Basic", "Upgrade: h2c", "Trailer: X", 'Alt-Svc: h3=":443"',
        "Strict-Transport-Security: max-age=1", "Set-Cookie: a=1",
        "Link: </x>; rel=preload", 'Clear-Site-Data: "cache"', "X-Kept: 1",
    )  # fmt: skip
    shelf.take(made("response", URL, http(b"body", "200 OK", *lines))[0])

    found = shelf.heard(URL)

    assert found is not None
    names = {line.partition(b":")[0].lower() for line in found[0].split(b"\r\n")[1:-2]}
    kept = {b"set-cookie", b"link", b"clear-site-data", b"x-kept"}
    dropped = {line.partition(":")[0].lower().encode() for line in lines} - kept
    assert kept <= names
    assert not dropped & names
