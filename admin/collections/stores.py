"""Open the index, Redis and the frontier of a home together, to change a whole collection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from archive.settings.load import Settings
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.schema import CapturesError
from dedupdb.redis_io.link import DedupUnavailable, RedisLink
from frontier.private_redis.server import EmbeddedRedis, RedisProblem
from frontier.redis_check import check_redis
from frontier.shards import drop_job
from frontier.store import FrontierUnavailable

_SECONDS: Final = 60.0
FAILURES: Final = (OSError, CapturesError, DedupUnavailable, FrontierUnavailable, RedisProblem)
"""The errors that may interrupt a change."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The open stores of a home. Every use may raise one of FAILURES."""

    settings: Settings
    redis_url: str
    link: RedisLink
    captures: Captures

    def drop_job(self, name: str) -> None:
        """Delete a run of a job from the frontier."""
        drop_job(self.redis_url, name, self.settings.frontier, timeout_seconds=_SECONDS)


@contextmanager
def open_stores(settings: Settings) -> Iterator[Stores]:
    """Yield the stores of a home, with its private Redis started if needed. Raises one of FAILURES."""
    with _redis(settings) as url, Captures(settings.database_url) as captures:
        link = RedisLink(url, timeout_seconds=_SECONDS)
        try:
            yield Stores(settings, url, link, captures)
        finally:
            link.close()


@contextmanager
def _redis(settings: Settings) -> Iterator[str]:
    if settings.redis.url:
        check_redis(settings.redis.url, timeout_seconds=settings.redis.timeout_seconds)
        yield settings.redis.url
        return
    with EmbeddedRedis(settings.home) as server:
        yield server.url


def has_index(settings: Settings) -> bool:
    """Return whether the home has an index. A home that was never used has none."""
    return bool(settings.database.url) or (settings.home / "ghostfleet.db").exists()
