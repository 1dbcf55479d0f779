"""The wire to one Redis server sends any batch of commands in one round trip."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, cast

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from dedupdb.redis_io.command import Command, CommandArgument, RedisScript

_SCAN_COUNT: Final = 1000
_pack: Final[Callable[[tuple[CommandArgument, ...]], bytes]] = cast(Any, hiredis.pack_command)
"""Without the client's look at each argument; ours are of the three kinds it takes.

`pack_command` is undocumented, and so are the client's `response_callbacks` and a connection's `send_packed_command`,
`read_response` and `retry`. Only this module uses these names: the documented pipeline takes three times as long.
`tests/test_library_contracts.py` compares them with the installed releases.
"""


class RedisWire(Protocol):
    """A wire carries commands to Redis, a single server or a cluster.

    Every call is safe from any thread, and may raise redis.RedisError or OSError.
    """

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """Send all commands at once, not as a transaction. Return a reply to each, an exception for a refused one."""

    def load_scripts(self, scripts: Iterable[RedisScript]) -> None:
        """Load the scripts on every server where a command may run."""

    def keys(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Yield lists of keys that match the glob, with one round trip for each. A key may come more than once."""

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""


class ServerWire:
    """The wire is a pool of connections to one server.

    A connection that has broken since its last use, for instance by a restart of Redis, is replaced at once.
    """

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        """Connect at the first call."""
        self._client: redis.Redis = redis.Redis.from_url(
            url,
            protocol=2,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        )
        self._idle: deque[Any] = deque()

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """Send all commands on one connection. The pipeline of redis-py does the same for three times the CPU."""
        connection = self._connection()
        packed = b"".join([_pack((*command.name.split(), *command.arguments)) for command in commands])
        try:
            replies: list[Any] = connection.retry.call_with_retry(
                lambda: _exchange(connection, packed, len(commands)), lambda _: connection.disconnect()
            )
        except BaseException:
            connection.disconnect()  # replies may still come
            raise
        finally:
            self._idle.append(connection)
        parsers = self._client.response_callbacks
        return [
            parsers[command.name](reply) if command.name in parsers and not isinstance(reply, Exception) else reply
            for command, reply in zip(commands, replies, strict=True)
        ]

    def load_scripts(self, scripts: Iterable[RedisScript]) -> None:
        """Load scripts as `RedisWire.load_scripts` does.

        The reply is ignored, because a script that the server refuses fails again when it is run.
        """
        self.send([Command("SCRIPT LOAD", (script.text,)) for script in scripts])

    def keys(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Yield keys as `RedisWire.keys` does."""
        cursor = 0
        while True:
            cursor, found = self._client.scan(cursor, match=pattern, count=_SCAN_COUNT)
            yield [key for key in found if isinstance(key, bytes)]
            if not cursor:
                return

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _connection(self) -> Any:
        """Return a connection that is not in use. It belongs to the pool of the client, which closes it."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._client.connection_pool.get_connection()


def _exchange(connection: Any, packed: bytes, replies: int) -> list[Any]:
    connection.send_packed_command((packed,))
    return [_reply(connection) for _ in range(replies)]


def _reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except redis.ResponseError as error:
        return error
