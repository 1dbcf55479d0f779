"""A recording process answers on its own port only to allowed clients, and under its own names."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.clients.raw_client import BrokenOff, Client, Reply
from support.origins.raw_origin import RawOrigin
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import credentials, request
from support.stores.redis_server import RedisServer


@pytest.fixture(scope="module")
def screening(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[ProxyProcess]:
    """A process with a further name, which lets in a network that nobody here is in (T10)."""
    settings = {"proxy.allow_clients": ("203.0.113.0/24",), "proxy.host_names": ("recorder.example",)}
    with ProxyProcess(tmp_path_factory.mktemp("screening") / "home", proxy_redis.url, settings) as running:
        yield running


def ask(proxy: ProxyProcess, path: str, *lines: str) -> Reply:
    with proxy.connect() as client:
        return client.ask("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())


class TestHost:
    @pytest.mark.parametrize("path", ["/status", "/metrics", "/ca.pem", "/leaf.spki", "/", "/nothing"])
    def test_a_page_by_dns_rebinding_reads_nothing(self, proxy: ProxyProcess, path: str) -> None:
        """A page at http://evil.example:PORT/ whose name now leads to 127.0.0.1 (T12)."""
        reply = ask(proxy, path, f"Host: evil.example:{proxy.address[1]}", "Origin: http://evil.example")

        assert reply.status == 421
        assert b"proxy.host_names" in reply.body

    @pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}", "[::1]:{}", "127.0.0.1"])
    def test_warcprox_s_clients_ask_by_the_address(self, proxy: ProxyProcess, host: str) -> None:
        reply = ask(proxy, "/status", f"Host: {host.format(proxy.address[1])}")

        assert json.loads(reply.body)["role"] == "warcprox"

    def test_two_host_headers_are_refused(self, proxy: ProxyProcess) -> None:
        assert ask(proxy, "/status", "Host: localhost", "Host: evil.example").status in (400, 421)

    def test_on_the_port_of_a_session_it_is_the_same(self, proxy: ProxyProcess) -> None:
        session = proxy.session(collection="hosts", listen=True)
        with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
            assert client.ask(b"GET /status HTTP/1.1\r\nHost: evil.example\r\n\r\n").status == 421

    def test_what_is_to_be_fetched_may_have_any_name(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        assert proxy.get(origin.url("/"), "Host: evil.example").status in (200, 400)

    def test_a_listed_name_is_answered(self, screening: ProxyProcess) -> None:
        assert ask(screening, "/status", "Host: recorder.example:8000").status == 200
        assert ask(screening, "/status", "Host: other.example:8000").status == 421


@pytest.fixture
def network_address() -> str:
    """An address of this machine that is not loopback; a connection from it looks like one from the network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            pytest.skip("needs a machine with a network")
        return str(probe.getsockname()[0])


class TestAllowedClients:
    def test_this_machine_is_let_in(self, screening: ProxyProcess, origin: RawOrigin) -> None:
        session = screening.session(collection="let-in")

        assert screening.get(origin.url("/")).status == 200
        assert screening.get(origin.url("/"), credentials(session)).status == 200

    def test_another_network_is_cut_off_before_it_asks(
        self, screening: ProxyProcess, origin: RawOrigin, network_address: str
    ) -> None:
        refused = screening.status()["refused"]
        stranger = socket.create_connection(screening.address, 30, source_address=(network_address, 0))
        with Client(stranger) as client, pytest.raises((BrokenOff, ConnectionError)):
            client.ask(request("plain", origin.url("/")))

        assert origin.visits == []
        assert screening.status()["refused"] == refused + 1

    def test_a_listed_network_is_let_in(
        self, tmp_path: Path, proxy_redis: RedisServer, origin: RawOrigin, network_address: str
    ) -> None:
        with (
            ProxyProcess(
                tmp_path / "home", proxy_redis.url, {"proxy.allow_clients": (f"{network_address}/32",)}
            ) as proxy,
            Client(socket.create_connection(proxy.address, 30, source_address=(network_address, 0))) as client,
        ):
            assert client.ask(request("plain", origin.url("/"))).status == 200
