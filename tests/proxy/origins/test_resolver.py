"""Which addresses may be fetched from, and how names become addresses."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proxy.origins.resolver import Address, AddressRefused, NameNotFound, Resolver, is_public

ROOT = Path(__file__).resolve().parents[3]
PUBLIC = (
    "192.88.98.255",
    "192.88.100.0",
    "192.31.196.1",
    "2620:4f:8000::1",
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "2606:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:8.8.8.8",
)
NOT_PUBLIC = (
    # Entries of IANA's special-purpose registries that `ipaddress` calls global, in some release or in all (T35).
    "192.88.99.0",
    "192.88.99.1",
    "192.88.99.255",
    "192.0.0.9",
    "192.0.0.192",
    "198.19.255.255",
    "203.0.113.7",
    "100::1",
    "100:0:0:1::1",
    "2001:1::1",
    "2001:2::1",
    "2001:20::1",
    "2001:30::1",
    "3fff::1",
    "5f00::1",
    "4000::1",
    "e000::1",
    "::ffff:192.88.99.1",
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


def test_an_address_of_the_internet_is_public() -> None:
    assert [ip for ip in PUBLIC if not is_public(ip)] == []


def test_an_address_of_any_inner_network_is_not() -> None:
    assert [ip for ip in NOT_PUBLIC if is_public(ip)] == []


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


async def test_the_table_does_not_allow_private_addresses() -> None:
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


async def test_the_table_may_name_several_addresses_and_tells_them_when_asked() -> None:
    table = {"two.example": "[::1]:8080 127.0.0.1"}
    silent = Resolver(table, allow_private=True)
    resolver = Resolver(table, allow_private=True, record_table=True)

    assert await resolver.resolve("two.example", 80) == [Address("::1", 8080), Address("127.0.0.1", 80)]
    answer = resolver.answer("two.example", 80)

    assert answer is not None
    assert answer.addresses == ("::1", "127.0.0.1")
    assert answer.source == "the setting proxy.resolve"
    assert resolver.answer("two.example", 80) is answer
    assert silent.answer("two.example", 80) is None


async def test_an_answer_is_believed_for_a_while_and_addresses_are_none() -> None:
    resolver = Resolver({}, allow_private=True, seconds=60)
    assert resolver.answer("localhost", 80) is None
    await asyncio.gather(*(resolver.resolve("localhost", 80) for _ in range(5)))

    answer = resolver.answer("localhost", 80)

    assert answer is not None
    assert (answer.name, answer.seconds) == ("localhost", 60)
    assert set(answer.addresses) <= {"127.0.0.1", "::1"}
    await resolver.resolve("localhost", 443)
    assert resolver.answer("localhost", 443) is answer
    await resolver.resolve("127.0.0.1", 80)
    assert resolver.answer("127.0.0.1", 80) is None


async def test_onion_names_are_never_asked_of_dns() -> None:
    with pytest.raises(NameNotFound, match=r"RFC 7686.*proxy\.egress"):
        await Resolver({}, allow_private=True).resolve("example.onion", 80)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "a.localhost", "169.254.169.254"])
def test_what_others_resolve_is_checked_as_far_as_it_can_be(host: str) -> None:
    with pytest.raises(AddressRefused):
        Resolver({}, allow_private=False).check_unresolved(host, 80)

    Resolver({}, allow_private=True).check_unresolved(host, 80)
    Resolver({}, allow_private=False).check_unresolved("example.onion", 80)
    Resolver({}, allow_private=False).check_unresolved("8.8.8.8", 80)


ASK_DNSMASQ = """
import asyncio, json, sys
from proxy.origins.resolver import Address, NameNotFound, Resolver

