"""mitmproxy scripts of a session: what they change, what the archive has of it, and which of them may run at all."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.clients.raw_client import BrokenOff, Reply
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Reset, Send, Wait, response
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import ROUTES, Route, credentials, request
from support.stores.redis_server import RedisServer

CHANGES = """
def request(flow):
    flow.request.headers["X-Script"] = "was here"
    flow.request.query["from"] = "script"
def response(flow):
    flow.response.text = flow.response.text.replace("hello", "goodbye")
    flow.response.headers["X-Seen"] = flow.request.pretty_url
"""
ANSWERS = """
from mitmproxy import http
def request(flow):
    if flow.request.path == "/mine":
        flow.response = http.Response.make(418, b"from a script", {"X-Mine": "1"})
    elif flow.request.path == "/kill":
        flow.kill()
"""
COUNTS = """
import asyncio
seen = []
def load(loader): seen.append("load")
async def running(): seen.append("running")
def requestheaders(flow): seen.append("requestheaders")
async def request(flow):
    await asyncio.sleep(0)
    seen.append("request")
def responseheaders(flow): seen.append("responseheaders")
async def response(flow):
    await asyncio.sleep(0)
    seen.append("response")
    flow.response.headers["X-Seen"] = " ".join(seen)
def error(flow): seen.append("error")
"""
RAISES = """
def request(flow): raise ValueError("no request")
def response(flow): raise ValueError("no response")
"""
UPPER = """
def request(flow): flow.request.content = flow.request.content.upper()
"""
ELSEWHERE = """
def request(flow): flow.request.url = "http://10.11.12.13/"
"""
STREAMS = """
def responseheaders(flow):
    flow.response.stream = lambda piece: piece.upper()
"""
BREAKS = """
def responseheaders(flow):
    def broken(piece): raise RuntimeError("stream")
    flow.response.stream = broken
"""
SHOUTS = """
def response(flow):
    flow.response.headers["X-Length"] = str(flow.response.raw_content and len(flow.response.raw_content))
"""
SPLITS = """
def response(flow): flow.response.headers["X-A"] = "b\\r\\nX-C: d"
"""
SCRIPTS = {
    "changes.py": CHANGES, "answers.py": ANSWERS, "counts.py": COUNTS, "raises.py": RAISES, "upper.py": UPPER,
    "elsewhere.py": ELSEWHERE, "streams.py": STREAMS, "breaks.py": BREAKS, "shouts.py": SHOUTS, "splits.py": SPLITS,
    "ends.py": "def done(): open(__file__ + '.done', 'w').close()\n",
    "syntax.py": "def broken(:", "import.py": "raise OSError('no list')",
}  # fmt: skip
type Ask = Callable[..., Reply]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The operator's scripts, and one beside them."""
    folder = tmp_path_factory.mktemp("operator") / "scripts"
    folder.mkdir()
    for name, source in SCRIPTS.items():
        (folder / name).write_text(source)
    (folder.parent / "outside.py").write_text("")
    (folder / "link.py").symlink_to(folder.parent / "outside.py")
    return folder


@pytest.fixture(scope="module")
def scripting(
    tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer, origin_ca: Path, folder: Path
) -> Iterator[ProxyProcess]:
    home = tmp_path_factory.mktemp("scripting") / "home"
    settings = {
        "proxy.upstream_ca": str(origin_ca),
        "proxy.script_folder": str(folder),
        "proxy.script_body_bytes": 100_000,
    }
    with ProxyProcess(home, proxy_redis.url, settings) as running:
        yield running


@contextmanager
def session(proxy: ProxyProcess, *scripts: str, **spec: Any) -> Iterator[str]:
    """A session with these scripts; the header that selects it."""
    made = proxy.session(scripts=list(scripts), **spec)
    yield credentials(made)
    proxy.control("DELETE", f"/sessions/{made['id']}")


def ask(proxy: ProxyProcess, script: str, url: str, *headers: str) -> Reply:
    with session(proxy, script) as selected:
        return proxy.get(url, selected, *headers)


