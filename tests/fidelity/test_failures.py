"""What can't be fetched: an answer that says why, a line in crawl.log with Heritrix's code, and no record."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.origins.raw_origin import (
    Close,
    Drip,
    RawOrigin,
    Reset,
    Send,
    Wait,
    certificate_authority,
    response,
    server_tls,
)
from support.processes.waiting import until
from support.proxy.running_proxy import ROUTES, Route, RunningProxy, crawl_session

ADDRESS = "127.0.1.29"
NEVER = threading.Event()
IMPATIENT = {"proxy.connect_seconds": 2, "proxy.first_byte_seconds": 2, "proxy.idle_seconds": 5}


@dataclass(frozen=True)
class Stage:
    proxy: RunningProxy
    plain: RawOrigin
    secure: RawOrigin
    folder: Path


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("failures")
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    with (
        RawOrigin(ADDRESS) as plain,
        RawOrigin(ADDRESS, tls=server_tls(authority, ADDRESS)) as secure,
        RunningProxy(folder / "home", {"proxy.upstream_ca": folder / "ca.pem"}) as proxy,
    ):
        for origin in (plain, secure):
            origin.script("/empty", Close())
            origin.script("/lost", Send(b"HTTP/1.1 200 OK\r\nConte"), Close())
            origin.script("/silent", Wait(NEVER))
            origin.script("/garbage", Send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), Close())
            origin.script("/too-large", Send(b"HTTP/1.1 200 OK\r\n" + b"X-Moss: %b\r\n" % (b"m" * 6_000_000)), Close())
        yield Stage(proxy, plain, secure, folder)
        NEVER.set()


@pytest.fixture(scope="module")
def impatient(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The same origins, and a proxy that gives them up early: for tests in which nothing else is to happen."""
    folder = tmp_path_factory.mktemp("impatient")
    settings = {**IMPATIENT, "proxy.upstream_ca": stage.folder / "ca.pem"}
    with RunningProxy(folder / "home", settings) as proxy:
        yield replace(stage, proxy=proxy, folder=folder)


CASES = [
    ("/empty", 502, {-404, -3}),
    ("/lost", 502, {-3}),
    ("/garbage", 502, {-3}),
    ("/too-large", 502, {-3}),
]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("path", "status", "codes"), CASES, ids=[path for path, _, _ in CASES])
def test_a_failing_origin(stage: Stage, path: str, status: int, codes: set[int], route: Route) -> None:
    origin = stage.plain if route == "plain" else stage.secure

    _fails(stage, origin.url(path), status, codes, route)


@pytest.mark.parametrize("route", ROUTES)
def test_an_origin_that_says_nothing(impatient: Stage, route: Route) -> None:
    """An origin that is slow to speak TLS is given up, too: -2."""
    origin = impatient.plain if route == "plain" else impatient.secure

    _fails(impatient, origin.url("/silent"), 504, {-4, -2}, route)


@pytest.mark.parametrize("route", ROUTES)
def test_nobody_listens(stage: Stage, route: Route) -> None:
    scheme = "http" if route == "plain" else "https"

    _fails(stage, f"{scheme}://127.0.1.30:{9 + ROUTES.index(route)}/", 502, {-2}, route)


@pytest.mark.parametrize("route", ROUTES)
def test_an_unknown_host(stage: Stage, route: Route) -> None:
    scheme = "http" if route == "plain" else "https"

    _fails(stage, f"{scheme}://no-such-host-{route}.invalid/", 502, {-6, -1}, route)


@pytest.mark.parametrize("route", ["connect", "absolute"])
def test_tls_with_somebody_who_speaks_none(stage: Stage, route: Route) -> None:
    with RawOrigin("127.0.1.31") as origin:
        origin.greet(Send(b"220 mail.example.org ESMTP\r\n"))

        _fails(stage, f"https://{origin.authority}/", 502, {-2, -3}, route)


def test_nobody_accepts(impatient: Stage) -> None:
    """A connection that is neither accepted nor refused: its queue is full."""
    import socket

    with socket.socket() as full:
        full.bind(("127.0.1.32", 0))
        full.listen(0)
        port = full.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.1.32", port))

        _fails(impatient, f"http://127.0.1.32:{port}/", 504, {-2, -4}, "plain")

        for filler in fillers:
            filler.close()


def test_a_reset_instead_of_an_answer(stage: Stage) -> None:
    with RawOrigin("127.0.1.33") as origin:
        origin.script("/reset", Reset())

        _fails(stage, origin.url("/reset"), 502, {-3, -404}, "plain")


def test_a_head_that_drips_for_ever(tmp_path: Path) -> None:
    """One byte in a while keeps every read going: only a deadline for the whole exchange ends it."""
    with (
        RawOrigin("127.0.1.34") as origin,
        RunningProxy(tmp_path / "home", {**IMPATIENT, "proxy.total_seconds": 3}) as proxy,
    ):
        origin.script("/drip", Drip(b"HTTP/1.1 200 OK\r\n" + b"X-Moss: " + b"m" * 1000, 0.2))

        assert proxy.get(origin.url("/drip")).status == 504


def test_the_next_url_of_a_failing_host_is_fetched(stage: Stage) -> None:
    """No cache of dead hosts: one lost answer says nothing of the next."""
    stage.plain.script("/fine", Send(response(b"fine")))

    for _ in range(2):
        assert stage.proxy.get(stage.plain.url("/empty")).status == 502
        assert stage.proxy.get(stage.plain.url("/fine")).status == 200


def _fails(stage: Stage, url: str, status: int, codes: set[int], route: Route) -> None:
    log_dir = stage.folder / f"{abs(hash((url, route)))}"
    with crawl_session(stage.proxy, log_dir) as header:
        if route == "connect":
            authority = url.partition("//")[2].partition("/")[0]
            authority += "" if ":" in authority else ":443"
            with stage.proxy.tunnel(authority, header) as client:
                path = "/" + url.partition("//")[2].partition("/")[2]
                reply = client.ask(f"GET {path} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        else:
            reply = stage.proxy.get(url, header, route=route)

    assert reply.status == status, reply.body
    code = int((reply.header("Ghostfleet-Error") or "0").split()[0])
    assert code in codes, reply.header("Ghostfleet-Error")
    assert stage.proxy.records().of(url, "response", "revisit", "resource") == []
    (line,) = until(lambda: (log_dir / "crawl.log").read_text("utf-8").splitlines(), what="a line in crawl.log")
    fields = line.split()
    assert (int(fields[1]), fields[3]) == (code, url)