async def main():
    resolver = Resolver({}, allow_private=True, seconds=60)
    found = await resolver.resolve("both.example", 80)
    answer = resolver.answer("both.example", 80)
    resolver.prefer("both.example", found[-1].ip)
    preferred = (await resolver.resolve("both.example", 80))[0].ip
    try:
        await resolver.resolve("none.example", 80)
    except NameNotFound as error:
        missing = str(error)
    return dict(found=[address.ip for address in found], answer=answer.addresses, again=answer.block().decode(),
                nameserver=answer.nameserver, preferred=preferred, missing=missing)

print(json.dumps(asyncio.run(main())))
"""


def test_a_name_server_is_asked_and_its_answer_kept(tmp_path: Path) -> None:
    """dnsmasq in a network of its own, where it is the machine's only name server."""
    dnsmasq, unshare = shutil.which("dnsmasq", path="/usr/sbin:/usr/bin:/sbin"), shutil.which("unshare")
    if not (dnsmasq and unshare and shutil.which("ip") and os.geteuid() == 0):
        pytest.skip("needs root, unshare, ip and dnsmasq")
    if subprocess.run([unshare, "--net", "--mount", "true"], check=False, capture_output=True).returncode:
        pytest.skip("may not make a network namespace")
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    (tmp_path / "ask.py").write_text(ASK_DNSMASQ)
    steps = f"""
        ip link set lo up && mount --bind {tmp_path}/resolv.conf /etc/resolv.conf || exit 9
        {dnsmasq} --keep-in-foreground --no-resolv --no-hosts --user=root --listen-address=127.0.0.1 --bind-interfaces \
            --pid-file= --address=/both.example/192.0.2.7 --address=/both.example/2001:db8::7 --local=/example/ \
            2>{tmp_path}/dnsmasq.log &
        until ss -lun | grep -q 127.0.0.1:53; do kill -0 $! || exit 9; done
        {sys.executable} {tmp_path}/ask.py; code=$?; kill $!; exit $code
    """
    done = subprocess.run(
        [unshare, "--net", "--mount", "sh", "-c", steps],
        capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)

    assert set(said["found"]) == set(said["answer"]) == {"192.0.2.7", "2001:db8::7"}
    assert said["preferred"] == said["found"][-1]
    assert said["nameserver"] == "127.0.0.1"
    assert "both.example.\t60\tIN\tA\t192.0.2.7\n" in said["again"]
    assert "none.example" in said["missing"]


class TestOwn:
    """What the fleet listens on is never a target, whatever the settings allow (T9)."""

    @staticmethod
    def resolver(**given: Any) -> Resolver:
        table = {"own.example": "127.0.0.1", "both.example": "127.0.0.1 127.0.1.35", "moved.example": "127.0.0.1:8000"}
        return Resolver(table, allow_private=True, is_own=lambda ip, port: (ip, port) == ("127.0.0.1", 8000), **given)

    @pytest.mark.parametrize("host", ["127.0.0.1", "own.example"])
    async def test_is_refused_though_private_addresses_are_allowed(self, host: str) -> None:
        with pytest.raises(AddressRefused, match=f"{host} port 8000 belongs to the fleet"):
            await self.resolver().resolve(host, 8000)
        assert await self.resolver().resolve(host, 8001) == [Address("127.0.0.1", 8001)]

    async def test_is_refused_by_the_port_that_the_table_gives(self) -> None:
        with pytest.raises(AddressRefused):
            await self.resolver().resolve("moved.example", 80)

    async def test_makes_way_for_a_name_s_other_address(self) -> None:
        assert await self.resolver().resolve("both.example", 8000) == [Address("127.0.1.35", 8000)]

    async def test_the_address_of_an_egress_is_not_checked(self) -> None:
        assert await self.resolver().resolve("127.0.0.1", 8000, checked=False) == [Address("127.0.0.1", 8000)]

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "a.localhost", "own.example"])
    def test_is_refused_of_an_egress_as_far_as_it_can_be_judged(self, host: str) -> None:
        with pytest.raises(AddressRefused):
            self.resolver().check_unresolved(host, 8000)
        self.resolver().check_unresolved(host, 8001)
        self.resolver().check_unresolved("elsewhere.example", 8000)
