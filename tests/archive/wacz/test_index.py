"""archive/wacz/index.py: keys as players compute them, and lines in blocks."""

from __future__ import annotations

import gzip

import pytest
from captured import capture

from archive.wacz.index import blocks, index_line, player_key


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.Example.com/A/B/?b=2&a=1&a=0", "com,example)/a/b/?a=0&a=1&b=2"),
        ("https://www12.example.com:8443/", "com,example:8443)/"),
        ("http://example.com:80", "com,example)/"),
        ("http://127.0.0.1:81/x", "1,0,0,127:81)/x"),
        ("http://[::1]:81/x", "[::1]:81)/x"),
        ("http://www.", "www)/"),
        ("http://example.com/?", "com,example)/"),
        ("http://example.com/ä?q=Ä", "com,example)/%c3%a4?q=%c3%84"),
        ("urn:text:http://example.com/", "urn:text:http://example.com/"),
        ("dns:two words", "dns:two%20words"),
    ],
)
def test_the_key_is_that_of_replayweb_page(url: str, expected: str) -> None:
    assert player_key(url) == expected


def test_a_line_names_the_place_in_the_package() -> None:
    line = index_line(capture("http://www.example.org/A", method="POST", request_body="q=Two"), "x.warc.gz", 7, 21)
    assert line == (
        'org,example)/a?__wb_method=post&q=two 20260102030405 {"url":"http://www.example.org/A","mime":"text/html","status":"200",'
        '"digest":"sha1:B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A","length":"21","offset":"7","filename":"x.warc.gz",'
        '"method":"POST","requestBody":"q=Two"}\n'
    )


def test_blocks_hold_all_lines_in_their_order() -> None:
    lines = [f"org,example)/{number:05} 20260102030405 {{}}\n" for number in range(6_001)]
    found = list(blocks(lines))
    assert len(found) == 3
    assert "".join(gzip.decompress(block.data).decode() for block in found) == "".join(lines)
    assert found[2].entry.startswith('org,example)/06000 20260102030405 {"offset":')
    assert list(blocks([])) == []