# -- what is recorded -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES)
def test_the_archive_has_what_went_to_the_origin_and_what_it_sent(
    scripting: ProxyProcess, origin: RawOrigin, secure_origin: RawOrigin, route: Route
) -> None:
    at, path = (origin if route == "plain" else secure_origin), f"/changed/{route}"
    raw = response(b"hello " + path.encode(), b"content-TYPE:  text/plain")
    at.answer(f"{path}?from=script", lambda _: (Send(raw),))
    with session(scripting, "changes.py") as selected:
        if route == "connect":
            with scripting.tunnel(at.authority, selected) as client:
                reply = client.ask(request(route, at.url(path)))
        else:
            reply = scripting.exchange(request(route, at.url(path), selected))

    url = at.url(f"{path}?from=script")
    assert (reply.status, reply.body) == (200, b"goodbye " + path.encode())
    assert reply.header("X-Seen") == url
    assert reply.header("Content-Length") == str(len(reply.body))
    kept, asked = scripting.records().of(url, "response", "request")
    assert kept.block == raw
    assert asked.block == at.received(f"{path}?from=script")
    assert b"\r\nX-Script: was here\r\n" in asked.block
    assert b"Proxy-Authorization" not in asked.block
    assert scripting.records().of(at.url(path)) == []


def test_a_header_line_whose_name_is_none_is_in_the_record_only(scripting: ProxyProcess, origin: RawOrigin) -> None:
    raw = response(page(b"odd names"), b"X Odd: 1", b"X(Odd): 2", b"X-Space : 3", b"X-Plain: 4")
    origin.script("/odd-names", Send(raw))

    reply = ask(scripting, "counts.py", origin.url("/odd-names"))

    assert (reply.status, reply.body) == (200, page(b"odd names"))
    assert [reply.header(name) for name in ("X Odd", "X(Odd)", "X-Space", "X-Plain")] == [None, None, "3", "4"]
    (kept,) = scripting.records().of(origin.url("/odd-names"), "response")
    assert kept.block == raw


def test_an_answer_of_a_script_is_no_response_of_the_origin(
    scripting: ProxyProcess, origin: RawOrigin, tmp_path: Path
) -> None:
    with session(scripting, "answers.py", log_dir=str(tmp_path)) as selected:
        mine, other = scripting.get(origin.url("/mine"), selected), scripting.get(origin.url("/theirs"), selected)

    assert (mine.status, mine.body, mine.header("X-Mine")) == (418, b"from a script", "1")
    assert other.status == 200
    assert origin.asked("/mine") == []
    assert scripting.records().of(origin.url("/mine")) == []
    first, second = (line.split() for line in (tmp_path / "crawl.log").read_text().splitlines())
    assert (first[1], first[3], first[11]) == ("-5002", origin.url("/mine"), "answered-by-script")
    assert (second[1], second[3]) == ("200", origin.url("/theirs"))


def test_a_flow_that_is_killed_breaks_off_and_is_logged(
    scripting: ProxyProcess, origin: RawOrigin, tmp_path: Path
) -> None:
    with session(scripting, "answers.py", log_dir=str(tmp_path)) as selected:
        reply = scripting.get(origin.url("/kill"), selected)

    assert (reply.status, reply.header("Ghostfleet-Error")) == (502, "0 script")
    assert origin.asked("/kill") == []
    assert (tmp_path / "crawl.log").read_text().split()[11] == "killed-by-script"


def test_a_client_that_leaves_does_not_end_the_fetch(scripting: ProxyProcess, origin: RawOrigin) -> None:
    whole, gone = response(page(b"left", 90_000)), threading.Event()
    origin.script("/left", Send(whole[:1000]), Wait(gone), Send(whole[1000:]))
    with session(scripting, "counts.py") as selected:
        client = scripting.connect()
        client.send(request("plain", origin.url("/left"), selected))
        until(lambda: origin.asked("/left"), what="the request to reach the origin")
        client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        until(lambda: scripting.status()["orphans"] == 1, what="the orphan")
        gone.set()
        record = scripting.awaited(origin.url("/left"), "response")

    assert record.block == whole


