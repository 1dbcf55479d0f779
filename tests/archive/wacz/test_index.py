"""archive/wacz/index.py: lines with their places, in blocks."""

from __future__ import annotations

import gzip

from support.archive.capture_rows import capture

from archive.wacz.index import blocks, index_line


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
