"""The wire to one Redis server: any batch of commands in one round trip."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, cast

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from dedupdb.command import Argument, Command, Script

_SCAN_COUNT: Final = 1000
_pack: Final[Callable[[tuple[Argument, ...]], bytes]] = cast(Any, hiredis.pack_command)
"""Without the client's look at each argument; ours are of the three kinds it takes."""


class Wire(Protocol):
    """What carries commands to Redis, be it one server or a cluster. Every call may raise redis.RedisError or OSError,
    and is safe from any thread.
    """

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """A reply to each command, an exception for what Redis refused. They are sent at once, not as a transaction."""

    def teach(self, scripts: Iterable[Script]) -> None:
        """Make the scripts known wherever a command may run."""

    def keys(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Every key that fits the glob, once or more often, some at a time: a round trip for each list."""

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""


class ServerWire:
    """A pool of connections to one server. A connection that broke since its last use, as after a restart of Redis,
    is replaced and used at once.
    """

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        """Connects at the first call."""
        self._client: redis.Redis = redis.Redis.from_url(
            url,
            protocol=2,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        )
        self._idle: deque[Any] = deque()

    def send(self, commands: Sequence[Command]) -> list[Any]:
        """All of them on one connection. The client's own pipeline does the same at three times the price."""
        connection = self._connection()
        packed = b"".join([_pack((*command.name.split(), *command.arguments)) for command in commands])
        try:
            replies: list[Any] = connection.retry.call_with_retry(
                lambda: _exchange(connection, packed, len(commands)), lambda _: connection.disconnect()
            )
        except BaseException:
            connection.disconnect()  # replies may still be on their way
            raise
        finally:
            self._idle.append(connection)
        parsers = self._client.response_callbacks
        return [
            parsers[command.name](reply) if command.name in parsers and not isinstance(reply, Exception) else reply
            for command, reply in zip(commands, replies, strict=True)
        ]

    def teach(self, scripts: Iterable[Script]) -> None:
        """As `Wire.teach`. What the server refuses here it refuses again when it is told to run it."""
        self.send([Command("SCRIPT LOAD", (script.text,)) for script in scripts])

    def keys(self, pattern: bytes) -> Iterator[list[bytes]]:
        """As `Wire.keys`."""
        cursor = 0
        while True:
            cursor, found = self._client.scan(cursor, match=pattern, count=_SCAN_COUNT)
            yield [key for key in found if isinstance(key, bytes)]
            if not cursor:
                return

    def close(self) -> None:
        """As `Wire.close`."""
        self._client.close()

    def _connection(self) -> Any:
        """One that nobody else is using. It belongs to the client's pool, which closes it with all others."""
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
