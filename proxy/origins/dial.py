"""A dial connects to the first of several addresses that answers: happy eyeballs (RFC 8305)."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from proxy.origins.resolver import Address

HEAD_START_SECONDS: Final = 0.25
"""How long an address is tried alone before the next one is tried beside it (RFC 8305 section 8)."""


def interleaved(addresses: Sequence[Address]) -> list[Address]:
    """Return the addresses with their families taking turns, the first one's family first (RFC 8305 section 4)."""
    first = [address for address in addresses if _is_v6(address) == _is_v6(addresses[0])]
    other = [address for address in addresses if _is_v6(address) != _is_v6(addresses[0])]
    return [address for pair in zip_longest(first, other) for address in pair if address is not None]


async def race(addresses: Sequence[Address]) -> tuple[socket.socket, Address]:
    """Return a connected, non-blocking socket and the address it leads to. Raises OSError, the last one, when none
    answers.

    When an address refuses, the next one is tried at once; when it does not answer, after HEAD_START_SECONDS beside it.
    """
    loop = asyncio.get_running_loop()
    waiting = interleaved(addresses)
    running: dict[asyncio.Task[socket.socket], Address] = {}
    last = OSError("there is no address to connect to")
    try:
        while waiting or running:
            if waiting:
                address = waiting.pop(0)
                running[loop.create_task(_connected(address))] = address
            done, _ = await asyncio.wait(
                running, timeout=HEAD_START_SECONDS if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                address = running.pop(task)
                try:
                    return task.result(), address
                except OSError as error:
                    last = error
        raise last
    finally:
        for loser in running:
            loser.add_done_callback(_close)
            loser.cancel()


async def _connected(address: Address) -> socket.socket:
    stream = socket.socket(socket.AF_INET6 if _is_v6(address) else socket.AF_INET, socket.SOCK_STREAM)
    try:
        stream.setblocking(False)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(stream, (address.ip, address.port))
    except BaseException:
        stream.close()
        raise
    return stream


def _close(loser: asyncio.Task[socket.socket]) -> None:
    if not loser.cancelled() and loser.exception() is None:
        loser.result().close()


def _is_v6(address: Address) -> bool:
    return ":" in address.ip
