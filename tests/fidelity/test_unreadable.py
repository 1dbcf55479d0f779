"""What is no response is kept as it came, where no reader takes it for one; and the client hears why."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.origins.odd_responses import OK, page
from support.origins.raw_origin import Close, RawOrigin, Send, Step, Wait, certificate_authority, server_tls
from support.proxy.running_proxy import ROUTES, Route, RunningProxy, crawl_session, credentials

from archive import crawl_log

ADDRESS = "127.0.1.72"

UNREADABLE: dict[str, tuple[tuple[Step, ...], str]] = {
    "no-status-line": ((Send(b"<html>\r\n\r\nmoss"),), "bad status line"),
    "a-status-of-words": ((Send(b"HTTP/1.1 fine\r\nX: y\r\n\r\n"),), "bad status line"),
    "another-protocol": ((Send(b"SSH-2.0-moss\r\n\r\n"),), "bad status line"),
    "half-a-head": ((Send(OK + b"X: y"), Close()), "ended within the response's head"),
    "bytes-without-lines": ((Send(bytes(range(11, 256)) * 4), Close()), "bad status line"),
    "a-greeting": ((Send(b"SSH-2.0-OpenSSH_9.2\r\n"),), "bad status line"),
    "a-status-of-four-digits": ((Send(b"HTTP/1.1 1000 OK\r\nContent-Length: 0\r\n\r\n"),), "bad status line"),
    "a-switch-unasked": ((Send(b"HTTP/1.1 101 Moss\r\nUpgrade: moss\r\n\r\n" + OK),), "nobody asked"),
    "a-huge-head": ((Send(OK + b"X: " + b"y" * 70_000),), "larger than 50000 bytes"),
}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningProxy, RawOrigin, RawOrigin]]:
    folder = tmp_path_factory.mktemp("unreadable")
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    settings = {"proxy.upstream_ca": folder / "ca.pem", "proxy.max_head_bytes": 50_000}
    with (
        RawOrigin(ADDRESS) as plain,
        RawOrigin(ADDRESS, tls=server_tls(authority, ADDRESS)) as secure,
        RunningProxy(folder / "home", settings) as proxy,
    ):
        yield proxy, plain, secure


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", UNREADABLE)
def test_it_is_kept_raw_and_the_client_gets_a_502(
    stage: tuple[RunningProxy, RawOrigin, RawOrigin], tmp_path: Path, name: str, route: Route
) -> None:
    proxy, plain, secure = stage
    origin, path = plain if route == "plain" else secure, f"/{name}/{route}"
    steps, why = UNREADABLE[name]
    origin.script(path, *steps)

    reply = proxy.get(origin.url(path), route=route)

    assert (reply.status, reply.whole) == (502, True)
    assert why in reply.body.decode()
    record = proxy.awaited(origin.url(path), "metadata")
    sent = b"".join(step.data for step in steps if isinstance(step, Send))
    assert sent.startswith(record.block)
    assert record.block == sent or len(record.block) > 50_000, "only what is too large may be cut"
    assert record.field("Content-Type") == "application/octet-stream"
    (request,) = proxy.records().of(origin.url(path), "request")
    assert request.block == origin.received(path)
    assert record.field("WARC-Concurrent-To") == request.id
    assert request.field("WARC-Concurrent-To") == record.id


def test_it_counts_as_a_failure(stage: tuple[RunningProxy, RawOrigin, RawOrigin], tmp_path: Path) -> None:
    proxy, origin, _ = stage
    origin.script("/logged", Send(b"moss\r\n\r\n"))

    with crawl_session(proxy, tmp_path) as header:
        assert proxy.get(origin.url("/logged"), header).header("Ghostfleet-Error") == "-3 bad-response"

    (line,) = (tmp_path / "crawl.log").read_text().splitlines()
    assert crawl_log.parse(line).code == crawl_log.LOST
    assert '"warcFilename":' in line


def test_a_head_that_stops_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    go_on = threading.Event()
    with RawOrigin(ADDRESS) as origin, RunningProxy(tmp_path / "home", {"proxy.idle_seconds": 1}) as proxy:
        origin.script("/stops", Send(OK + b"X: y\r\n"), Wait(go_on))
        try:
            reply = proxy.get(origin.url("/stops"))
        finally:
            go_on.set()

        assert (reply.status, reply.header("Ghostfleet-Error")) == (504, "-4 timeout")
        record = proxy.awaited(origin.url("/stops"), "metadata")
        assert record.block == OK + b"X: y\r\n"


def test_http_0_9_is_shown_where_browsers_show_it(stage: tuple[RunningProxy, RawOrigin, RawOrigin]) -> None:
    """On the default port only: on others, bytes without a head may come from anything that listens."""
    proxy, _, _ = stage
    body = page(b"old", 3000)
    place = f"127.2.{os.getpid() // 250 % 250}.{os.getpid() % 250 + 1}"  # another suite may run beside this one
    try:
        origin = RawOrigin(place, port=80)
    except PermissionError:
        pytest.skip("port 80 may not be bound here")
    with origin:
        origin.script("/old", Send(body[:1000]), Send(body[1000:]), Close())

        reply = proxy.get(f"http://{place}/old")

        assert (reply.status, reply.body, reply.whole) == (200, body, True)
        (record,) = proxy.records().of(f"http://{place}/old", "resource")
        assert record.block == body
        assert record.field("Content-Type") == "text/html"
        assert record.field("WARC-Protocol") == "http/0.9"


def test_secrets_of_its_request_are_not_kept_either(stage: tuple[RunningProxy, RawOrigin, RawOrigin]) -> None:
    proxy, origin, _ = stage
    origin.script("/secret", Send(b"moss\r\n\r\n"))
    wish = {"collection": "redacted", "redact_headers": ["authorization"]}
    session = proxy.control("POST", "/sessions", wish)

    assert proxy.get(origin.url("/secret"), credentials(session), "Authorization: Basic bW9zcw==").status == 502
    proxy.control("DELETE", f"/sessions/{session['id']}")

    (request,) = proxy.records("redacted").of(origin.url("/secret"), "request")
    assert b"Authorization:" in request.block
    assert b"bW9zcw==" not in request.block