def test_behind_a_205_with_a_body_the_connection_ends(scripting: ProxyProcess, origin: RawOrigin) -> None:
    """Browsers take the body for their next response."""
    origin.script("/reset", Send(response(page(b"reset"), status=b"205 Reset Content")))
    with session(scripting, "counts.py") as selected, scripting.connect() as client:
        reply = client.ask(request("plain", origin.url("/reset"), selected))
        assert client.is_closed_by_proxy()

    assert (reply.status, reply.header("Connection"), reply.body) == (205, "close", page(b"reset"))


def test_an_old_client_hears_that_its_connection_stays(scripting: ProxyProcess, origin: RawOrigin) -> None:
    with session(scripting, "counts.py") as selected, scripting.connect() as client:
        lines = f"GET {origin.url('/old')} HTTP/1.0\r\n{selected}\r\nConnection: keep-alive\r\n\r\n"
        replies = [client.ask(lines.encode()) for _ in range(2)]

    assert [(reply.body, reply.header("Connection")) for reply in replies] == [(page(b"/old"), "keep-alive")] * 2


def test_a_broken_response_is_kept_as_such_and_no_success_for_the_client(
    scripting: ProxyProcess, origin: RawOrigin
) -> None:
    whole = response(page(b"broken", 5000))
    origin.script("/broken", Send(whole[:2000]), Reset())

    reply = ask(scripting, "shouts.py", origin.url("/broken"))

    assert reply.status == 502
    kept = scripting.awaited(origin.url("/broken"), "response")
    assert (kept.block, kept.field("WARC-Truncated")) == (whole[:2000], "disconnect")


def test_twins_are_revisits_on_either_path(scripting: ProxyProcess, origin: RawOrigin) -> None:
    twin = response(page(b"twin", 3000))
    origin.script("/twin?from=script", Send(twin))
    origin.script("/twin", Send(twin))
    scripting.get(origin.url("/twin"))

    ask(scripting, "changes.py", origin.url("/twin"))

    assert [record.kind for record in scripting.records().of(origin.url("/twin?from=script"))] == ["revisit", "request"]


# -- what passes ------------------------------------------------------------------------------------------------------


def test_hooks_come_in_mitmproxys_order_and_may_wait(scripting: ProxyProcess, origin: RawOrigin) -> None:
    reply = ask(scripting, "counts.py", origin.url("/order"))

    seen = "load running requestheaders request responseheaders response"
    assert reply.header("X-Seen") == seen


def test_a_script_is_loaded_afresh_for_each_session(scripting: ProxyProcess, origin: RawOrigin) -> None:
    first, second = (ask(scripting, "counts.py", origin.url("/fresh")).header("X-Seen") for _ in range(2))

    assert first == second


