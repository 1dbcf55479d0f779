"""Clients that speak HTTP/2 with the proxy: recorded as any, and one slow, rude or broken stream hurts no other."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from h2.errors import ErrorCodes
from playwright.async_api import async_playwright
from support.clients.http2_client import H2Client, offering_h2
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Reset, Send, Wait, response
from support.processes.machine_needs import chromium, program
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import crawl_session, credentials, is_draining
from support.stores.redis_server import RedisServer


@pytest.fixture(scope="module")
def h2_proxy(
    tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer, origin_ca: Path
) -> Iterator[ProxyProcess]:
    folder = tmp_path_factory.mktemp("h2")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "mark.py").write_text("def response(flow): flow.response.headers['X-Mark'] = 'seen'\n")
    settings = {
        "proxy.http2": True,
        "proxy.upstream_ca": str(origin_ca),
        "proxy.script_folder": str(folder / "scripts"),
        "proxy.orphans": 100,
    }
    with ProxyProcess(folder / "home", proxy_redis.url, settings) as running:
        yield running


def connect(proxy: ProxyProcess, authority: str, *headers: str, window: int | None = None) -> H2Client:
    """A tunnel with HTTP/2 in it."""
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", *headers, "", ""]
    stream = socket.create_connection(proxy.address, 30)
    stream.sendall("\r\n".join(lines).encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += stream.recv(1)
    assert b" 200 " in answer
    secure = offering_h2(proxy.trusting()).wrap_socket(stream, server_hostname=authority.partition(":")[0])
    assert secure.selected_alpn_protocol() == "h2"
    return H2Client(secure, window=window)


def test_the_record_is_what_the_origin_sent_and_got(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    raw = response(page(b"h2"), b"X-Odd:   spaced ", b"Set-Cookie: a=1", b"set-cookie: b=2", b"Connection: keep-alive")
    secure_origin.script("/h2?a=b", Send(raw))
    with connect(h2_proxy, secure_origin.authority) as client:
        cookies = (("cookie", "one=1"), ("x-two", "2"), ("cookie", "three=3"), ("te", "trailers"))
        answer = client.answer(client.ask(secure_origin.authority, "/h2?a=b", *cookies))

    assert (answer.status, answer.body, answer.ended) == (200, page(b"h2"), True)
    assert [value for name, value in answer.headers if name == "set-cookie"] == ["a=1", "b=2"]
    assert answer.header("x-odd") == "spaced"
    assert answer.header("connection") is None
    kept, asked = h2_proxy.records().of(secure_origin.url("/h2?a=b"))
    assert kept.block == raw
    assert asked.block == secure_origin.received("/h2?a=b")
    lines = asked.block.split(b"\r\n")
    assert lines[0] == b"GET /h2?a=b HTTP/1.1"
    assert lines[1:-2] == [b"host: " + secure_origin.authority.encode(), b"cookie: one=1; three=3", b"x-two: 2"]
    assert kept.field("WARC-Protocol") == "http/1.1"


def test_a_header_line_whose_name_is_none_is_in_the_record_only(
    h2_proxy: ProxyProcess, secure_origin: RawOrigin
) -> None:
    raw = response(page(b"odd names"), b"X Odd: 1", b"X(Odd): 2", b"X-Space : 3", b"X-Plain: 4")
    secure_origin.script("/odd-names", Send(raw))
    with connect(h2_proxy, secure_origin.authority) as client:
        answer = client.answer(client.ask(secure_origin.authority, "/odd-names"))

    assert (answer.status, answer.body) == (200, page(b"odd names"))
    assert [(name, value) for name, value in answer.headers if name[:1] == "x"] == [("x-space", "3"), ("x-plain", "4")]
    (kept,) = h2_proxy.records().of(secure_origin.url("/odd-names"), "response")
    assert kept.block == raw


def test_a_real_client_has_many_streams_at_once(
    h2_proxy: ProxyProcess, secure_origin: RawOrigin, tmp_path: Path
) -> None:
    curl = program("curl", "apt-get install curl")
    if "HTTP2" not in subprocess.run([curl, "-V"], capture_output=True, text=True, check=True).stdout:
        pytest.skip("this curl speaks no HTTP/2")
    urls = [secure_origin.url(f"/many/{number}") for number in range(40)]
    (tmp_path / "body").write_bytes(b"x" * 300_000)
    common = [curl, "--silent", "--show-error", "--http2", "--proxy", "http://{}:{}".format(*h2_proxy.address)]
    common += ["--cacert", str(h2_proxy.home / "ca" / "ca.pem"), "--write-out", "%{http_version} %{http_code}\n"]
    nowhere = [argument for url in urls for argument in ("--output", "/dev/null", url)]

    many = subprocess.run([*common, "--parallel", *nowhere], capture_output=True, text=True, check=True)
    post = [*common, "--output", "/dev/null", "--data-binary", f"@{tmp_path / 'body'}", secure_origin.url("/many/post")]
    posted = subprocess.run(post, capture_output=True, text=True, check=True)

    assert many.stdout.split("\n") == ["2 200"] * 40 + [""]
    assert posted.stdout == "2 200\n"
    assert secure_origin.received("/many/post").endswith(b"x" * 300_000)
    kept = {record.url for record in h2_proxy.records().kinds("response", "revisit")}
    assert kept >= {*urls, secure_origin.url("/many/post")}


@pytest.mark.browser
async def test_a_browser_chooses_http_2(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    html = b"<!doctype html>" + b"".join(b"<img src='/picture/%d'>" % number for number in range(20))
    secure_origin.script("/browsed", Send(response(html, b"Content-Type: text/html")))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium(),
            args=["--no-sandbox", "--proxy-bypass-list=<-loopback>"],
            proxy={"server": "http://{}:{}".format(*h2_proxy.address)},
        )
        page = await browser.new_page(ignore_https_errors=True)
        await page.goto(secure_origin.url("/browsed"), wait_until="load")
        spoken = await page.evaluate(
            "() => performance.getEntries().filter(e => e.nextHopProtocol !== undefined).map(e => e.nextHopProtocol)"
        )
        await browser.close()

    assert len(spoken) >= 21
    assert set(spoken) == {"h2"}
    assert len([r for r in h2_proxy.records().kinds("response", "revisit") if "/picture/" in r.url]) == 20


def test_a_body_of_unknown_length_goes_on_in_chunks(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    secure_origin.script("/chunks", Send(response(b"taken")))
    with connect(h2_proxy, secure_origin.authority) as client:
        number = client.ask(secure_origin.authority, "/chunks", method="POST", end=False)
        client.send(number, b"first ")
        client.send(number, b"second", end=True)
        answer = client.answer(number)

    assert (answer.status, answer.body) == (200, b"taken")
    received = secure_origin.received("/chunks")
    assert received.endswith(b"\r\n\r\n6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n")
    (asked,) = h2_proxy.records().of(secure_origin.url("/chunks"), "request")
    assert asked.block == received


@pytest.mark.parametrize("headers", [(), (("content-length", "5"), ("trailer", "x-sum"))])
def test_trailers_of_a_request_go_on_behind_its_chunks(
    h2_proxy: ProxyProcess, secure_origin: RawOrigin, headers: tuple[tuple[str, str], ...]
) -> None:
    with connect(h2_proxy, secure_origin.authority) as client:
        number = client.ask(secure_origin.authority, "/sum", *headers, method="POST", end=False)
        client.send(number, b"first")
        client.trailers(number, ("x-sum", "1"), ("warcprox-meta", "{}"))
        answer = client.answer(number)

    assert answer.status == 200
    received = secure_origin.received("/sum")
    assert received.endswith(b"\r\n\r\n5\r\nfirst\r\n0\r\nx-sum: 1\r\n\r\n")
    assert b"content-length" not in received
    assert h2_proxy.records().of(secure_origin.url("/sum"), "request")[-1].block == received


def test_trailers_that_can_not_go_on_are_in_the_log(
    h2_proxy: ProxyProcess, secure_origin: RawOrigin, tmp_path: Path
) -> None:
    with (
        crawl_session(h2_proxy, tmp_path / "log") as session,
        connect(h2_proxy, secure_origin.authority, session) as client,
    ):
        number = client.ask(secure_origin.authority, "/unsaid", ("content-length", "5"), method="POST", end=False)
        client.send(number, b"first")
        client.trailers(number, ("x-sum", "1"))
        answer = client.answer(number)

    assert answer.status == 200
    assert secure_origin.received("/unsaid").endswith(b"\r\n\r\nfirst")
    until(lambda: "trailers:not-sent" in (tmp_path / "log" / "crawl.log").read_text(), what="a line that says so")


def test_trailers_that_would_change_the_request_are_refused(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    with connect(h2_proxy, secure_origin.authority) as client:
        client.say_anything()
        for name in ("content-length", "transfer-encoding", ":path"):
            number = client.ask(secure_origin.authority, "/changed", method="POST", end=False)
            client.send(number, b"first")
            client.trailers(number, (name, "1"))
            assert client.answer(number).status == 400


def test_a_slow_reader_stops_its_origin_and_nobody_else(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    large = response(page(b"slow", 16_000_000))
    secure_origin.script("/slow", Send(large))
    with connect(h2_proxy, secure_origin.authority, window=50_000) as client:
        slow = client.ask(secure_origin.authority, "/slow")
        others = [client.ask(secure_origin.authority, f"/quick/{number}") for number in range(5)]
        quick = [client.answer(number) for number in others]
        sent = sum(len(piece) for piece in secure_origin.asked("/slow")[0].pieces)
        client.take(slow)
        answer = client.answer(slow)

    assert [(one.status, one.ended) for one in quick] == [(200, True)] * 5
    assert sent < 12_000_000
    assert (answer.ended, answer.body) == (True, large.partition(b"\r\n\r\n")[2])
    assert h2_proxy.kept(secure_origin.url("/slow")).block == large


def test_a_stream_that_is_reset_is_fetched_to_its_end(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    whole, gone = response(page(b"reset", 500_000)), threading.Event()
    secure_origin.script("/reset", Send(whole[:100_000]), Wait(gone), Send(whole[100_000:]))
    with connect(h2_proxy, secure_origin.authority) as client:
        left = client.ask(secure_origin.authority, "/reset")
        while not client.answers[left].body:
            client.step()
        client.reset(left)
        stays = client.answer(client.ask(secure_origin.authority, "/stays"))
        gone.set()
        record = h2_proxy.awaited(secure_origin.url("/reset"), "response")

    assert stays.status == 200
    assert record.block == whole
    assert record.field("WARC-Truncated") is None


def test_a_connection_that_its_client_ends_is_left_at_once(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    whole, gone = response(page(b"left", 500_000)), threading.Event()
    secure_origin.script("/left", Send(whole[:1000]), Wait(gone), Send(whole[1000:]))
    with connect(h2_proxy, secure_origin.authority) as client:
        left = client.ask(secure_origin.authority, "/left")
        while not client.answers[left].body:
            client.step()
        socket.socket.shutdown(client.stream, socket.SHUT_WR)
        until(lambda: h2_proxy.status()["orphans"] == 1, what="the proxy to notice")
        gone.set()
        record = h2_proxy.awaited(secure_origin.url("/left"), "response")

    assert record.block == whole


def test_a_response_that_breaks_off_is_a_reset_stream(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    whole = response(page(b"broken", 300_000))
    secure_origin.script("/broken", Send(whole[:100_000]), Reset())
    with connect(h2_proxy, secure_origin.authority) as client:
        answer = client.answer(client.ask(secure_origin.authority, "/broken"))
        after = client.answer(client.ask(secure_origin.authority, "/after"))

    assert (answer.ended, answer.reset) == (False, 2)
    assert after.status == 200
    record = h2_proxy.awaited(secure_origin.url("/broken"), "response")
    assert record.field("WARC-Truncated") == "disconnect"


def test_trailers_and_heads_alone_pass(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nstrms\r\n0\r\nX-Sum: 1\r\n\r\n"
    secure_origin.script("/trailers", Send(raw))
    unsayable = raw.replace(b"strms", b"oddly").replace(b"X-Sum: 1", b"X Odd: 1\r\nConnection: close")
    secure_origin.script("/odd", Send(unsayable))
    secure_origin.script("/none", Send(b"HTTP/1.1 204 No Content\r\n\r\n"))
    with connect(h2_proxy, secure_origin.authority) as client:
        answer = client.answer(client.ask(secure_origin.authority, "/trailers"))
        odd = client.answer(client.ask(secure_origin.authority, "/odd"))
        none = client.answer(client.ask(secure_origin.authority, "/none"))
        head = client.answer(client.ask(secure_origin.authority, "/none", method="HEAD"))

    assert (answer.body, answer.trailers, answer.ended) == (b"strms", [("x-sum", "1")], True)
    assert (odd.body, odd.trailers, odd.ended) == (b"oddly", [], True)
    assert [(one.status, one.body, one.ended) for one in (none, head)] == [(204, b"", True)] * 2
    assert h2_proxy.kept(secure_origin.url("/trailers")).block == raw


def test_what_can_not_be_asked_is_refused_and_the_connection_goes_on(
    h2_proxy: ProxyProcess, secure_origin: RawOrigin
) -> None:
    with connect(h2_proxy, secure_origin.authority) as client:
        elsewhere = client.answer(client.ask("elsewhere.example", "/"))
        client.say_anything()
        smuggled = client.answer(client.ask(secure_origin.authority, "/", ("x-a", "b\r\nx-c: d")))
        encoded = client.answer(client.ask(secure_origin.authority, "/", ("transfer-encoding", "chunked")))
        spaced = client.answer(client.ask(secure_origin.authority, "/a b"))
        fine = client.answer(client.ask(secure_origin.authority, "/fine"))

    assert [one.status for one in (elsewhere, smuggled, encoded, spaced, fine)] == [421, 400, 400, 400, 200]
    assert elsewhere.header("ghostfleet-error") == "0 misdirected"


_METHOD, _SCHEME, _PATH = (":method", "GET"), (":scheme", "https"), (":path", "/")
MALFORMED = {
    "capital letters": [_METHOD, _SCHEME, _PATH, ("X-Test", "1")],
    "an unknown pseudo-header": [_METHOD, _SCHEME, _PATH, (":test", "1")],
    "a pseudo-header of responses": [_METHOD, _SCHEME, _PATH, (":status", "200")],
    "a pseudo-header behind others": [_METHOD, _SCHEME, ("x-test", "1"), _PATH],
    "connection": [_METHOD, _SCHEME, _PATH, ("connection", "keep-alive")],
    "te": [_METHOD, _SCHEME, _PATH, ("te", "trailers, deflate")],
    "an empty path": [_METHOD, _SCHEME, (":path", "")],
    "no method": [_SCHEME, _PATH],
    "no scheme": [_METHOD, _PATH],
    "no path": [_METHOD, _SCHEME],
    "two methods": [_METHOD, _METHOD, _SCHEME, _PATH],
    "two schemes": [_METHOD, _SCHEME, _SCHEME, _PATH],
    "two paths": [_METHOD, _SCHEME, _PATH, _PATH],
}


def test_who_sends_malformed_requests_is_told_and_their_streams_are_reset(
    h2_proxy: ProxyProcess, secure_origin: RawOrigin
) -> None:
    """A stream error each, as RFC 9113 section 8.1.1 wants (h2spec asks for it), and nobody else's business."""
    with connect(h2_proxy, secure_origin.authority) as client:
        client.say_anything()
        heads = {name: client.answer(client.open(headers)) for name, headers in MALFORMED.items()}
        for name, length, data in (("too long", "1", b"four"), ("too short", "9", b"four")):
            number = client.ask(
                secure_origin.authority, f"/{name[4:]}", ("content-length", length), method="POST", end=False
            )
            client.send(number, data, end=True)
            heads[name] = client.answer(number)
        fine = client.answer(client.ask(secure_origin.authority, "/fine", ("te", "trailers")))

    assert {name: (one.status, one.reset, one.ended) for name, one in heads.items()} == dict.fromkeys(
        heads, (400, ErrorCodes.PROTOCOL_ERROR, False)
    )
    assert b"only 'trailers'" in heads["te"].body
    assert (fine.status, fine.ended) == (200, True)


