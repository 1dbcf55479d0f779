"""The link to Redis: any batch in one round trip, and no waiting on a Redis that does not answer.

After a failure the link rests for a second, or four times as long as the failed call took, whichever is more (a
circuit breaker): every call in that time fails at once, so that a silent Redis costs a writer at most a fifth of
its time. A connection that broke since its last use, as after a restart of Redis, is replaced and used at once.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, NamedTuple, cast

import hiredis
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

logger = logging.getLogger(__name__)

type Argument = bytes | str | int

_PAUSE_SECONDS: Final = 1.0
_PAUSE_FACTOR: Final = 4.0
_SCAN_COUNT: Final = 1000
_pack: Final[Callable[[tuple[Argument, ...]], bytes]] = cast(Any, hiredis.pack_command)
"""Without the client's look at each argument; ours are of the three kinds it takes."""


class DedupUnavailable(Exception):
    """Redis can't be reached, did not answer in time or refused; the message says which, in one line."""


class Command(NamedTuple):
    """One Redis command: its name and arguments, and the script it runs if it runs one."""

    name: str
    arguments: tuple[Argument, ...]
    script: Script | None = None


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, known to Redis by the SHA-1 of its text."""

    text: str
    sha1: str

    @classmethod
    def load(cls, name: str) -> Script:
        """The script in a file of this folder."""
        text = files("dedupdb").joinpath(name).read_text("utf-8")
        return cls(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())

    def command(self, keys: Sequence[Argument], arguments: Sequence[Argument]) -> Command:
        """A run of the script."""
        return Command("EVALSHA", (self.sha1, len(keys), *keys, *arguments), self)


class RedisLink:
    """A pool of connections to one Redis, behind a circuit breaker. Safe to share between threads."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        self._client: redis.Redis = redis.Redis.from_url(
            url,
            protocol=2,
            socket_timeout=timeout_seconds,
            socket_connect_timeout=timeout_seconds,
            retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        )
        self._address = url.rpartition("@")[2].partition("?")[0]
        self._idle: deque[Any] = deque()
        self._rests_until = 0.0

    def run(self, commands: Sequence[Command], *, patient: bool = False) -> list[Any]:
        """The replies to all commands, sent at once and not as a transaction.

        A script that Redis does not know is sent along in a second trip. `patient` ignores the breaker. Raises
        DedupUnavailable if any command failed; others of the batch may have been carried out.
        """
        if not commands:
            return []
        with self.guarded(patient=patient):
            replies = self._send(commands)
            unknown = [
                place for place, reply in enumerate(replies) if isinstance(reply, redis.exceptions.NoScriptError)
            ]
            if unknown:
                again = self._send_with_scripts([commands[place] for place in unknown])
                for place, reply in zip(unknown, again, strict=True):
                    replies[place] = reply
            for reply in replies:
                if isinstance(reply, redis.RedisError):
                    raise reply
            return replies

    def drop_matching(self, pattern: bytes) -> int:
        """Unlink every key that fits the glob; how many there were."""
        with self.guarded(patient=True):
            dropped, pending = 0, []
            for key in self._client.scan_iter(match=pattern, count=_SCAN_COUNT):
                pending.append(key)
                if len(pending) == _SCAN_COUNT:
                    dropped += int(self._client.unlink(*pending))
                    pending = []
            return dropped + (int(self._client.unlink(*pending)) if pending else 0)

    def keys(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Every key that fits the glob, once or more often, some at a time. Raises DedupUnavailable."""
        cursor = 0
        while True:
            with self.guarded(patient=True):
                cursor, found = self._client.scan(cursor, match=pattern, count=_SCAN_COUNT)
            yield [key for key in found if isinstance(key, bytes)]
            if not cursor:
                return

    @contextmanager
    def guarded(self, *, patient: bool = False) -> Iterator[None]:
        """Translates Redis's errors, and refuses at once shortly after one (unless `patient`)."""
        started = time.monotonic()
        if started < self._rests_until and not patient:
            left = self._rests_until - started
            raise DedupUnavailable(f"Redis at {self._address} failed a moment ago; asked again in {left:.1f} s")
        try:
            yield
        except (redis.RedisError, OSError) as error:
            took = time.monotonic() - started
            self._rests_until = time.monotonic() + max(_PAUSE_SECONDS, _PAUSE_FACTOR * took)
            reason = " ".join(str(error).split())
            raise DedupUnavailable(f"Redis at {self._address}: {type(error).__name__}: {reason}") from error

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        self._client.close()

    def _send(self, commands: Sequence[Command]) -> list[Any]:
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

    def _connection(self) -> Any:
        """One that nobody else is using. It belongs to the client's pool, which closes it with all others."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._client.connection_pool.get_connection()

    def _send_with_scripts(self, commands: Sequence[Command]) -> list[Any]:
        scripts = {command.script for command in commands if command.script is not None}
        loads = [Command("SCRIPT LOAD", (script.text,)) for script in scripts]
        logger.info("Redis at %s forgot %d of our scripts; sent again", self._address, len(scripts))
        return self._send([*loads, *commands])[len(loads) :]


def _exchange(connection: Any, packed: bytes, replies: int) -> list[Any]:
    connection.send_packed_command((packed,))
    return [_reply(connection) for _ in range(replies)]


def _reply(connection: Any) -> Any:
    try:
        return connection.read_response()
    except redis.ResponseError as error:
        return error
