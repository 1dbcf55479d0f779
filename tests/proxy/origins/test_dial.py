"""Happy eyeballs on this machine's own addresses: real sockets, one of them refusing or silent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proxy.origins.dial import interleaved, race
from proxy.origins.resolver import Address

DEAF = "127.0.1.62"


@contextmanager
def listening(ip: str, port: int = 0) -> Iterator[int]:
    """Somebody who takes calls; gives the port."""
    with socket.create_server((ip, port), family=socket.AF_INET6 if ":" in ip else socket.AF_INET) as listener:
        yield listener.getsockname()[1]


@contextmanager
def deaf() -> Iterator[int]:
    """Somebody whose queue of calls is full: further ones hang."""
    with socket.socket() as listener, socket.socket() as one, socket.socket() as two:
        listener.bind((DEAF, 0))
        listener.listen(0)
        for caller in (one, two):
            caller.setblocking(False)
            caller.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def free(ip: str) -> int:
    with listening(ip) as port:
        return port


async def winner(*addresses: Address) -> Address:
    stream, address = await asyncio.wait_for(race(addresses), 20)
    with stream:
        assert stream.getpeername()[:2] == (address.ip, address.port)
        assert not stream.getblocking()
    return address


def test_families_take_turns_beginning_with_the_first() -> None:
    ips = ["::1", "::2", "::3", "127.0.0.1", "127.0.0.2"]

    turns = interleaved([Address(ip, 80) for ip in ips])

    assert [address.ip for address in turns] == ["::1", "127.0.0.1", "::2", "127.0.0.2", "::3"]


async def test_the_first_that_answers_wins() -> None:
    with listening("::1") as six, listening("127.0.0.1") as four:
        assert await winner(Address("::1", six), Address("127.0.0.1", four)) == Address("::1", six)


@pytest.mark.parametrize(("dead", "alive"), [("::1", "127.0.0.1"), ("127.0.0.1", "::1")])
async def test_when_one_address_family_fails_the_other_is_used(dead: str, alive: str) -> None:
    with listening(alive) as port:
        assert await winner(Address(dead, free(dead)), Address(alive, port)) == Address(alive, port)


async def test_a_silent_address_is_overtaken() -> None:
    with deaf() as silent, listening("::1") as port:
        assert await winner(Address(DEAF, silent), Address("::1", port)) == Address("::1", port)


async def test_the_last_reason_is_told_when_all_are_dead() -> None:
    with pytest.raises(ConnectionRefusedError):
        await race([Address("::1", free("::1")), Address("127.0.0.1", free("127.0.0.1"))])
    with pytest.raises(OSError, match="no address"):
        await race([])


async def test_giving_up_leaves_no_call_behind() -> None:
    with deaf() as silent:
        before = set(asyncio.all_tasks())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.4):
                await race([Address(DEAF, silent), Address(DEAF, silent)])
        await asyncio.sleep(0)
        await asyncio.sleep(0)

        assert asyncio.all_tasks() == before
