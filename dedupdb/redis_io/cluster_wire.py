"""The wire to a Redis Cluster: each command goes to the server that has its key's hash slot.

Which server has which slots is asked when it is first needed, when one answers that a slot has moved, and after one
could not be reached: a replica may have taken its place (Redis cluster specification, "Redirection and resharding").
While a slot is on its way, a command with several of its keys is refused, as a claim is: what comes is kept whole.
"""

from __future__ import annotations

import threading
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import redis
from redis.crc import key_slot
from redis.exceptions import AskError, MovedError

from archive.cluster_url import named_server
from dedupdb.command import Command, Script
from dedupdb.redis_wire import ServerWire

_PORT: Final = 6379
_ROUNDS: Final = 3
"""How often a slot may have moved between two questions."""

type Address = tuple[str, int]


class _Share(NamedTuple):
    """A run of hash slots, and who has it."""

    first: int
    last: int
    address: Address


class ClusterWire:
    """A wire to every server that was heard of. Safe to share between threads."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        """`url` as `archive.cluster_url` has it. Connects at the first call."""
        self._url = urlsplit(named_server(url))
        self._timeout = timeout_seconds
        self._seed: Address = (self._url.hostname or "localhost", self._url.port or _PORT)
        self._servers: dict[Address, ServerWire] = {}
        self._shares: list[_Share] = []
        self._lock = threading.Lock()

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """As `Wire.send`; those for one server in one round trip, and one server after the other."""
        replies: list[Any] = [None] * len(commands)
        places = list(range(len(commands)))
        for _ in range(_ROUNDS):
            for address, group in self._by_owner(commands, places).items():
                answers = self._ask(address, [commands[place] for place in group])
                for place, answer in zip(group, answers, strict=True):
                    replies[place] = self._ask_importing(answer, commands[place])
            places = [place for place in places if isinstance(replies[place], MovedError)]
            if not places:
                break
            self._shares = []
        return replies

    def teach(self, scripts: Iterable[Script]) -> None:
        """As `Wire.teach`, on every server that has slots."""
        known = list(scripts)
        for address in self._owners():
            with self._forgetting():
                self._server(address).teach(known)

    def keys(self, pattern: bytes) -> Iterator[list[bytes]]:
        """As `Wire.keys`, of one server after the other."""
        for address in self._owners():
            with self._forgetting():
                yield from self._server(address).keys(pattern)

    def close(self) -> None:
        """As `Wire.close`."""
        for server in list(self._servers.values()):
            server.close()

    def _by_owner(self, commands: Sequence[Command], places: Iterable[int]) -> dict[Address, list[int]]:
        """The places of commands by the server they belong to, in the order they have."""
        groups: dict[Address, list[int]] = {}
        for place in places:
            groups.setdefault(self._owner(commands[place]), []).append(place)
        return groups

    def _owner(self, command: Command) -> Address:
        slot = key_slot(_as_bytes(command.key))
        shares = self._shares or self._learn()
        place = bisect(shares, slot, key=lambda share: share.first) - 1
        if place < 0 or slot > shares[place].last:
            self._shares = []
            raise redis.ConnectionError(f"no server of the cluster has hash slot {slot}")
        return shares[place].address

    def _owners(self) -> list[Address]:
        return list(dict.fromkeys(share.address for share in self._shares or self._learn()))

    def _ask(self, address: Address, commands: Sequence[Command]) -> list[Any]:
        with self._forgetting():
            return self._server(address).send(commands)

    def _ask_importing(self, reply: Any, command: Command) -> Any:
        """The reply, or that of the server which is just taking over the key's slot."""
        if type(reply) is not AskError:
            return reply
        return self._ask((reply.host, reply.port), [Command("ASKING", ()), command])[1]

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """After a failure, who has which slots is asked again."""
        try:
            yield
        except (redis.RedisError, OSError):
            self._shares = []
            raise

    def _learn(self) -> list[_Share]:
        """Who has which slots, as the first server that answers knows it."""
        failure: Exception = redis.ConnectionError("the cluster has no servers")
        for address in dict.fromkeys([self._seed, *self._servers]):
            try:
                (said,) = self._server(address).send([Command("CLUSTER", ("SLOTS",))])
                if isinstance(said, Exception):
                    raise said
            except (redis.RedisError, OSError) as error:
                failure = error
                continue
            self._shares = sorted(_share(entry, address) for entry in said)
            return self._shares
        raise failure

    def _server(self, address: Address) -> ServerWire:
        with self._lock:
            if (server := self._servers.get(address)) is None:
                host = f"[{address[0]}]" if ":" in address[0] else address[0]
                user, at, _ = self._url.netloc.rpartition("@")
                url = self._url._replace(netloc=f"{user}{at}{host}:{address[1]}").geturl()
                server = self._servers[address] = ServerWire(url, timeout_seconds=self._timeout)
            return server


def _share(entry: Any, asked: Address) -> _Share:
    """One of the answer to CLUSTER SLOTS; a server that does not know its own name leaves it empty."""
    first, last, (host, port, *_), *_ = entry
    return _Share(int(first), int(last), ((host or b"").decode() or asked[0], int(port)))


def _as_bytes(key: bytes | str | int) -> bytes:
    return key if isinstance(key, bytes) else str(key).encode("utf-8", "surrogatepass")
