"""What comes behind the chunks of a response: in its block, and of a revisit, which has none, in the header."""

from __future__ import annotations

from pathlib import Path

from odd import chunked
from odd_responses import page
from origin import RawOrigin, Send
from proxying import RunningProxy

from archive.check import check

ADDRESS = "127.0.1.78"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
PAYLOAD = page(b"/page", 5000)


def test_a_revisit_has_its_own_trailers(tmp_path: Path) -> None:
    with RawOrigin(ADDRESS) as origin, RunningProxy(tmp_path / "home") as proxy:
        for number in (1, 2):
            body = chunked(PAYLOAD, trailers=b"X-Sum: %d\r\nServer-Timing: db;dur=5%%\r\n" % number)
            origin.script(f"/{number}", Send(HEAD + body))
            assert proxy.get(origin.url(f"/{number}")).body == PAYLOAD
        proxy.stop()

        (whole,) = proxy.records().of(origin.url("/1"), "response", "revisit")
        (revisit,) = proxy.records().of(origin.url("/2"), "response", "revisit")
    assert whole.kind == "response"
    assert whole.block.endswith(b"\r\n0\r\nX-Sum: 1\r\nServer-Timing: db;dur=5%\r\n\r\n")
    assert whole.field("WARC-HTTP-Trailer") is None
    assert (revisit.kind, revisit.block) == ("revisit", HEAD)
    said = [value for name, value in revisit.fields if name == "WARC-HTTP-Trailer"]
    assert said == ["X-Sum: 2", "Server-Timing: db;dur=5%25"]
    assert list(check(proxy.folder())) == []
