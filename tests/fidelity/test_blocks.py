"""A record's block is what the origin sent, to the byte, and the client gets what the origin meant."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from odd_responses import RESPONSES, Odd
from origin import Close, RawOrigin, Send, certificate_authority, server_tls
from proxying import ROUTES, Route, RunningProxy
from rawclient import BrokenOff, Reply
from warcs import Archive

ADDRESS = "127.0.1.21"
CASES = [pytest.param(odd, route, id=f"{odd.name}-{route}") for odd in RESPONSES for route in ROUTES]


@dataclass(frozen=True)
class Run:
    """What came of all cases: the client's replies (or why there was none), the origin's visits, the records."""

    replies: dict[tuple[str, Route], Reply | str]
    origins: dict[Route, RawOrigin]
    archive: Archive

    def url(self, odd: Odd, route: Route) -> str:
        return self.origins[route].url(path(odd, route))

    def reply(self, odd: Odd, route: Route) -> Reply:
        reply = self.replies[odd.name, route]
        assert isinstance(reply, Reply), f"the client got no response: {reply}"
        return reply


def path(odd: Odd, route: Route) -> str:
    return f"/{odd.name}/{route}"


def tag(odd: Odd, route: Route) -> bytes:
    return f"{odd.name}:{route}".encode()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("blocks")
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    tls = server_tls(authority, ADDRESS)
    with RawOrigin(ADDRESS) as plain, RawOrigin(ADDRESS, tls=tls) as secure:
        origins: dict[Route, RawOrigin] = {"plain": plain, "connect": secure, "absolute": secure}
        proxy = RunningProxy(folder / "home", {"proxy.upstream_ca": folder / "ca.pem"})
        with proxy:
            replies = {
                (odd.name, route): _ask(proxy, origins[route], odd, route) for odd in RESPONSES for route in ROUTES
            }
        yield Run(replies, origins, proxy.records())


def _ask(proxy: RunningProxy, origin: RawOrigin, odd: Odd, route: Route) -> Reply | str:
    steps = (Send(odd.sent(tag(odd, route))), *([Close()] if odd.close else []))
    origin.script(path(odd, route), *steps)
    try:
        return proxy.get(origin.url(path(odd, route)), "X-Asked: B", "x-asked: A", route=route, method=odd.method)
    except (BrokenOff, TimeoutError, ssl.SSLError, ConnectionError, ValueError) as error:
        return repr(error)


@pytest.mark.parametrize(("odd", "route"), CASES)
def test_the_block_is_what_the_origin_sent(run: Run, odd: Odd, route: Route) -> None:
    assert run.archive.raw_blocks(run.url(odd, route)) == [odd.block(tag(odd, route))]


@pytest.mark.parametrize(("odd", "route"), CASES)
def test_the_client_gets_what_the_origin_meant(run: Run, odd: Odd, route: Route) -> None:
    reply = run.reply(odd, route)

    assert reply.status == odd.status
    assert reply.whole
    assert reply.body == odd.payload(tag(odd, route))


@pytest.mark.parametrize(("odd", "route"), CASES)
def test_the_request_record_is_what_the_origin_received(run: Run, odd: Odd, route: Route) -> None:
    (record,) = run.archive.of(run.url(odd, route), "request")
    (visit,) = run.origins[route].asked(path(odd, route))

    assert record.block == visit.received
    assert visit.received.startswith(f"{odd.method} {path(odd, route)} HTTP/1.1\r\nHost: ".encode())
    assert b"\r\nX-Asked: B\r\nx-asked: A\r\n" in visit.received


@pytest.mark.parametrize(("odd", "route"), CASES)
def test_nothing_whole_is_called_truncated(run: Run, odd: Odd, route: Route) -> None:
    assert [record.field("WARC-Truncated") for record in run.archive.of(run.url(odd, route), "response")] == [None]


def test_the_connection_is_described(run: Run) -> None:
    odd = RESPONSES[0]
    for route in ROUTES:
        (record,) = run.archive.of(run.url(odd, route), "response")
        assert record.field("WARC-IP-Address") == ADDRESS
        protocols = {value for name, value in record.fields if name == "WARC-Protocol"}
        assert protocols == ({"http/1.1"} if route == "plain" else {"http/1.1", "tls/1.3"})
        assert record.field("Content-Type") == "application/http;msgtype=response"


def test_five_in_sequence_stay_in_step(tmp_path: Path) -> None:
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = server_tls(authority, ADDRESS)
    names = ("chunked", "bytes-behind", "no-content", "not-modified", "plain")
    odds = [odd for name in names for odd in RESPONSES if odd.name == name]
    with (
        RawOrigin(ADDRESS) as plain,
        RawOrigin(ADDRESS, tls=tls) as secure,
        RunningProxy(tmp_path / "home", {"proxy.upstream_ca": tmp_path / "ca.pem"}) as proxy,
    ):
        for route in ROUTES:
            origin = plain if route == "plain" else secure
            with proxy.open(route, origin.authority) as client:
                for odd in odds:
                    origin.script(path(odd, route), Send(odd.sent(tag(odd, route))))
                    target = path(odd, route) if route == "connect" else origin.url(path(odd, route))
                    reply = client.ask(f"GET {target} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n".encode())
                    assert (odd.name, reply.status, reply.body) == (odd.name, odd.status, odd.payload(tag(odd, route)))
        proxy.stop()
        for route in ROUTES:
            origin = plain if route == "plain" else secure
            for odd in odds:
                blocks = proxy.records().raw_blocks(origin.url(path(odd, route)))
                assert blocks == [odd.block(tag(odd, route))]
