"""Addresses that are not the public internet's are refused unless the settings allow them, however they are written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.origins.raw_origin import RawOrigin, Send, response
from support.proxy.running_proxy import RunningProxy

ADDRESS = "127.0.1.35"
LOOPBACK = (
    "127.0.1.35",
    "2130706723",  # decimal
    "0x7f000123",  # hexadecimal
    "0177.0.1.043",  # octal
    "127.291",  # the last part stands for three bytes
    "[::ffff:127.0.1.35]",  # IPv4 in IPv6
    "[::ffff:7f00:123]",
    "127.0.1.35.",
)
OTHERS = (
    "localhost",
    "[::1]",
    "0.0.0.0",
    "[::]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",  # carrier-grade NAT
    "169.254.169.254",  # cloud metadata
    "100.100.100.200",
    "168.63.129.16",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "[64:ff9b::7f00:1]",  # NAT64
    "[2002:7f00:1::]",  # 6to4
    "224.0.0.1",
    "255.255.255.255",
)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    folder = tmp_path_factory.mktemp("private")
    settings = {"proxy.connect_seconds": 2, "proxy.resolve": "intranet.test=127.0.1.35"}
    with RunningProxy(folder / "home", settings, private=False) as running:
        yield running


@pytest.fixture(scope="module")
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.script("/", Send(response(b"secret")))
        yield running


@pytest.mark.parametrize("host", [*LOOPBACK, "intranet.test"])
def test_our_own_network_can_not_be_reached(proxy: RunningProxy, origin: RawOrigin, host: str) -> None:
    reply = proxy.get(f"http://{host}:{origin.port}/")

    assert reply.status in (400, 403, 502), "the origin was reached"
    assert b"secret" not in reply.body
    assert origin.connections == 0


@pytest.mark.parametrize("host", OTHERS)
def test_private_ranges_are_refused(proxy: RunningProxy, host: str) -> None:
    reply = proxy.get(f"http://{host}:9/")

    assert reply.status == 403, reply.body
    assert (reply.header("Ghostfleet-Error") or "").startswith("-5001")


@pytest.mark.parametrize("host", ["127.0.1.35", "[::ffff:127.0.1.35]", "2130706723"])
def test_a_tunnel_is_no_way_around(proxy: RunningProxy, origin: RawOrigin, host: str) -> None:
    with proxy.connect() as client:
        client.send(f"CONNECT {host}:{origin.port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        answer = client.read_some(12)
        if answer.endswith(b"200"):
            client.read_some(len(b" Connection established\r\n\r\n"))
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = client.read_some(12)

    assert answer.split()[1:] in ([b"403"], [b"400"], [b"502"])
    assert origin.connections == 0


def test_the_proxy_does_not_fetch_from_itself(proxy: RunningProxy) -> None:
    host, port = proxy.address

    assert proxy.get(f"http://{host}:{port}/status").status in (403, 508)
