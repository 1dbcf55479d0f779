"""Ways out: how they are written, which one a host takes, and the handshakes with real proxies of both kinds."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from support.origins.egress_proxies import HttpProxy, Socks5
from support.origins.raw_origin import RawOrigin, Send, response
from support.proxy.proxy_process import ADDRESS

from archive.settings.load import SettingsError
from proxy.origins.egress import Egress, EgressFailed, Routes, parse, pass_through


@pytest.mark.parametrize(
    ("text", "egress"),
    [
        ("direct", None),
        ("http://proxy.example:3128", Egress("http", "proxy.example", 3128)),
        ("http://me:p%40ss@proxy.example:3128/", Egress("http", "proxy.example", 3128, "me", "p@ss")),
        ("socks5://127.0.0.1", Egress("socks5", "127.0.0.1", 1080)),
        ("socks5h://[::1]:9050", Egress("socks5", "::1", 9050)),
    ],
)
def test_an_egress_is_a_url(text: str, egress: Egress | None) -> None:
    assert parse(text) == egress


@pytest.mark.parametrize(
    "text",
    [
        "",
        "proxy.example:3128",
        "http://proxy.example",
        "https://proxy.example:3128",
        "socks4://proxy.example:1080",
        "http://proxy.example:99999",
        "http://:3128",
        "http://proxy.example:3128/path",
        "http://a%3Ab:secret@proxy.example:3128",
        f"socks5://me:{'x' * 256}@proxy.example",
    ],
)
def test_what_is_no_egress_is_refused_without_telling_its_password(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        parse(text)

    assert "secret" not in str(raised.value)
    assert "xxx" not in str(raised.value)


@pytest.mark.parametrize(
    "text", ["http://anna:hid/den@h:3128", "http://h:3128/?token=hidden", "socks5://anna:hidden@h:99999", "http://[hid"]
)
def test_what_can_not_be_used_is_named_without_its_secrets(text: str) -> None:
    with pytest.raises(ValueError, match="must be http://host:port") as refused:
        parse(text)

    assert "hidden" not in str(refused.value)
    assert "'hid'" not in str(refused.value)


def test_credentials_part_connections_but_are_not_shown() -> None:
    one, other = parse("http://one:secret@proxy.example:1"), parse("http://other:secret@proxy.example:1")

    assert one is not None
    assert one != other
    assert "secret" not in repr(one)
    assert one.name == "http://proxy.example:1"
    assert one.authorization == b"Proxy-Authorization: Basic b25lOnNlY3JldA==\r\n"


def test_a_host_goes_by_its_session_first_then_by_the_table() -> None:
    routes = Routes({"*.onion": "socks5://tor.example:9050", "*": "http://all.example:3128", "a.example": "direct"})
    tor, everybody = parse("socks5://tor.example:9050"), parse("http://all.example:3128")

    assert routes.choose("x.onion", 80, None) == tor
    assert routes.choose("b.example", 80, None) == everybody
    assert routes.choose("a.example", 80, None) is None
    assert routes.choose("x.onion", 80, "http://own.example:1") == parse("http://own.example:1")
    assert routes.choose("x.onion", 80, "direct") is None
    assert Routes({}).choose("b.example", 80, None) is None


def test_a_table_that_can_not_be_used_is_named() -> None:
    with pytest.raises(SettingsError, match=r"proxy\.egress.*ftp://"):
        Routes({"*": "ftp://a:1"})


def test_a_forwarded_request_names_the_origin_and_the_credentials() -> None:
    egress = Egress("http", "proxy.example", 3128, "me", "pw")

    assert egress.forwards(tls=False)
    assert not egress.forwards(tls=True)
    assert egress.forwarded(b"GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n", "x.example:80") == (
        b"GET http://x.example:80/a?b HTTP/1.1\r\nProxy-Authorization: Basic bWU6cHc=\r\nHost: x\r\n\r\n"
    )


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.script("/", Send(response(b"reached")))
        yield running


async def through(egress: Egress, host: str, port: int) -> bytes:
    """One exchange with the origin at the far end."""
    loop = asyncio.get_running_loop()
    with socket.socket() as stream:
        stream.setblocking(False)
        await loop.sock_connect(stream, (egress.host, egress.port))
        await pass_through(egress, stream, host, port, tls=True)
        await loop.sock_sendall(stream, b"GET / HTTP/1.1\r\n\r\n")
        return await loop.sock_recv(stream, 1000)


@pytest.mark.parametrize("host", ["far.onion", ADDRESS])
@pytest.mark.parametrize("user", ["", "me"])
async def test_socks_leads_to_names_and_addresses(origin: RawOrigin, host: str, user: str) -> None:
    with Socks5({"far.onion": ADDRESS}, user=user, password="pw" if user else "") as socks:
        egress = Egress("socks5", "127.0.0.1", socks.port, user, "pw" if user else "")

        assert await through(egress, host, origin.port) == response(b"reached")
        assert socks.asked == [f"{host}:{origin.port}"]


async def test_socks_knows_ipv6() -> None:
    with RawOrigin(ADDRESS) as origin, Socks5({"::1": ADDRESS}) as socks:
        origin.script("/", Send(response(b"reached")))

        assert await through(Egress("socks5", "127.0.0.1", socks.port), "[::1]", origin.port) == response(b"reached")
        assert socks.asked == [f"::1:{origin.port}"]


@pytest.mark.parametrize(("user", "password"), [("", ""), ("me", "wrong")])
async def test_socks_that_refuses_our_credentials_is_a_failed_egress(user: str, password: str) -> None:
    with Socks5(user="me", password="pw") as socks:
        with pytest.raises(EgressFailed, match=r"methods to authenticate|user name or password"):
            await through(Egress("socks5", "127.0.0.1", socks.port, user, password), "a.example", 80)
        assert socks.asked == []


@pytest.mark.parametrize(
    ("reply", "number"), [(3, errno.ENETUNREACH), (4, errno.EHOSTUNREACH), (5, errno.ECONNREFUSED), (0xF0, 113)]
)
async def test_socks_reports_the_error_of_the_origin(reply: int, number: int) -> None:
    with Socks5() as socks:
        socks.reply = reply
        with pytest.raises(OSError, match=r"127\.0\.0\.1") as raised:
            await through(Egress("socks5", "127.0.0.1", socks.port), "a.example", 80)

    assert raised.value.errno == number
    assert not isinstance(raised.value, EgressFailed)


@pytest.mark.parametrize("reply", [1, 2, 7, 99])
async def test_socks_that_refuses_is_a_failed_egress(reply: int) -> None:
    with Socks5() as socks:
        socks.reply = reply
        with pytest.raises(EgressFailed):
            await through(Egress("socks5", "127.0.0.1", socks.port), "a.example", 80)


@pytest.mark.parametrize("user", ["", "me"])
async def test_a_tunnel_leads_to_names(origin: RawOrigin, user: str) -> None:
    with HttpProxy({"far.example": ADDRESS}, user=user, password="pw") as proxy:
        egress = Egress("http", "127.0.0.1", proxy.port, user, "pw")

        assert await through(egress, "far.example", origin.port) == response(b"reached")
        assert proxy.asked == [f"far.example:{origin.port}"]


@pytest.mark.parametrize(("reply", "number"), [(502, errno.EHOSTUNREACH), (504, errno.ETIMEDOUT)])
async def test_a_tunnel_reports_the_error_of_the_origin(reply: int, number: int) -> None:
    with HttpProxy() as proxy:
        proxy.reply = reply
        with pytest.raises(OSError, match=str(reply)) as raised:
            await through(Egress("http", "127.0.0.1", proxy.port), "a.example", 443)

    assert raised.value.errno == number


@pytest.mark.parametrize("reply", [403, 407, 503])
async def test_a_tunnel_that_is_refused_is_a_failed_egress(reply: int) -> None:
    with HttpProxy() as proxy:
        proxy.reply = reply
        with pytest.raises(EgressFailed, match=str(reply)):
            await through(Egress("http", "127.0.0.1", proxy.port), "a.example", 443)


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-hello\r\n\r\n", b"HTTP/1.1 200" + b" " * 70_000])
async def test_what_is_no_proxy_is_a_failed_egress(answer: bytes) -> None:
    def serve() -> None:
        stream, _ = listener.accept()
        with stream:
            stream.sendall(answer)
            stream.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while stream.recv(65536):
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.get_running_loop().run_in_executor(None, serve)
        with pytest.raises(EgressFailed):
            await through(Egress("http", "127.0.0.1", listener.getsockname()[1]), "a.example", 443)
        await serving
