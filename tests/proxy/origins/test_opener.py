"""New connections to origins: by whichever address lives, by whichever egress, with whichever certificate."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from support.origins.egress_proxies import HttpProxy, Socks5
from support.origins.raw_origin import RawOrigin, Reset, Send, response, server_tls
from support.proxy.proxy_process import ADDRESS

from archive.settings import ProxySettings
from proxy.origins.dead_hosts import DeadHost, DeadHosts
from proxy.origins.egress import EgressFailed, parse
from proxy.origins.opener import Opener, resolver_of
from proxy.origins.resolver import AddressRefused, NameNotFound
from proxy.origins.upstream import Destination, Upstream


class Reader:
    """Whoever uses the connection; waits for one response."""

    def __init__(self) -> None:
        self.data: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def upstream_data(self, data: bytes) -> None:
        if not self.data.done():
            self.data.set_result(data)

    def upstream_closed(self, error: Exception | None) -> None:
        if not self.data.done():
            self.data.set_exception(error or EOFError())

    def upstream_writable(self) -> None:
        pass


def opener(**settings: Any) -> Opener:
    chosen = ProxySettings(**{"allow_private": True, **settings})
    return Opener(chosen, resolver_of(chosen))


async def ask(upstream: Upstream) -> bytes:
    upstream.user = reader = Reader()
    upstream.write(b"GET / HTTP/1.1\r\n\r\n")
    answer = await asyncio.wait_for(reader.data, 20)
    upstream.answered()
    upstream.abort()
    return answer


def hello(**given: Any) -> RawOrigin:
    origin = RawOrigin(given.pop("address", ADDRESS), **given)
    origin.script("/", Send(response(b"hello")))
    return origin


def free_port(ip: str) -> int:
    with socket.create_server((ip, 0)) as listener:
        return int(listener.getsockname()[1])


class TestAddresses:
    async def test_a_dead_address_is_passed_over_and_the_live_one_tried_first_from_then_on(self) -> None:
        with hello(address="127.0.0.1") as origin:
            at = opener(resolve={"two.example": f"[::1]:{free_port('127.0.0.1')} 127.0.0.1:{origin.port}"})

            for _ in range(2):
                upstream = await at.open(Destination("two.example", 80, tls=False))
                assert upstream.origin.ip == "127.0.0.1"
                assert await ask(upstream) == response(b"hello")

    async def test_an_address_that_breaks_tls_off_is_passed_over_too(
        self, origin_ca: Path, authority: trustme.CA
    ) -> None:
        with RawOrigin(ADDRESS) as broken, hello(tls=server_tls(authority, "two.example")) as origin:
            broken.greet(Reset())
            at = opener(resolve={"two.example": f"{broken.authority} {origin.authority}"}, upstream_ca=str(origin_ca))

            upstream = await at.open(Destination("two.example", 443, tls=True))

            assert upstream.origin.certificate_error is None
            assert await ask(upstream) == response(b"hello")

    @pytest.mark.parametrize("tls", [False, True])
    async def test_an_ipv6_literal_is_reached_and_verified(
        self, authority: trustme.CA, origin_ca: Path, tls: bool
    ) -> None:
        context = server_tls(authority, "::1") if tls else None

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(response(b"six"))
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(serve, "::1", 0, ssl=context) as server:
            port = server.sockets[0].getsockname()[1]
            upstream = await opener(upstream_ca=str(origin_ca)).open(Destination("[::1]", port, tls=tls))

            assert (upstream.origin.ip, upstream.origin.certificate_error) == ("::1", None)
            assert await ask(upstream) == response(b"six")


class TestDeadHosts:
    async def test_are_not_tried_again_for_a_while(self) -> None:
        port = free_port(ADDRESS)
        at = opener()
        at.dead = DeadHosts(60, lambda: 1000.0)
        with pytest.raises(ConnectionRefusedError):
            await at.open(Destination(ADDRESS, port, tls=False))

        with socket.create_server((ADDRESS, port)) as listener:
            listener.setblocking(False)
            with pytest.raises(DeadHost) as raised:
                await at.open(Destination(ADDRESS, port, tls=False))
            with pytest.raises(BlockingIOError):
                listener.accept()

        assert isinstance(raised.value.reason, ConnectionRefusedError)

    async def test_are_tried_again_when_nothing_is_remembered(self) -> None:
        port = free_port(ADDRESS)
        at = opener(dead_host_seconds=0)
        with pytest.raises(ConnectionRefusedError):
            await at.open(Destination(ADDRESS, port, tls=False))

        with socket.create_server((ADDRESS, port)):
            upstream = await at.open(Destination(ADDRESS, port, tls=False))
            upstream.abort()

    async def test_that_were_reached_are_believed_dead_for_the_shortest_time_again(self) -> None:
        """T25: the second failure in a row counts for two seconds, one behind a success for one."""
        destination, at, now = Destination(ADDRESS, free_port(ADDRESS), tls=False), opener(), [1000.0]
        at.dead = DeadHosts(60, lambda: now[0])

        async def fail() -> None:
            with pytest.raises(ConnectionRefusedError):
                await at.open(destination)

        await fail()
        now[0] += 1
        await fail()
        now[0] += 1
        with pytest.raises(DeadHost):
            await at.open(destination)
        now[0] += 1
        with socket.create_server((ADDRESS, destination.port)):
            (await at.open(destination)).abort()
        await fail()
        now[0] += 1
        await fail()

    async def test_a_name_that_is_not_found_makes_one_and_a_refused_address_does_not(self) -> None:
        at = opener(allow_private=False)
        at.dead = DeadHosts(60, lambda: 1000.0)
        for error in (NameNotFound, DeadHost):
            with pytest.raises(error):
                await at.open(Destination("no-such-name.onion", 80, tls=False))
        for _ in range(2):
            with pytest.raises(AddressRefused):
                await at.open(Destination("127.0.0.1", 80, tls=False))


class TestEgress:
    @pytest.mark.parametrize("tls", [False, True])
    @pytest.mark.parametrize("kind", [Socks5, HttpProxy])
    async def test_leads_to_names_that_are_not_known_here(
        self, authority: trustme.CA, origin_ca: Path, kind: type[Socks5 | HttpProxy], tls: bool
    ) -> None:
        names = {"far.onion": ADDRESS}
        with hello(tls=server_tls(authority, "far.onion") if tls else None) as origin, kind(names) as proxy:
            egress = parse(f"{'socks5' if kind is Socks5 else 'http'}://127.0.0.1:{proxy.port}")
            destination = Destination("far.onion", origin.port, tls, egress)
            at = opener(upstream_ca=str(origin_ca))

            upstream = await at.open(destination)

            assert (upstream.origin.ip, upstream.origin.certificate_error) == (None, None)
            if tls or kind is Socks5:  # plain http is forwarded, not tunnelled
                assert await ask(upstream) == response(b"hello")
                assert proxy.asked == [f"far.onion:{origin.port}"]
            upstream.abort()

    async def test_shows_bad_certificates_too(self, authority: trustme.CA) -> None:
        with hello(tls=server_tls(authority, "other.example")) as origin, Socks5({"far.onion": ADDRESS}) as proxy:
            destination = Destination("far.onion", origin.port, True, parse(f"socks5://{proxy.authority}"))

            upstream = await opener().open(destination)

            assert "certificate" in (upstream.origin.certificate_error or "")
            assert await ask(upstream) == response(b"hello")

    async def test_that_is_down_is_not_the_hosts_fault(self) -> None:
        destination = Destination("far.onion", 80, False, parse(f"socks5://127.0.0.1:{free_port('127.0.0.1')}"))
        at = opener()
        for _ in range(2):
            with pytest.raises(EgressFailed, match="can't be reached"):
                await at.open(destination)

    async def test_whose_far_end_finds_nobody_makes_a_dead_host(self) -> None:
        with Socks5() as proxy:
            proxy.reply = 4
            destination = Destination("far.onion", 80, False, parse(f"socks5://{proxy.authority}"))
            at = opener()
            at.dead = DeadHosts(60, lambda: 1000.0)
            for error in (OSError, DeadHost):
                with pytest.raises(error):
                    await at.open(destination)

            assert proxy.asked == ["far.onion:80"]

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
    async def test_is_no_way_to_addresses_that_are_refused(self, host: str) -> None:
        with Socks5() as proxy:
            destination = Destination(host, 80, False, parse(f"socks5://{proxy.authority}"))

            with pytest.raises(AddressRefused):
                await opener(allow_private=False).open(destination)

            assert proxy.asked == []

    async def test_may_itself_be_private(self) -> None:
        with hello() as origin, Socks5({"far.onion": ADDRESS}) as proxy:
            destination = Destination("far.onion", origin.port, False, parse(f"socks5://{proxy.authority}"))

            assert await ask(await opener(allow_private=False).open(destination)) == response(b"hello")


class TestTls:
    async def test_shows_our_certificate_to_its_host(
        self, tmp_path: Path, authority: trustme.CA, origin_ca: Path
    ) -> None:
        path = tmp_path / "client.pem"
        ours = authority.issue_cert("client.example", key_type=trustme.KeyType.ECDSA)
        ours.private_key_and_cert_chain_pem.write_to_path(str(path))
        demanding = server_tls(authority, "members.example", "others.example")
        demanding.verify_mode = ssl.CERT_REQUIRED
        authority.configure_trust(demanding)
        with hello(tls=demanding) as origin:
            at = opener(
                upstream_ca=str(origin_ca),
                client_certificates={"members.example": str(path)},
                resolve={"*.example": origin.authority},
            )

            member = await at.open(Destination("members.example", 443, tls=True))
            assert await ask(member) == response(b"hello")

            stranger = await at.open(Destination("others.example", 443, tls=True))
            with pytest.raises((OSError, EOFError)):
                await ask(stranger)

    async def test_is_resumed(self, authority: trustme.CA, origin_ca: Path) -> None:
        with hello(tls=server_tls(authority, ADDRESS)) as origin:
            at = opener(upstream_ca=str(origin_ca))
            reused, chains = [], []
            for _ in range(2):
                upstream = await at.open(Destination(ADDRESS, origin.port, tls=True))
                assert upstream.tls is not None
                assert upstream.facts is not None
                reused.append(bool(upstream.tls.session_reused))
                chains.append(upstream.facts.chain)
                await ask(upstream)

        assert reused == [False, True]
        assert chains[0] == chains[1] != ()

    async def test_without_records_nothing_is_gathered(self, origin_tls: ssl.SSLContext) -> None:
        with hello(tls=origin_tls) as origin:
            upstream = await opener(record_provenance=False).open(Destination(ADDRESS, origin.port, tls=True))

            assert upstream.facts is None
            upstream.abort()
