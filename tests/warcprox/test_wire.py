"""Origins that misbehave, and what /status says."""

from __future__ import annotations

import base64
import gzip
import hashlib
import threading
from datetime import datetime
from pathlib import Path

import pytest
from support.clients.brozzler_client import MetaClient
from support.origins.raw_origin import Close, Send, Step, Wait, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy
from support.proxy.warcprox_stage import ADDRESS, Stage

from proxy.process.status import earliest

STATUS_KEYS = {
    *("role", "version", "host", "address", "port", "pid", "threads", "active_requests", "unaccepted_requests"),
    *("load", "queued_urls", "queue_max_size", "urls_processed", "warc_bytes_written", "start_time"),
    *("rates_1min", "rates_5min", "rates_15min", "earliest_still_active_fetch_start", "seconds_behind"),
    *("earliest_still_active_socket", "earliest_still_active_postfetch", "postfetch_chain"),
}


@pytest.mark.parametrize("secure", [False, True])
class TestBothSchemes:
    def test_without_a_length_the_client_does_not_hang(self, stage: Stage, secure: bool) -> None:
        origin = stage.secure if secure else stage.plain
        origin.script("/nolength", Send(b"HTTP/1.1 200 OK\r\n\r\nthis is all"), Close())

        assert stage.client.get(stage.url("/nolength", secure=secure)).content == b"this is all"

    def test_not_a_byte_is_502(self, stage: Stage, secure: bool) -> None:
        origin = stage.secure if secure else stage.plain
        origin.script("/empty", Close())

        assert stage.client.get(stage.url("/empty", secure=secure)).status_code == 502
        assert stage.client.get(stage.url("/after/empty", secure=secure)).status_code == 200


def test_silence_ends_with_an_error_and_the_next_request_is_answered(stage: Stage, tmp_path: Path) -> None:
    forever = threading.Event()
    stage.plain.script("/silent", Wait(forever))
    impatient = {"proxy.first_byte_seconds": 1, "proxy.resolve": f"localhost={ADDRESS}"}

    with RunningProxy(tmp_path / "home", impatient) as proxy:
        client = MetaClient(proxy)
        assert client.get(stage.url("/silent")).status_code == 504
        # On a busy machine, the origin itself may need more than a second for an answer.
        until(lambda: client.get(stage.url("/after/silence")).status_code == 200, what="the next answer")
    forever.set()


def test_too_large_is_cut_recorded_and_the_next_request_is_clean(stage: Stage) -> None:
    body = b"large " * 1_000_000
    stage.plain.script("/large", Send(response(body)))
    with stage.proxy.connect() as client:
        reply = client.ask(f"GET {stage.url('/large')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert not reply.whole

    (record,) = stage.proxy.records(growing=True).of(stage.url("/large"), "response")
    assert record.field("WARC-Truncated") == "length"
    assert 200_000 <= len(record.block) < len(body)
    assert body.startswith(record.block.partition(b"\r\n\r\n")[2])
    assert stage.client.get(stage.url("/after/large")).status_code == 200


def test_broken_chunks_are_recorded(stage: Stage) -> None:
    sent = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nf"
    stage.plain.script("/broken", Send(sent), Close())
    with stage.proxy.connect() as client:
        reply = client.ask(f"GET {stage.url('/broken')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    assert not reply.whole
    (record,) = stage.proxy.records(growing=True).of(stage.url("/broken"), "response")
    assert record.block == sent


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("chunks", [False, True])
def test_the_payload_digest_is_of_the_body_without_transfer_coding(
    stage: Stage, packed: bool, coded: bool, chunks: bool
) -> None:
    path = f"/digest/{packed}{coded}{chunks}"
    payload = gzip.compress(path.encode() * 20) if packed else path.encode() * 20
    coding = (b"Content-Encoding: gzip",) if coded and packed else ()
    stage.plain.script(path, *_sent(payload, coding, chunks))

    with stage.proxy.connect() as client:
        assert client.ask(f"GET {stage.url(path)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).whole

    (record,) = stage.proxy.records(growing=True).of(stage.url(path), "response")
    assert record.payload_digest == f"sha1:{base64.b32encode(hashlib.sha1(payload).digest()).decode()}"


def _sent(payload: bytes, coding: tuple[bytes, ...], chunks: bool) -> tuple[Step, ...]:
    if not chunks:
        return (Send(response(payload, *coding)),)
    head = b"\r\n".join([b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", *coding, b"", b""])
    half = len(payload) // 2
    pieces = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in (payload[:half], payload[half:], b""))
    return (Send(head + pieces),)


def test_status_has_warcproxs_keys_and_the_chosen_port(stage: Stage) -> None:
    status = stage.proxy.status()

    assert set(status) >= STATUS_KEYS
    assert (status["role"], status["port"]) == ("warcprox", stage.proxy.address[1])
    assert status["port"] > 0


def test_status_tells_what_has_been_under_way_longest(stage: Stage) -> None:
    """Keys and values as warcprox 2.13 gives them (T37)."""
    answered = threading.Event()
    stage.plain.script("/slow", Wait(answered), Send(response(b"slow")))
    with stage.proxy.connect() as client:
        host, port = client.stream.getsockname()
        client.send(f"GET {stage.url('/slow')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        status = until(
            lambda: (
                (found := stage.proxy.status())["earliest_still_active_socket"]["peername"] == [host, port] and found
            ),
            what="a request under way",
        )
        answered.set()
        assert client.read_reply().status == 200

    socket = status["earliest_still_active_socket"]
    assert socket.pop("socket") == f"<client ('{host}', {port}) of {stage.proxy.address}>"
    assert socket == {
        "name": list(stage.proxy.address),
        "peername": [host, port],
        "future_status": "running",
        "exception": None,
    }
    assert status["earliest_still_active_postfetch"] == {"url": None, "postfetch_plugin": None}
    assert datetime.fromisoformat(status["earliest_still_active_fetch_start"]).tzinfo is not None
    assert status["seconds_behind"] > 0
    idle = until(
        lambda: (found := stage.proxy.status())["earliest_still_active_fetch_start"] is None and found,
        what="an idle proxy",
    )
    assert idle["seconds_behind"] == 0
    assert idle["earliest_still_active_socket"] == {
        "socket": "None",
        "name": None,
        "peername": None,
        "future_status": None,
        "exception": None,
    }


def test_status_names_the_url_of_what_waits_to_be_written() -> None:
    found = earliest(0, None, "http://example.org/")

    assert found["earliest_still_active_fetch_start"] == "1970-01-01T00:00:00+00:00"
    assert found["earliest_still_active_postfetch"] == {"url": "http://example.org/", "postfetch_plugin": "writer"}
    assert found["earliest_still_active_socket"]["socket"] == "None"
