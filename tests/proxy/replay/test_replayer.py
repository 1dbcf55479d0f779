"""The same proxy the other way round: everything from the archive, nothing from the live web."""

from __future__ import annotations

import random
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from support.clients.raw_client import Client, Reply
from support.clients.websocket import BINARY, BYE, CLOSE, HANDSHAKE, PING, TEXT, SocketOrigin, frame
from support.origins.odd_responses import OK, chunked, page
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.proxy_process import ADDRESS, ProxyProcess
from support.proxy.running_proxy import credentials, request

PAGE = page(b"the page")
FILM = random.Random(5).randbytes(3_000_000)


@dataclass(frozen=True)
class Stage:
    """A stage has recorded pages in a collection of its own, and a session that replays them."""

    proxy: ProxyProcess
    origin: RawOrigin
    collection: str
    session: dict[str, Any]

    def open(self) -> Client:
        return Client(socket.create_connection((self.session["host"], self.session["port"]), 30))

    def get(self, path: str, *lines: str, method: str = "GET", body: bytes = b"") -> Reply:
        with self.open() as client:
            return client.ask(request("plain", self.origin.url(path), *lines, method=method, body=body))


@pytest.fixture(scope="module")
def stage(_shared_proxy: ProxyProcess) -> Iterator[Stage]:
    proxy = _shared_proxy
    with RawOrigin(ADDRESS) as origin:
        origin.script("/page", Send(response(PAGE, b"Content-Type: text/html", b"Connection: keep-alive")))
        origin.script("/chunks", Send(OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"in ", b"chunks")))
        origin.script("/film", Send(response(FILM, b"Content-Type: video/mp4")))
        origin.answer("/form", lambda asked: (Send(response(asked.split(b" ")[0] + page(b"form"))),))
        origin.script("/reset", Send(response(page(b"reset"), status=b"205 Reset Content")))
        origin.script("/bare-cr", Send(response(page(b"bare"), b"X-A: 1\rTransfer-Encoding: chunked", b"B\rC: 2")))
        origin.script("/gone", Send(response(page(b"gone"), status=b"410 Gone")))
        collection = f"shown-{origin.port}"
        recording = proxy.session(collection=collection, listen=True)
        with Client(socket.create_connection((recording["host"], recording["port"]), 30)) as client:
            for path in ("/page", "/page?copy", "/chunks", "/film", "/bare-cr", "/gone"):
                if path == "/page?copy":
                    origin.script(path, Send(response(PAGE, b"Content-Type: text/plain")))
                client.ask(request("plain", origin.url(path)))
            client.ask(request("plain", origin.url("/form"), method="POST", body=b"a=b"))
            for body in (b'{"q": "moss"}', b'{"q": "fern"}'):
                origin.script("/search", Send(response(page(body))))
                kind = "Content-Type: application/json"
                client.ask(request("plain", origin.url("/search"), kind, method="POST", body=body))
            client.ask(request("plain", origin.url("/reset")))
        with Client(socket.create_connection((recording["host"], recording["port"]), 30)) as client:
            origin.script("/asked-by-head", Send(b"HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n"))
            client.ask(request("plain", origin.url("/asked-by-head"), method="HEAD"))
        with proxy.connect() as client:
            lines = ("WARC-Type: resource", "Content-Type: text/html; charset=utf-8", credentials(recording))
            head = (f"WARCPROX_WRITE_RECORD {origin.url('/written')} HTTP/1.1", *lines, "Content-Length: 10", "", "")
            client.send("\r\n".join(head).encode() + b"<p>written")
            assert client.read_reply().status == 204
        proxy.control("DELETE", f"/sessions/{recording['id']}")
        proxy.index()
        visits = len(origin.visits)
        yield Stage(proxy, origin, collection, proxy.session(collection=collection, mode="replay", listen=True))
        assert len(origin.visits) == visits, "the live web was asked"


def test_an_archived_page_comes_back(stage: Stage) -> None:
    reply = stage.get("/page")

    assert (reply.status, reply.body, reply.header("Content-Type")) == (200, PAGE, "text/html")
    assert reply.header("Memento-Datetime")


