"""The link to Redis sends any batch in one round trip, and has a circuit breaker.

After a failure, every call fails at once for a second, or for four times as long as the failed call took, whichever is
longer. So a silent Redis costs a writer at most a fifth of its time. In a cluster (`cluster_wire`), the failure of one
server opens the breaker for all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import redis

from archive.settings.values.cluster_url import is_cluster
from archive.settings.values.redacted import without_secrets
from dedupdb.redis_io.cluster_wire import ClusterWire
from dedupdb.redis_io.command import Command
from dedupdb.redis_io.server_wire import RedisWire, ServerWire

logger = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 1.0
_PAUSE_FACTOR: Final = 4.0


class DedupUnavailable(Exception):
    """Redis can't be reached, did not answer in time or refused. The message gives the reason in one line."""


class RedisLink:
    """The link is a Redis or a Redis Cluster behind a circuit breaker. It is safe to share between threads."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        """Connect at the first call."""
        wire = ClusterWire if is_cluster(url) else ServerWire
        self._wire: RedisWire = wire(url, timeout_seconds=timeout_seconds)
        self._address = without_secrets(url)
        self._open_until = 0.0

    def run(self, commands: Sequence[Command], *, patient: bool = False) -> list[Any]:
        """Return the replies to all commands, which are sent at once and not as a transaction.

        A script that Redis does not know is loaded in a second round trip. With `patient`, an open breaker is ignored.
        Raises DedupUnavailable if any command failed; Redis may have run the others.
        """
        if not commands:
            return []
        with self.guarded(patient=patient):
            replies = self._wire.send(commands)
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
        """Unlink every key that matches the glob, all in one hash slot. Return how many there were."""
        found = (tuple(keys) for keys in self.keys(pattern) if keys)
        return sum(int(self.run([Command("UNLINK", keys)], patient=True)[0]) for keys in found)

    def keys(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Yield lists of keys that match the glob. A key may come more than once. Raises DedupUnavailable."""
        found = self._wire.keys(pattern)
        while True:
            with self.guarded(patient=True):
                keys = next(found, None)
            if keys is None:
                return
            yield keys

    @contextmanager
    def guarded(self, *, patient: bool = False) -> Iterator[None]:
        """Translate errors of Redis, and refuse at once while the breaker is open, unless `patient`."""
        started = time.monotonic()
        if started < self._open_until and not patient:
            left = self._open_until - started
            raise DedupUnavailable(f"Redis at {self._address} failed a moment ago; the next try is in {left:.1f} s")
        try:
            yield
        except (redis.RedisError, OSError) as error:
            took = time.monotonic() - started
            self._open_until = time.monotonic() + max(_PAUSE_SECONDS, _PAUSE_FACTOR * took)
            reason = " ".join(str(error).split())
            raise DedupUnavailable(f"Redis at {self._address}: {type(error).__name__}: {reason}") from error

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        self._wire.close()

    def _send_with_scripts(self, commands: Sequence[Command]) -> list[Any]:
        scripts = {command.script for command in commands if command.script is not None}
        logger.info("Redis at %s did not know %d scripts; they are loaded again", self._address, len(scripts))
        self._wire.load_scripts(scripts)
        return self._wire.send(commands)
