"""A record's block is what the origin sent, to the byte, and the client gets what the origin meant."""

from __future__ import annotations

import random
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from support.archive.warc_reader import Archive, files
from support.clients.raw_client import BrokenOff, Reply
from support.origins.odd_responses import RESPONSES, Odd
from support.origins.raw_origin import RawOrigin, certificate_authority, server_tls
from support.proxy.running_proxy import ROUTES, Route, RunningProxy, request

from archive.warc import cdxj
from archive.warc.upkeep.check import Level, check

ADDRESS = "127.0.1.21"


@dataclass(frozen=True)
class Run:
    """What came of all cases: the client's replies (or why there was none), the origin's visits, the records."""

    replies: dict[tuple[str, Route], Reply | str]
    origins: dict[Route, RawOrigin]
    archive: Archive
    proxy: RunningProxy

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
        asked = [(odd, route) for odd in RESPONSES for route in ROUTES]
        with proxy, ThreadPoolExecutor(8) as clients:
            found = clients.map(lambda pair: _ask(proxy, origins[pair[1]], *pair), asked)
            replies = {(odd.name, route): reply for (odd, route), reply in zip(asked, found, strict=True)}
        yield Run(replies, origins, proxy.records(), proxy)


def _ask(proxy: RunningProxy, origin: RawOrigin, odd: Odd, route: Route) -> Reply | str:
    origin.script(path(odd, route), *odd.steps(tag(odd, route)))
    try:
        return proxy.get(origin.url(path(odd, route)), "X-Asked: B", "x-asked: A", route=route, method=odd.method)
    except (BrokenOff, TimeoutError, ssl.SSLError, ConnectionError, ValueError) as error:
        return repr(error)


def test_the_block_is_what_the_origin_sent_and_the_client_gets_what_was_meant(run: Run) -> None:
    for odd, route in product(RESPONSES, ROUTES):
        (record,) = run.archive.of(run.url(odd, route), "response")
        assert record.block == odd.block(tag(odd, route)), (odd.name, route)
        assert record.field("WARC-Truncated") is None, (odd.name, route)

        reply = run.reply(odd, route)
        assert (reply.status, reply.whole) == (odd.status, True), (odd.name, route)
        assert reply.body == odd.payload(tag(odd, route)), (odd.name, route)


def test_the_request_record_is_what_the_origin_received(run: Run) -> None:
    for odd, route in product(RESPONSES, ROUTES):
        (record,) = run.archive.of(run.url(odd, route), "request")
        # A connection that is used again may break before the answer. The request is sent again then, and kept once.
        visit = run.origins[route].asked(path(odd, route))[-1]
        assert record.block == visit.received, (odd.name, route)
        assert visit.received.startswith(f"{odd.method} {path(odd, route)} HTTP/1.1\r\nHost: ".encode()), odd.name
        assert b"\r\nX-Asked: B\r\nx-asked: A\r\n" in visit.received, (odd.name, route)


def test_the_connection_is_described(run: Run) -> None:
    odd = RESPONSES[0]
    for route in ROUTES:
        (record,) = run.archive.of(run.url(odd, route), "response")
        assert record.field("WARC-IP-Address") == ADDRESS
        protocols = {value for name, value in record.fields if name == "WARC-Protocol"}
        assert protocols == ({"http/1.1"} if route == "plain" else {"http/1.1", "tls/1.3"})
        assert record.field("Content-Type") == "application/http;msgtype=response"


def test_the_index_made_from_the_files_is_the_one_written_with_them(run: Run) -> None:
    """However odd a head is, its reader in the archive and its reader on the wire understand it alike."""
    rebuilt = [cdxj.line(capture) for file in files(run.proxy.folder()) for capture in cdxj.captures_of(file)]
    written = [path.read_text("utf-8").splitlines() for path in run.proxy.home.rglob("*.cdxj")]

    assert sorted(rebuilt) == sorted(line for lines in written for line in lines)


def test_the_check_finds_odd_heads_and_nothing_else(run: Run) -> None:
    said = run.proxy.command("check", *map(str, files(run.proxy.folder()))).stdout.splitlines()

    assert [line for line in said[:-1] if ": the HTTP head " not in line] == []


def test_all_on_as_few_connections_as_can_be_stay_in_step(tmp_path: Path) -> None:
    """In random order; connections on either side are used again wherever the borders of messages are sure."""
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    tls = server_tls(authority, ADDRESS)
    with (
        ExitStack() as opened,
        RunningProxy(tmp_path / "home", {"proxy.upstream_ca": tmp_path / "ca.pem"}) as proxy,
        ThreadPoolExecutor(len(ROUTES)) as clients,
    ):
        origins: dict[Route, RawOrigin] = {
            route: opened.enter_context(RawOrigin(ADDRESS, tls=None if route == "plain" else tls)) for route in ROUTES
        }
        for _ in clients.map(lambda route: _ask_on_few_connections(proxy, origins[route], route), ROUTES):
            pass
        proxy.stop()
    archive = proxy.records()
    for route, origin in origins.items():
        for odd in RESPONSES:
            blocks = archive.raw_blocks(origin.url(path(odd, route)))
            assert (odd.name, blocks) == (odd.name, [odd.block(tag(odd, route))])
        assert origin.connections < len(RESPONSES) * 0.7, route


def _ask_on_few_connections(proxy: RunningProxy, origin: RawOrigin, route: Route) -> None:
    with ExitStack() as clients:
        client = clients.enter_context(proxy.open(route, origin.authority))
        for odd in random.sample(RESPONSES, len(RESPONSES)):
            origin.script(path(odd, route), *odd.steps(tag(odd, route)))
            reply = client.ask(request(route, origin.url(path(odd, route)), method=odd.method))
            assert (odd.name, reply.status, reply.body) == (odd.name, odd.status, odd.payload(tag(odd, route))), route
            if reply.header("Connection") == "close":
                client = clients.enter_context(proxy.open(route, origin.authority))


def test_check_has_notes_and_no_problems_for_faithful_records_of_odd_heads(run: Run) -> None:
    """T33: such findings were problems, and `check` ended with 1 for files that are as they should be."""
    found = list(check(run.proxy.folder()))

    assert [problem for problem in found if problem.level is Level.PROBLEM] == []
    assert any("the HTTP head has the line b'what is this'" in note.message for note in found)