def test_a_record_that_a_client_wrote_comes_back(stage: Stage) -> None:
    """T40."""
    reply = stage.get("/written")

    assert (reply.status, reply.body, reply.header("Content-Type")) == (200, b"<p>written", "text/html; charset=utf-8")
    assert reply.header("Memento-Datetime")


def test_a_revisit_comes_back_with_its_own_head(stage: Stage) -> None:
    assert len(stage.proxy.records(stage.collection).kinds("revisit")) == 1

    reply = stage.get("/page?copy")

    assert (reply.body, reply.header("Content-Type")) == (PAGE, "text/plain")


def test_chunks_are_taken_off(stage: Stage) -> None:
    reply = stage.get("/chunks")

    assert (reply.body, reply.header("Content-Length")) == (b"in chunks", "9")


def test_errors_come_back_as_they_were(stage: Stage) -> None:
    assert stage.get("/gone").status == 410


@pytest.mark.parametrize(
    ("value", "start", "stop"), [("0-99", 0, 100), ("2000000-", 2_000_000, 3_000_000), ("-5", 2_999_995, 3_000_000)]
)
def test_a_range_is_cut_out(stage: Stage, value: str, start: int, stop: int) -> None:
    reply = stage.get("/film", f"Range: bytes={value}")

    assert (reply.status, reply.body) == (206, FILM[start:stop])
    assert reply.header("Content-Range") == f"bytes {start}-{stop - 1}/3000000"


def test_several_requests_share_a_connection(stage: Stage) -> None:
    paths = ["/page", "/film", "/missing", "/chunks"]
    with stage.open() as client:
        client.send(b"".join(request("plain", stage.origin.url(path)) for path in paths))
        replies = [client.read_reply() for _ in paths]

    assert [reply.status for reply in replies] == [200, 200, 404, 200]
    assert replies[1].body == FILM


def test_behind_a_205_with_a_body_the_connection_ends(stage: Stage) -> None:
    """Browsers take the body for their next response."""
    with stage.open() as client:
        reply = client.ask(request("plain", stage.origin.url("/reset")))
        assert client.is_closed_by_proxy()

    assert (reply.status, reply.header("Connection"), reply.body) == (205, "close", page(b"reset"))


def test_bare_carriage_returns_come_back_as_spaces(stage: Stage) -> None:
    """Chromium takes each for the end of a line, and would find another end of the body than the proxy."""
    reply = stage.get("/bare-cr")

    assert reply.body == page(b"bare")
    assert reply.header("X-A") == "1 Transfer-Encoding: chunked"
    assert reply.head.count(b"\r") == reply.head.count(b"\r\n")
    assert b"C: 2" not in reply.head


def test_an_old_client_hears_that_its_connection_stays(stage: Stage) -> None:
    with stage.open() as client:
        asked = f"GET {stage.origin.url('/page')} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".encode()
        replies = [client.ask(asked) for _ in range(2)]

    assert [(reply.body, reply.header("Connection")) for reply in replies] == [(PAGE, "keep-alive")] * 2


def test_what_was_captured_by_head_has_the_length_that_was_told(stage: Stage) -> None:
    reply = stage.get("/asked-by-head", method="HEAD")

    assert (reply.status, reply.header("Content-Length"), reply.body) == (200, "12345", b"")


def test_without_its_index_replay_says_so_and_patch_fetches(tmp_path: Path, redis_url: str, origin: RawOrigin) -> None:
    with ProxyProcess(tmp_path / "home", redis_url, {"proxy.mode": "patch"}) as proxy:
        replay = proxy.session(mode="replay", listen=True)
        with closing(sqlite3.connect(proxy.home / "ghostfleet.db")) as database, database:
            database.execute("DROP TABLE captures")

        with proxy.connect() as client, proxy.connect((replay["host"], replay["port"])) as other:
            replies = [client.ask(request("plain", origin.url(path))) for path in ("/one", "/two")]
            away = other.ask(request("plain", origin.url("/one")))

        assert [reply.status for reply in replies] == [200, 200]
        assert len(origin.asked("/one")) == 1
        assert (away.status, away.header("Ghostfleet-Error")) == (503, "0 index-away")
        assert f"{origin.url('/one')} is fetched, for the archive can't answer" in proxy.log.read_text()
        assert proxy.kept(origin.url("/two"))