def test_an_upload_that_breaks_off_is_no_request(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    with connect(h2_proxy, secure_origin.authority) as client:
        number = client.ask(secure_origin.authority, "/upload", method="POST", end=False)
        client.send(number, b"some")
        client.reset(number)
        after = client.answer(client.ask(secure_origin.authority, "/after-upload"))

    assert after.status == 200
    assert h2_proxy.records().of(secure_origin.url("/upload")) == []


def test_garbage_ends_its_connection_and_nothing_else(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    with connect(h2_proxy, secure_origin.authority) as client:
        client.stream.sendall(b"\xff" * 100)
        while not client.closed:
            client.step()

    assert client.goaway is not None
    until(lambda: h2_proxy.status()["active_requests"] == 0, what="nothing under way")
    assert h2_proxy.get(secure_origin.url("/healthy"), route="connect").status == 200


def test_a_client_that_does_nothing_but_reset_is_sent_away(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    going = threading.Event()
    secure_origin.otherwise(lambda _: (Wait(going), Send(response(b"at last"))))
    with connect(h2_proxy, secure_origin.authority) as client, suppress(OSError):
        for number in range(400):
            client.reset(client.ask(secure_origin.authority, f"/reset/{number}"))
            if number % 40 == 39:
                client.wire.ping(b"12345678")
                client.flush()
                client.step()
            if client.goaway is not None or client.closed:
                break
    going.set()

    assert number < 399
    until(lambda: h2_proxy.status()["active_requests"] == 0, what="nothing under way")


def test_scripts_see_streams_as_any_request(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    session = h2_proxy.session(scripts=["mark.py"])
    with connect(h2_proxy, secure_origin.authority, credentials(session)) as client:
        answer = client.answer(client.ask(secure_origin.authority, "/scripted"))
    h2_proxy.control("DELETE", f"/sessions/{session['id']}")

    assert answer.header("x-mark") == "seen"


def test_a_client_that_offers_http_1_alone_gets_it(h2_proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    assert h2_proxy.get(secure_origin.url("/old"), route="connect").status == 200


def test_http_2_is_not_offered_unless_it_is_set(proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
    with proxy.tunnel(secure_origin.authority) as plain:
        assert isinstance(plain.stream, ssl.SSLSocket)
    stream = socket.create_connection(proxy.address, 30)
    stream.sendall(f"CONNECT {secure_origin.authority} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += stream.recv(1)
    with offering_h2(proxy.trusting()).wrap_socket(stream, server_hostname=secure_origin.address) as secure:
        assert secure.selected_alpn_protocol() == "http/1.1"


def test_the_end_of_the_process_lets_streams_end_first(
    tmp_path: Path, proxy_redis: RedisServer, secure_origin: RawOrigin, origin_ca: Path
) -> None:
    going = threading.Event()
    whole = response(page(b"last", 50_000))
    secure_origin.script("/last", Send(whole[:1000]), Wait(going), Send(whole[1000:]))
    settings = {"proxy.http2": True, "proxy.upstream_ca": str(origin_ca)}
    with ProxyProcess(tmp_path / "home", proxy_redis.url, settings) as proxy:
        with connect(proxy, secure_origin.authority) as client:
            number = client.ask(secure_origin.authority, "/last")
            while not client.answers[number].body:
                client.step()
            stopping = threading.Thread(target=proxy.stop)
            stopping.start()
            until(lambda: is_draining(proxy), what="new connections to be refused")
            going.set()
            answer = client.answer(number)
            while not client.closed:
                client.step()
        stopping.join()
        kept = proxy.kept(secure_origin.url("/last"))

    assert answer.ended
    assert client.goaway is not None
    assert kept.block == whole