def test_a_script_that_raises_is_counted_and_the_exchange_goes_on(scripting: ProxyProcess, origin: RawOrigin) -> None:
    before = scripting.status()["script_errors"]

    reply = ask(scripting, "raises.py", origin.url("/raises"))

    assert reply.status == 200
    assert scripting.status()["script_errors"] == before + 2
    assert len(scripting.records().of(origin.url("/raises"), "response")) == 1


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (("Content-Length: 5",), b"hello"),
        (("Transfer-Encoding: chunked",), b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
        (("Content-Length: 5", "Expect: 100-continue"), b"hello"),
    ],
)
def test_a_request_body_can_be_changed(
    scripting: ProxyProcess, origin: RawOrigin, headers: tuple[str, ...], body: bytes
) -> None:
    path = f"/upload/{len(body)}{len(headers)}"
    origin.answer(path, lambda asked: (Send(response(asked.partition(b"\r\n\r\n")[2])),))
    with session(scripting, "upper.py") as selected, scripting.connect() as client:
        client.send(request("plain", origin.url(path), selected, *headers, method="POST"))
        if "Expect: 100-continue" in headers:
            assert client.read_some(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(body)
        reply = client.read_reply("POST")

    assert (reply.status, b"HELLO" in reply.body) == (200, True)
    (asked,) = scripting.records().of(origin.url(path), "request")
    assert asked.block == origin.received(path)


def test_a_large_body_passes_scripts_by(scripting: ProxyProcess, origin: RawOrigin) -> None:
    whole = response(page(b"large", 3_000_000))
    origin.script("/large", Send(whole))

    reply = ask(scripting, "shouts.py", origin.url("/large"))

    assert (reply.body, reply.header("X-Length")) == (whole.partition(b"\r\n\r\n")[2], None)
    assert scripting.kept(origin.url("/large")).block == whole


def test_a_large_upload_passes_scripts_by(scripting: ProxyProcess, origin: RawOrigin) -> None:
    body = page(b"up", 1_000_000)
    origin.script("/up", Send(response(b"taken")))
    with session(scripting, "counts.py") as selected, scripting.connect() as client:
        reply = client.ask(request("plain", origin.url("/up"), selected, method="POST", body=body))

    assert reply.status == 200
    assert origin.received("/up").endswith(body)


def test_a_streaming_script_changes_pieces_as_they_pass(scripting: ProxyProcess, origin: RawOrigin) -> None:
    origin.script("/stream", Send(response(b"hello stream")))

    reply = ask(scripting, "streams.py", origin.url("/stream"))

    assert (reply.body, reply.whole) == (b"HELLO STREAM", True)
    assert scripting.kept(origin.url("/stream")).block == response(b"hello stream")


def test_a_streaming_script_that_raises_breaks_the_client_and_not_the_record(
    scripting: ProxyProcess, origin: RawOrigin
) -> None:
    origin.script("/breaks", Send(response(b"hello broken stream")))
    with session(scripting, "breaks.py") as selected:
        try:
            reply = scripting.get(origin.url("/breaks"), selected)
            assert not reply.whole
        except BrokenOff:
            pass

    assert scripting.awaited(origin.url("/breaks"), "response").block == response(b"hello broken stream")


def test_events_reach_the_client_as_they_come(scripting: ProxyProcess, origin: RawOrigin) -> None:
    seen = threading.Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    origin.script("/events", Send(head + b"data: 1\n\n"), Wait(seen), Send(b"data: 2\n\n"))
    with session(scripting, "counts.py") as selected, scripting.connect() as client:
        client.send(request("plain", origin.url("/events"), selected))
        first = b""
        while b"data: 1" not in first:
            first += client.read_some(1)
        seen.set()
        while b"data: 2" not in first:
            first += client.read_some(1)

    assert scripting.awaited(origin.url("/events"), "response").block.startswith(head)


def test_trailers_reach_the_client(scripting: ProxyProcess, origin: RawOrigin) -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nscrpt\r\n0\r\nX-Sum: 1\r\n\r\n"
    origin.script("/trailers", Send(raw))
    with session(scripting, "streams.py") as selected, scripting.connect() as client:
        client.send(request("plain", origin.url("/trailers"), selected, "Connection: close"))
        got = client.read_some(100_000)

    assert got.endswith(b"5\r\nSCRPT\r\n0\r\nX-Sum: 1\r\n\r\n")
    assert scripting.kept(origin.url("/trailers")).block == raw


def test_trailers_reach_the_origin(scripting: ProxyProcess, origin: RawOrigin) -> None:
    with session(scripting, "streams.py") as selected, scripting.connect() as client:
        head = request("plain", origin.url("/sum"), selected, "Transfer-Encoding: chunked", method="POST")
        reply = client.ask(head + b"5\r\nscrpt\r\n0\r\nX-Sum: 1\r\n\r\n")

    assert reply.status == 200
    assert origin.received("/sum").endswith(b"5\r\nscrpt\r\n0\r\nX-Sum: 1\r\n\r\n")


def test_a_keep_alive_connection_stays_in_step(scripting: ProxyProcess, origin: RawOrigin) -> None:
    with session(scripting, "changes.py") as selected, scripting.connect() as client:
        seen = [client.ask(request("plain", origin.url(f"/step/{n}"), selected)) for n in range(4)]
        head = client.ask(request("plain", origin.url("/step/head"), selected, method="HEAD"))
        last = client.ask(request("plain", origin.url("/step/last"), selected))

    assert [reply.header("X-Seen") for reply in (*seen, last)] == [
        origin.url(f"/step/{n}?from=script") for n in (0, 1, 2, 3, "last")
    ]
    assert (head.status, head.body) == (200, b"")


def test_a_script_can_not_split_a_head(scripting: ProxyProcess, origin: RawOrigin) -> None:
    reply = ask(scripting, "splits.py", origin.url("/split"))

    assert (reply.status, reply.header("X-C")) == (502, None)
    assert len(scripting.records().of(origin.url("/split"), "response")) == 1


def test_where_a_script_sends_a_request_is_judged_as_any(
    tmp_path: Path, proxy_redis: RedisServer, folder: Path
) -> None:
    settings = {"proxy.script_folder": str(folder), "proxy.resolve": {"public.example": "203.0.113.7"}}
    with ProxyProcess(tmp_path / "home", proxy_redis.url, settings, private=False) as proxy:
        reply = ask(proxy, "elsewhere.py", "http://public.example/")

    assert reply.status == 403
    assert b"10.11.12.13" in reply.body


# -- which may run ----------------------------------------------------------------------------------------------------


def refusal(proxy: ProxyProcess, scripts: object) -> tuple[int, str]:
    import http.client
    import json

    connection = http.client.HTTPConnection(proxy.ready["controls"][0], timeout=30)
    token = (proxy.home / "control.token").read_text("ascii").strip()
    body = json.dumps({"collection": "default", "scripts": scripts})
    connection.request("POST", "/sessions", body, {"Authorization": f"Bearer {token}"})
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, text


@pytest.mark.parametrize("name", ["../outside.py", "/etc/passwd", "link.py", "missing.py", "", ".", "changes"])
def test_only_scripts_in_the_operators_folder_may_run(scripting: ProxyProcess, name: str) -> None:
    status, text = refusal(scripting, [name])

    assert status == 403
    assert "is not a .py file in the folder of proxy.script_folder" in text


@pytest.mark.parametrize(
    ("scripts", "complaint"),
    [
        (["syntax.py"], "'syntax.py' can't be loaded: SyntaxError"),
        (["import.py"], "'import.py' can't be loaded: OSError: no list"),
        (["changes.py", "changes.py"], "already exists"),
        ("changes.py", "must be a list"),
        ([7], "must be a string"),
    ],
)
def test_a_script_that_can_not_be_loaded_is_refused_by_name(
    scripting: ProxyProcess, scripts: object, complaint: str
) -> None:
    status, text = refusal(scripting, scripts)

    assert (status, complaint in text) == (400, True), text


def test_without_a_folder_no_session_has_scripts(proxy: ProxyProcess) -> None:
    assert refusal(proxy, ["changes.py"])[0] == 403


def test_traffic_without_a_session_can_have_scripts_by_setting(
    tmp_path: Path, proxy_redis: RedisServer, origin: RawOrigin, folder: Path
) -> None:
    settings = {"proxy.script_folder": str(folder), "proxy.scripts": "answers.py, counts.py, ends.py"}
    with ProxyProcess(tmp_path / "home", proxy_redis.url, settings) as proxy:
        mine, other = proxy.get(origin.url("/mine")), proxy.get(origin.url("/other"))

    assert mine.status == 418
    assert (folder / "ends.py.done").exists()
    assert (other.header("X-Seen") or "").startswith("load running")