def test_a_head_has_no_body(stage: Stage) -> None:
    with stage.open() as client:
        head = client.ask(request("plain", stage.origin.url("/film"), method="HEAD"))
        missing = client.ask(request("plain", stage.origin.url("/missing"), method="HEAD"))
        assert client.ask(request("plain", stage.origin.url("/page"))).body == PAGE

    assert (head.status, head.header("Content-Length")) == (200, "3000000")
    assert missing.status == 404


def test_what_is_missing_is_said_so_that_nobody_takes_it_for_archived(stage: Stage) -> None:
    reply = stage.get("/missing?<script>")

    assert (reply.status, reply.header("Ghostfleet-Replay")) == (404, "miss")
    assert reply.head.startswith(b"HTTP/1.1 404 Not in this archive")
    assert b"<script>" not in reply.body
    assert b"&lt;script&gt;" in reply.body


def test_a_form_is_answered_as_a_form(stage: Stage) -> None:
    assert stage.get("/form").status == 404
    assert stage.get("/form", method="POST", body=b"a=b").body.startswith(b"POST")


def test_forms_of_one_url_are_told_apart(stage: Stage) -> None:
    """By their bodies; also JSON whose text differs and whose values don't."""
    kind = "Content-Type: application/json"
    for body in (b'{"q": "moss"}', b'{"q":"moss"}'):
        assert stage.get("/search", kind, method="POST", body=body).body == page(b'{"q": "moss"}')
    assert stage.get("/search", kind, method="POST", body=b'{"q": "fern"}').body == page(b'{"q": "fern"}')
    assert stage.get("/search", kind, method="PUT", body=b'{"q": "fern"}').status == 404


def test_a_question_before_a_request_to_another_origin_is_answered(stage: Stage) -> None:
    """Browsers keep the permission for a while, so that not each recording has the question."""
    lines = ("Origin: http://a.test", "Access-Control-Request-Method: PUT", "Access-Control-Request-Headers: x-a, x-b")
    reply = stage.get("/search", *lines, method="OPTIONS")

    assert (reply.status, reply.header("Ghostfleet-Replay")) == (204, "preflight")
    assert reply.header("Access-Control-Allow-Origin") == "http://a.test"
    assert reply.header("Access-Control-Allow-Methods") == "PUT"
    assert reply.header("Access-Control-Allow-Headers") == "x-a, x-b"
    assert stage.get("/search", method="OPTIONS").status == 404


def test_nothing_that_is_missing_is_asked_of_the_live_web(stage: Stage) -> None:
    """The origin is there and would answer; it hears of no connection."""
    visits = len(stage.origin.visits)
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"):
        assert stage.get("/nowhere", method=method, body=b"x=1" if method in ("POST", "PUT") else b"").status == 404
    for lines in (("Range: bytes=0-9",), ("Upgrade-Insecure-Requests: 1", "Accept: text/html"), HANDSHAKE):
        assert stage.get("/nowhere", *lines).status == 404
    assert stage.get("/page?_=17", "Cache-Control: no-cache", "Pragma: no-cache").status == 200
    assert stage.get("/nowhere", "If-None-Match: x", "Accept-Datetime: Thu, 01 Jan 1970 00:00:00 GMT").status == 404
    assert len(stage.origin.visits) == visits


