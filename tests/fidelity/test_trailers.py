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


def test_what_has_trailers_without_end_is_kept_whole(tmp_path: Path) -> None:
    """A revisit's are in its header, and an origin must not be able to make that one which nobody reads."""
    long = b"".join(b"X-%d: m\r\n" % number for number in range(500))
    with RawOrigin(ADDRESS) as origin, RunningProxy(tmp_path / "home") as proxy:
        for name, trailers in (("first", b""), ("long", long), ("again", b"X-Sum: 1\r\n")):
            origin.script(f"/{name}", Send(HEAD + chunked(PAYLOAD, trailers=trailers)))
            assert proxy.get(origin.url(f"/{name}")).body == PAYLOAD
        proxy.stop()

        records = {
            name: proxy.records().of(origin.url(f"/{name}"), "response", "revisit")[0] for name in ("long", "again")
        }
    assert {name: record.kind for name, record in records.items()} == {"long": "response", "again": "revisit"}
    assert records["long"].block == HEAD + chunked(PAYLOAD, trailers=long)
    assert records["again"].field("WARC-Refers-To-Target-URI") == origin.url("/first")
    assert list(check(proxy.folder())) == []
