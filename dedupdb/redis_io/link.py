"""The link to Redis: any batch in one round trip, and no waiting on a Redis that does not answer.

After a failure the link rests for a second, or four times as long as the failed call took, whichever is more (a
circuit breaker): every call in that time fails at once, so that a silent Redis costs a writer at most a fifth of
its time. In a cluster (`cluster_wire`), one server's failure rests the whole link.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import redis

from archive.cluster_url import is_cluster
from dedupdb.cluster_wire import ClusterWire
from dedupdb.command import Command
from dedupdb.redis_wire import ServerWire, Wire

logger = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 1.0
_PAUSE_FACTOR: Final = 4.0


class DedupUnavailable(Exception):
    """Redis can't be reached, did not answer in time or refused; the message says which, in one line."""


class RedisLink:
    """A Redis, or a Redis Cluster, behind a circuit breaker. Safe to share between threads."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        """Connects at the first call."""
        wire = ClusterWire if is_cluster(url) else ServerWire
        self._wire: Wire = wire(url, timeout_seconds=timeout_seconds)
        self._address = url.rpartition("@")[2].partition("?")[0]
        self._rests_until = 0.0

    def run(self, commands: Sequence[Command], *, patient: bool = False) -> list[Any]:
        """The replies to all commands, sent at once and not as a transaction.

        A script that Redis does not know is sent along in a second trip. `patient` ignores the breaker. Raises
        DedupUnavailable if any command failed; others of the batch may have been carried out.
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
        """Unlink every key that fits the glob, all of one hash slot; how many there were."""
        found = (tuple(keys) for keys in self.keys(pattern) if keys)
        return sum(int(self.run([Command("UNLINK", keys)], patient=True)[0]) for keys in found)

    def keys(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Every key that fits the glob, once or more often, some at a time. Raises DedupUnavailable."""
        found = self._wire.keys(pattern)
        while True:
            with self.guarded(patient=True):
                keys = next(found, None)
            if keys is None:
                return
            yield keys

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
        self._wire.close()

    def _send_with_scripts(self, commands: Sequence[Command]) -> list[Any]:
        scripts = {command.script for command in commands if command.script is not None}
        logger.info("Redis at %s forgot %d of our scripts; sent again", self._address, len(scripts))
        self._wire.teach(scripts)
        return self._wire.send(commands)