def test_an_archive_that_can_not_read_a_page_says_so(proxy: ProxyProcess, origin: RawOrigin) -> None:
    """The file was moved away, and then cut short: an error with a reason, and never a page that is not there."""
    session = proxy.session(collection="lost", listen=True)
    with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
        client.ask(request("plain", origin.url("/lost")))
    proxy.control("DELETE", f"/sessions/{session['id']}")
    origin.close()
    proxy.index()
    (path,) = proxy.folder("lost").iterdir()
    content = path.read_bytes()
    replay = proxy.session(collection="lost", mode="replay", listen=True)
    for damaged in (None, content[:100], b"", b"\0" * len(content)):
        path.unlink(missing_ok=True)
        if damaged is not None:
            path.write_bytes(damaged)
        with Client(socket.create_connection((replay["host"], replay["port"]), 30)) as client:
            reply = client.ask(request("plain", origin.url("/lost")))
        assert (reply.status, reply.header("Ghostfleet-Error")) == (500, "0 damaged")
        assert b"/lost can't be read" in reply.body
    path.write_bytes(content)
    with Client(socket.create_connection((replay["host"], replay["port"]), 30)) as client:
        assert client.ask(request("plain", origin.url("/lost"))).status == 200


def test_a_body_that_breaks_is_refused(stage: Stage) -> None:
    with stage.open() as client:
        client.send(request("plain", stage.origin.url("/form"), "Transfer-Encoding: chunked", method="POST") + b"x\r\n")

        assert client.read_reply().status == 400


def test_the_date_asked_for_decides(proxy: ProxyProcess, origin: RawOrigin) -> None:
    """One page recorded twice: each date finds its own."""
    dates = []
    for version in (b"old", b"new"):
        origin.script("/dated", Send(response(page(version))))
        session = proxy.session(collection="dated", listen=True)
        with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
            client.ask(request("plain", origin.url("/dated")))
        proxy.control("DELETE", f"/sessions/{session['id']}")
        record = proxy.records("dated").of(origin.url("/dated"), "response")[-1]
        dates.append(record.field("WARC-Date") or "")
    origin.close()
    proxy.index()
    digits = ["".join(char for char in date if char.isdigit())[:17] for date in dates]

    for place, version in enumerate((b"old", b"new")):
        session = proxy.session(collection="dated", mode="replay", listen=True, datetime=digits[place])
        with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
            assert client.ask(request("plain", origin.url("/dated"))).body == page(version)
            newest = client.ask(
                request("plain", origin.url("/dated"), f"Accept-Datetime: {formatdate(2e9, usegmt=True)}")
            )
            oldest = client.ask(
                request("plain", origin.url("/dated"), f"Accept-Datetime: {formatdate(0, usegmt=True)}")
            )
            nonsense = client.ask(request("plain", origin.url("/dated"), "Accept-Datetime: teatime"))
        assert (newest.body, oldest.body, nonsense.body) == (page(b"new"), page(b"old"), page(version))


def test_a_reader_that_is_slow_gets_everything(stage: Stage) -> None:
    with stage.open() as client:
        client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        client.send(request("plain", stage.origin.url("/film")))
        until(lambda: client.stream.recv(1, socket.MSG_PEEK), what="the first bytes")

        assert client.read_reply().body == FILM


def test_a_session_counts_what_it_showed(stage: Stage) -> None:
    session = stage.proxy.session(collection=stage.collection, mode="replay", listen=True)
    with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
        client.ask(request("plain", stage.origin.url("/page")))
        client.ask(request("plain", stage.origin.url("/missing")))

    report = stage.proxy.control("DELETE", f"/sessions/{session['id']}")
    assert (report["urls"], report["failed"], report["errors"]) == (2, 1, {"404": 1})
    assert report["bytes"] == len(PAGE)


@dataclass(frozen=True)
class Talk:
    """A recorded conversation, and where it is replayed."""

    url: str
    session: dict[str, Any]

    def open(self, *lines: str) -> Client:
        client = Client(socket.create_connection((self.session["host"], self.session["port"]), 30))
        client.send(request("plain", self.url, *HANDSHAKE, *lines))
        return client


