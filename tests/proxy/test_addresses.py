"""Which addresses may be fetched from, and how names become addresses."""

from __future__ import annotations

import pytest

from proxy.addresses import Address, AddressRefused, NameNotFound, Resolver, is_public

PUBLIC = ("8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001:81b::200e", "::ffff:8.8.8.8")
NOT_PUBLIC = (
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "198.18.0.1",
    "192.0.2.1",
    "224.0.0.251",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2001:0:53aa:64c::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
)


@pytest.mark.parametrize("ip", PUBLIC)
def test_an_address_of_the_internet_is_public(ip: str) -> None:
    assert is_public(ip)


@pytest.mark.parametrize("ip", NOT_PUBLIC)
def test_an_address_of_any_inner_network_is_not(ip: str) -> None:
    assert not is_public(ip)


TABLE = {
    "example.org": "127.0.0.2",
    "example.org:444": "127.0.0.3:9444",
    "*.example.org": "127.0.0.4:80",
    "*.deep.example.org": "127.0.0.5",
    "Mixed.Example.NET": "127.0.0.6",
    "v6.example.net": "::1",
    "v6port.example.net": "[::1]:8080",
    "v6bare.example.net": "[::1]",
}


@pytest.mark.parametrize(
    ("host", "port", "found"),
    [
        ("example.org", 80, Address("127.0.0.2", 80)),
        ("example.org", 444, Address("127.0.0.3", 9444)),
        ("www.example.org", 443, Address("127.0.0.4", 80)),
        ("a.b.example.org", 443, Address("127.0.0.4", 80)),
        ("a.deep.example.org", 443, Address("127.0.0.5", 443)),
        ("mixed.example.net", 80, Address("127.0.0.6", 80)),
        ("v6.example.net", 80, Address("::1", 80)),
        ("v6port.example.net", 80, Address("::1", 8080)),
        ("v6bare.example.net", 81, Address("::1", 81)),
    ],
)
async def test_the_table_answers_before_dns(host: str, port: int, found: Address) -> None:
    assert await Resolver(TABLE, allow_private=True).resolve(host, port) == [found]


async def test_the_table_gives_no_leave_for_private_addresses() -> None:
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.2.*proxy\.allow_private"):
        await Resolver(TABLE, allow_private=False).resolve("example.org", 80)


async def test_the_table_may_name_public_addresses() -> None:
    assert await Resolver({"a": "8.8.8.8"}, allow_private=False).resolve("a", 80) == [Address("8.8.8.8", 80)]


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
async def test_a_name_of_this_machine_is_refused_unless_allowed(host: str) -> None:
    with pytest.raises(AddressRefused):
        await Resolver({}, allow_private=False).resolve(host, 80)

    found = await Resolver({}, allow_private=True).resolve(host, 80)
    assert {address.ip for address in found} <= {"127.0.0.1", "::1"}
    assert {address.port for address in found} == {80}


@pytest.mark.parametrize("host", ["no-such-name.invalid", "a" * 64 + ".example", ".."])
async def test_a_name_without_address_is_not_found(host: str) -> None:
    with pytest.raises(NameNotFound):
        await Resolver({}, allow_private=True).resolve(host, 80)
