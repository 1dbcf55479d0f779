"""The wire to a Redis Cluster sends each command to the server that has its key's hash slot.

The wire asks for the slots of each server at its first use, when a server answers that a slot has moved, and after a
server could not be reached, since a replica may have replaced it (Redis cluster specification, "Redirection and
resharding"). While a slot moves, Redis refuses commands with several keys of the slot, such as claims. Payloads are
kept whole then.
"""

from __future__ import annotations

import threading
from binascii import crc_hqx
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import redis
from redis.exceptions import AskError, MovedError

from archive.settings.values.cluster_url import named_servers
from dedupdb.redis_io.command import Command, RedisScript
from dedupdb.redis_io.server_wire import ServerWire

_PORT: Final = 6379
_SLOTS: Final = 16_384
_ROUNDS: Final = 3
"""Most moves of slots that one call follows."""

type ServerAddress = tuple[str, int]


class _Share(NamedTuple):
    """A share is a range of hash slots and the server that has it."""

    first: int
    last: int
    address: ServerAddress


class ClusterWire:
    """The wire has connections to every known server. It is safe to share between threads."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        """`url` has the form of `archive.settings.values.cluster_url`. The wire connects at the first call."""
        named = [urlsplit(server) for server in named_servers(url)]
        self._url = named[0]
        self._timeout = timeout_seconds
        self._named: list[ServerAddress] = [(each.hostname or "localhost", each.port or _PORT) for each in named]
        self._servers: dict[ServerAddress, ServerWire] = {}
        self._shares: list[_Share] = []
        self._lock = threading.Lock()

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """Send as `RedisWire.send` does, to one server after the other, with one round trip for each."""
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

    def load_scripts(self, scripts: Iterable[RedisScript]) -> None:
        """Load scripts as `RedisWire.load_scripts` does, on every server that has slots and can be reached."""
        known = list(scripts)
        for address in self._owners():
            with suppress(redis.ConnectionError, redis.TimeoutError, OSError), self._forgetting():
                self._server(address).load_scripts(known)

    def keys(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Yield keys as `RedisWire.keys` does, from one server after the other."""
        for address in self._owners():
            with self._forgetting():
                yield from self._server(address).keys(pattern)

    def close(self) -> None:
        """Close all connections."""
        for server in list(self._servers.values()):
            server.close()

    def _by_owner(self, commands: Sequence[Command], places: Iterable[int]) -> dict[ServerAddress, list[int]]:
        """Return the places of commands by server, in the order of the commands."""
        groups: dict[ServerAddress, list[int]] = {}
        for place in places:
            groups.setdefault(self._owner(commands[place]), []).append(place)
        return groups

    def _owner(self, command: Command) -> ServerAddress:
        slot = hash_slot(_as_bytes(command.key))
        shares = self._shares or self._learn()
        place = bisect(shares, slot, key=lambda share: share.first) - 1
        if place < 0 or slot > shares[place].last:
            self._shares = []
            raise redis.ConnectionError(f"no server of the cluster has hash slot {slot}")
        return shares[place].address

    def _owners(self) -> list[ServerAddress]:
        return list(dict.fromkeys(share.address for share in self._shares or self._learn()))

    def _ask(self, address: ServerAddress, commands: Sequence[Command]) -> list[Any]:
        with self._forgetting():
            return self._server(address).send(commands)

    def _ask_importing(self, reply: Any, command: Command) -> Any:
        """Return the reply, or the reply of the server to which the slot of the key is moving."""
        if type(reply) is not AskError:
            return reply
        return self._ask((reply.host, reply.port), [Command("ASKING", ()), command])[1]

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """Forget the slots of the servers after a failure."""
        try:
            yield
        except (redis.RedisError, OSError):
            self._shares = []
            raise

    def _learn(self) -> list[_Share]:
        """Return the slots of each server, from the first server that answers."""
        failure: Exception = redis.ConnectionError("the cluster has no servers")
        for address in dict.fromkeys([*self._named, *self._servers]):
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

    def _server(self, address: ServerAddress) -> ServerWire:
        with self._lock:
            if (server := self._servers.get(address)) is None:
                host = f"[{address[0]}]" if ":" in address[0] else address[0]
                user, at, _ = self._url.netloc.rpartition("@")
                url = self._url._replace(netloc=f"{user}{at}{host}:{address[1]}").geturl()
                server = self._servers[address] = ServerWire(url, timeout_seconds=self._timeout)
            return server


def _share(entry: Any, asked: ServerAddress) -> _Share:
    """Return one part of the answer to CLUSTER SLOTS. A server that does not know its own name leaves it empty."""
    first, last, (host, port, *_), *_ = entry
    return _Share(int(first), int(last), ((host or b"").decode() or asked[0], int(port)))


def hash_slot(key: bytes) -> int:
    """Return the number of the key's hash slot: of the part in braces when there is one that is not empty."""
    _, brace, rest = key.partition(b"{")
    tag, end, _ = rest.partition(b"}")
    return crc_hqx(tag if brace and end and tag else key, 0) % _SLOTS


def _as_bytes(key: bytes | str | int) -> bytes:
    return key if isinstance(key, bytes) else str(key).encode("utf-8", "surrogatepass")
