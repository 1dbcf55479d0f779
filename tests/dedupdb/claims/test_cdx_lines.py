"""dedupdb/claims/cdx_lines.py: what is asked, and what is an answer."""

from __future__ import annotations

import base64
import hashlib
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive import url as urls
from archive.capture import Original
from archive.dates import now_micros, parse_date
from archive.settings.values import cdx_address
from dedupdb.claims.cdx_lines import original_in, target
from dedupdb.claims.claims import PayloadKey

URL = "http://example.org/a"
SHA1 = hashlib.sha1(b"hello", usedforsecurity=False).digest()
B32 = base64.b32encode(SHA1).decode()
ARCHIVE = "http://cdx.example.org/cdx"


def want(url: str = URL, border: str = "") -> PayloadKey:
    return PayloadKey("news", bytes(32), 5, border=border, url=url, digest=SHA1)


def found(answer: str | bytes, asked: PayloadKey | None = None) -> Original | None:
    data = answer if isinstance(answer, bytes) else answer.encode()
    return original_in(data, asked or want(), ARCHIVE, now_micros())


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "http://example.org/a?b=c&url=http://other.example/&d=%26#",
        "http://example.org/*",
        "http://example.org/ü?é=%C3%A9%",
        "http://example.org/\udcff",
    ],
)
def test_the_url_arrives_as_it_is(url: str) -> None:
    address = cdx_address.parse("http://cdx.example.org/web/cdx?key=k&output=json&filter=status:200")
    asked = urlsplit(target(address, want(url), parse_date("20260102030405")))

    assert asked.path == "/web/cdx"
    assert asked.query.isascii()
    assert parse_qsl(asked.query) == [
        ("key", "k"),
        ("filter", "status:200"),
        ("url", url.encode("utf-8", "replace").decode()),
        ("matchType", "exact"),
        ("output", "text"),
        ("fl", "timestamp,digest,original"),
        ("filter", "!mimetype:warc/revisit"),
        ("sort", "closest"),
        ("closest", "20260102030405"),
        ("limit", "20"),
        ("gzip", "false"),
    ]


@pytest.mark.parametrize("digest", [B32, B32.lower(), f"sha1:{B32}", SHA1.hex(), f"sha1:{SHA1.hex()}", f"SHA-1:{B32}"])
def test_a_line_with_the_digest_is_an_original(digest: str) -> None:
    expected = Original("", URL, parse_date("20240102030405"))

    assert found(f"20240102030405 {digest}\n") == expected
    assert found(f"20240102030405 {digest} {URL}\n") == expected
    assert found(f"20240102030405 {digest} -\n") == expected
    assert found(f"20240102030405678 {digest}") == expected


def test_the_urls_own_name_there_is_taken() -> None:
    original = found(f"20240102030405 {B32} http://www.example.org/a\n")

    assert original is not None
    assert (original.url, original.archive, original.record_id) == ("http://www.example.org/a", ARCHIVE, "")


def test_within_a_url_only_that_one_will_do() -> None:
    lines = f"20240102030405 {B32} https://example.org/a\n20250102030405 {B32} http://example.org/a\n"

    exact, equivalent = found(lines, want(border=URL)), found(lines, want(border=urls.key(URL)))
    assert exact is not None
    assert equivalent is not None
    assert (exact.url, equivalent.url) == (URL, "https://example.org/a")
    assert found(f"20240102030405 {B32} http://example.org/b\n", want(border=urls.key(URL))) is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "<html><body>504 Gateway Timeout</body></html>",
        f"org,example)/a 20240102030405 {URL} text/html 200 {B32} 123",
        f"20240102030405 {B32[::-1]} {URL}",
        f"20240102030405 sha256:{'0' * 64} {URL}",
        "20240102030405 - " + URL,
        f"20240102 {B32} {URL}",
        f"20240231030405 {B32} {URL}",
        f"00000102030405 {B32} {URL}",
        f"19500102030405 {B32} {URL}",
        f"99991231235959 {B32} {URL}",
        f"２０240102030405 {B32} {URL}",
        f"20240102030405 {B32} file:///etc/passwd",
        f"20240102030405 {B32} http://example.org/a\u202eb",
        f"20240102030405 {B32} http://example.org/\x00",
        b"20240102030405 " + B32.encode() + b" http://example.org/\xff",
        b"\x00\xff" * 1000,
        f'["20240102030405","{B32}"]',
    ],
)
def test_what_does_not_parse_is_no_capture(line: str | bytes) -> None:
    data = line if isinstance(line, bytes) else line.encode()

    assert found(data + b"\n") is None
    assert found(data + f"\n20240102030405 {B32} {URL}\n".encode()) is not None, "and hides no other"


STAMPS = st.from_regex(r"[0-9]{14}([0-9]{3})?", fullmatch=True) | st.text(max_size=20)
NAMED = st.text(max_size=30).map(lambda rest: f"http://{rest}")


@given(STAMPS, st.sampled_from([B32, SHA1.hex(), "-", "sha1:"]), NAMED, st.sampled_from(["", URL, urls.key(URL)]))
def test_whatever_a_server_says_what_is_found_can_be_written(stamp: str, digest: str, url: str, border: str) -> None:
    original = found(f"{stamp} {digest} {url}\n".encode("utf-8", "surrogatepass"), want(border=border))

    if original is not None:
        assert original.url.isprintable()
        assert " " not in original.url
        assert 0 < original.date <= now_micros()
        assert original.date % 1_000_000 == 0


@given(st.binary(max_size=300))
def test_whatever_bytes_a_server_sends_nothing_breaks(data: bytes) -> None:
    assert found(data) is None