@pytest.fixture(scope="module")
def talk(_shared_proxy: ProxyProcess) -> Talk:
    """The origin greets, says much, and says goodbye after the client has; the client said two things."""
    proxy = _shared_proxy
    long = b"L" * 70_000
    with SocketOrigin(ADDRESS, frame(TEXT, b"hello"), frame(PING, b"p"), frame(BINARY, long)) as origin:
        url, collection = origin.url("/talk"), f"talk-{origin.authority.rpartition(':')[2]}"
        recording = proxy.session(collection=collection, listen=True)
        with Client(socket.create_connection((recording["host"], recording["port"]), 30)) as client:
            assert client.ask(request("plain", url, *HANDSHAKE)).status == 101
            heard = frame(TEXT, b"hello") + frame(PING, b"p") + frame(BINARY, long)
            assert client.read_some(len(heard)) == heard
            client.send(frame(TEXT, b"one", mask=b"abcd") + frame(TEXT, b"two", mask=b"abcd"))
            client.send(frame(CLOSE, BYE, mask=b"abcd"))
            assert client.read_some(4) == frame(CLOSE, BYE)
    proxy.control("DELETE", f"/sessions/{recording['id']}")
    proxy.index()
    return Talk(url, proxy.session(collection=collection, mode="replay", listen=True))


def test_a_websocket_says_again_what_it_said(talk: Talk) -> None:
    with talk.open() as client:
        reply = client.read_reply()
        assert reply.status == 101
        assert reply.header("Sec-WebSocket-Accept") == "FbI8Wf+sd/LbWclcr5kSu3ClZbY="
        expected = frame(TEXT, b"hello") + frame(BINARY, b"L" * 70_000)
        assert client.read_some(len(expected)) == expected
        client.send(frame(PING, b"are you there", mask=b"abcd"))
        assert client.read_some(15) == frame(10, b"are you there")
        client.send(frame(TEXT, b"one", mask=b"abcd") + frame(TEXT, b"two", mask=b"abcd"))
        client.send(frame(CLOSE, BYE, mask=b"abcd"))
        assert client.read_some(4) == frame(CLOSE, BYE)
        assert client.is_closed_by_proxy()


def test_a_websocket_without_a_recording_is_not_there(talk: Talk) -> None:
    elsewhere = Talk(talk.url.replace("/talk", "/other"), talk.session)
    with elsewhere.open() as client:
        assert client.read_reply().status == 404


@pytest.mark.parametrize(
    "bad", [b"\xff" * 20, frame(3, b"x", mask=b"abcd"), frame(TEXT, b"x" * 10, rsv1=True, mask=b"abcd")]
)
def test_a_client_that_speaks_no_websocket_is_closed(talk: Talk, bad: bytes) -> None:
    with talk.open() as client:
        assert client.read_reply().status == 101
        client.send(bad)
        said = client.read_some(100_000)
        assert said.endswith(frame(CLOSE, b"\x03\xea"))


def test_a_client_that_only_talks_is_cut_off(talk: Talk) -> None:
    with talk.open() as client:
        client.stream.settimeout(30)
        with suppress(OSError):
            for _ in range(1_000):
                client.send(frame(TEXT, b"x", mask=b"abcd") * 1_000)
        with suppress(OSError):
            while client.read_some(65_536):
                pass
    with talk.open() as client:
        assert client.read_reply().status == 101


def test_a_record_that_lost_its_end_breaks_off(proxy: ProxyProcess, origin: RawOrigin) -> None:
    """A damaged file must not be shown as a whole page."""
    body = random.Random(9).randbytes(2_000_000)
    origin.script("/torn", Send(response(body)))
    session = proxy.session(collection="torn", listen=True)
    with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
        client.ask(request("plain", origin.url("/torn")))
    proxy.control("DELETE", f"/sessions/{session['id']}")
    origin.close()
    proxy.index()
    (path,) = proxy.folder("torn").iterdir()
    with path.open("r+b") as file:
        file.truncate(1_000_000)

    session = proxy.session(collection="torn", mode="replay", listen=True)
    with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
        reply = client.ask(request("plain", origin.url("/torn")))
    assert (reply.status, reply.whole) == (200, False)
    assert body.startswith(reply.body)
