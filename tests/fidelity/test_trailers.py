"""What comes behind the chunks of a response: in its block, and of a revisit, which has none, in the header."""

from __future__ import annotations

from pathlib import Path

from support.origins.odd_response import chunked
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send
from support.proxy.running_proxy import RunningProxy

from archive.warc.upkeep.check import check

ADDRESS = "127.0.1.78"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
PAYLOAD = page(b"/page", 5000)


def test_a_revisit_has_its_own_trailers_and_what_has_them_without_end_is_kept_whole(tmp_path: Path) -> None:
    """A revisit's are in its header, and an origin must not be able to make that one which nobody reads."""
    trailers = {str(number): b"X-Sum: %d\r\nServer-Timing: db;dur=5%%\r\n" % number for number in (1, 2)}
    trailers["long"] = b"".join(b"X-%d: m\r\n" % number for number in range(500))
    trailers["again"] = b"X-Sum: 1\r\n"
    with RawOrigin(ADDRESS) as origin, RunningProxy(tmp_path / "home") as proxy:
        for name, lines in trailers.items():
            origin.script(f"/{name}", Send(HEAD + chunked(PAYLOAD, trailers=lines)))
            assert proxy.get(origin.url(f"/{name}")).body == PAYLOAD
        proxy.stop()

    found = {name: proxy.records().of(origin.url(f"/{name}"), "response", "revisit")[0] for name in trailers}
    kinds = {name: record.kind for name, record in found.items()}
    assert kinds == {"1": "response", "2": "revisit", "long": "response", "again": "revisit"}
    assert found["1"].block.endswith(b"\r\n0\r\nX-Sum: 1\r\nServer-Timing: db;dur=5%\r\n\r\n")
    assert found["1"].field("WARC-HTTP-Trailer") is None
    assert found["2"].block == HEAD
    said = [value for name, value in found["2"].fields if name == "WARC-HTTP-Trailer"]
    assert said == ["X-Sum: 2", "Server-Timing: db;dur=5%25"]
    assert found["long"].block == HEAD + chunked(PAYLOAD, trailers=trailers["long"])
    assert found["again"].field("WARC-Refers-To-Target-URI") == origin.url("/1")
    assert list(check(proxy.folder())) == []
