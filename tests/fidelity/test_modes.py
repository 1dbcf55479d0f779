"""Patch mode asks the archive first and records what is missing; live mode relays and keeps nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.clients.websocket import BYE, CLOSE, HANDSHAKE, TEXT, SocketOrigin, frame
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Reset, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import Client, RunningProxy, credentials, request

ADDRESS = "127.0.1.75"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path_factory.mktemp("modes") / "home") as running:
        yield running


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(lambda asked: (Send(response(page(asked.split(b" ")[1], 5000))),))
        yield running


def session(proxy: RunningProxy, mode: str, collection: str = "default") -> dict[str, str]:
    return proxy.control("POST", "/sessions", {"collection": collection, "mode": mode})


def indexed(proxy: RunningProxy, url: str) -> None:
    """Waits until replay finds the URL."""
    replay = credentials(session(proxy, "replay"))
    until(lambda: proxy.get(url, replay).status == 200, what=f"{url} in the index")


def test_patch_answers_from_the_archive_and_fetches_the_rest(proxy: RunningProxy, origin: RawOrigin) -> None:
    held, missing = origin.url("/held"), origin.url("/missing")
    proxy.get(held)
    indexed(proxy, held)
    patch = session(proxy, "patch")

    again, new = proxy.get(held, credentials(patch)), proxy.get(missing, credentials(patch))

    assert again.header("Memento-Datetime")
    assert again.body == page(b"/held", 5000)
    assert new.header("Memento-Datetime") is None
    assert new.body == page(b"/missing", 5000)
    assert len(origin.asked("/held")) == 1
    assert len(proxy.records().of(held, "response", "revisit")) == 1
    assert len(proxy.records().of(missing, "response")) == 1
    report = proxy.control("DELETE", f"/sessions/{patch['id']}")
    assert (report["urls"], report["patched"], report["novel"], report["failed"]) == (2, 1, 1, 0)


def test_patch_sends_data_to_the_live_web(proxy: RunningProxy, origin: RawOrigin) -> None:
    url, header = origin.url("/form"), credentials(session(proxy, "patch"))
    proxy.get(url)
    indexed(proxy, url)

    reply = proxy.exchange(request("plain", url, header, method="POST", body=b"a=b"))

    assert reply.status == 200
    assert origin.received("/form").endswith(b"\r\n\r\na=b")
    assert [record.block[:4] for record in proxy.records().of(url, "request")] == [b"GET ", b"POST"]


def test_patch_keeps_a_connection_in_step(proxy: RunningProxy, origin: RawOrigin) -> None:
    proxy.get(origin.url("/step/1"))
    indexed(proxy, origin.url("/step/1"))
    with listening(proxy, "patch") as client:
        for number in (0, 1, 2, 1):
            reply = client.ask(request("plain", origin.url(f"/step/{number}")))
            assert reply.body == page(b"/step/%d" % number, 5000)


def listening(proxy: RunningProxy, mode: str) -> Client:
    """A connection to a session's own port."""
    opened = proxy.control("POST", "/sessions", {"collection": "default", "mode": mode, "listen": True})
    return proxy.connect((opened["host"], opened["port"]))


def test_live_relays_counts_and_keeps_nothing(proxy: RunningProxy, origin: RawOrigin) -> None:
    origin.script("/gone", Reset())
    live = session(proxy, "live", "unkept")

    reply = proxy.get(origin.url("/live"), credentials(live))
    gone = proxy.get(origin.url("/gone"), credentials(live))
    report = proxy.control("DELETE", f"/sessions/{live['id']}")

    assert (reply.status, reply.body, gone.status) == (200, page(b"/live", 5000), 502)
    assert (report["urls"], report["relayed"], report["novel"], report["failed"]) == (2, 1, 0, 1)
    assert report["bytes"] == len(origin.sent("/live"))
    assert not (proxy.home / "collections" / "unkept").exists()


def test_live_relays_switched_protocols_and_large_bodies(proxy: RunningProxy, origin: RawOrigin) -> None:
    body = page(b"large", 3_000_000)
    origin.script("/large", Send(response(body)))
    before = len(proxy.records().records)
    with SocketOrigin(ADDRESS, frame(TEXT, b"moss")) as talker, listening(proxy, "live") as client:
        assert client.ask(request("plain", origin.url("/large"))).body == body
        assert client.ask(request("plain", talker.url("/"), *HANDSHAKE)).status == 101
        assert client.read_some(6) == frame(TEXT, b"moss")
        client.send(frame(CLOSE, BYE, mask=b"abcd"))
        assert client.read_some(4) == frame(CLOSE, BYE)
        assert client.is_closed_by_proxy()
    assert len(proxy.records().records) == before


@pytest.mark.parametrize("mode", ["live", "replay"])
def test_records_can_not_be_handed_in_where_none_are_kept(proxy: RunningProxy, mode: str) -> None:
    header = credentials(session(proxy, mode))
    with proxy.connect() as client:
        reply = client.ask(
            f"WARCPROX_WRITE_RECORD urn:x HTTP/1.1\r\n{header}\r\nWARC-Type: metadata\r\n"
            "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx".encode()
        )
    assert (reply.status, reply.header("Ghostfleet-Error")) == (403, "0 control")
