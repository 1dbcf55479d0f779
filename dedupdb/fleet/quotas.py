"""Counters of named buckets, and limits on them that hold exactly across the fleet.

A bucket has six counters: `total`, `new` and `revisit`, each with `/urls` and `/wire_bytes`. `Claims.settle` counts,
in the round trip that it makes anyway, under the job name `tally_name(bucket)`; here limits are asked about, before
an origin is. A request that may go on holds a reservation until it has been counted, so that no number of requests
at once gets past a limit of URLs, and none is refused for the sake of one that may yet fail: that one is waited for.
Keys: `gf:{collection}:t:bucket/<bucket>` the counters, `gf:{collection}:r:<bucket>` a sorted set of reservations by
the time they expire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from dedupdb.command import Command, Script
from dedupdb.redis_link import RedisLink

_ADMIT: Final = Script.load("admit.lua")
_COUNTERS: Final = (
    "total/urls",
    "total/wire_bytes",
    "new/urls",
    "new/wire_bytes",
    "revisit/urls",
    "revisit/wire_bytes",
)


@dataclass(frozen=True, slots=True)
class Limit:
    """At most that much of a counter. `key` is the limit in its client's words."""

    key: str
    bucket: str
    counter: str
    most: int
    is_soft: bool = False
    domain: str = ""
    """Only URLs of this domain are limited; empty for all."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that is reached; `is_certain` unless requests under way may still fail and leave room."""

    limit: Limit
    stats: dict[str, Any]
    """The bucket's counters: `{"bucket": …, "total": {"urls": …, "wire_bytes": …}, "new": …, "revisit": …}`."""
    is_certain: bool


class Quotas:
    """The fleet's buckets. Safe to share between threads; every call is one round trip."""

    def __init__(self, redis_url: str, *, hold_seconds: float, timeout_seconds: float) -> None:
        """A reservation whose holder died expires after `hold_seconds`."""
        self._link = RedisLink(redis_url, timeout_seconds=timeout_seconds)
        self._hold_ms = max(1, round(hold_seconds * 1000))

    def admit(self, collection: str, limits: Sequence[Limit], token: str) -> Reached | None:
        """None when the request may go on: it holds reservations under `token`. Else the first limit in its way.

        Asked again with the same token it is the same request. Raises DedupUnavailable.
        """
        keys = [key for limit in limits for key in _keys(collection, limit.bucket)]
        arguments = [
            part for limit in limits for part in (limit.counter, limit.most, int(limit.counter.endswith("/urls")))
        ]
        (reply,) = self._link.run([_ADMIT.command(keys, [token, self._hold_ms, *arguments])])
        if reply[0] == b"ok":
            return None
        limit = limits[reply[1] - 1]
        return Reached(limit, _stats(limit.bucket, reply[2:]), reply[0] == b"reached")

    def release(self, collection: str, limits: Sequence[Limit], token: str) -> None:
        """The request is over and counted, or came to nothing. Raises DedupUnavailable; then they expire."""
        buckets = {limit.bucket for limit in limits if limit.counter.endswith("/urls")}
        self._link.run([Command("ZREM", (_keys(collection, bucket)[1], token)) for bucket in buckets])

    def stats(self, collection: str, bucket: str) -> dict[str, Any]:
        """A bucket's counters, all 0 for one never counted. Raises DedupUnavailable."""
        (reply,) = self._link.run([Command("HMGET", (_keys(collection, bucket)[0], *_COUNTERS))])
        return _stats(bucket, reply)

    def close(self) -> None:
        """Let the connections go."""
        self._link.close()


def tally_name(bucket: str) -> str:
    """Under which job name `Claims.settle` counts for a bucket: no job can be called that."""
    return f"bucket/{bucket}"


def _keys(collection: str, bucket: str) -> tuple[str, str]:
    return f"gf:{{{collection}}}:t:{tally_name(bucket)}", f"gf:{{{collection}}}:r:{bucket}"


def _stats(bucket: str, counts: Sequence[bytes | None]) -> dict[str, Any]:
    found: dict[str, Any] = {"bucket": bucket}
    for name, count in zip(_COUNTERS, counts, strict=True):
        kind, _, unit = name.partition("/")
        found.setdefault(kind, {})[unit] = int(count or 0)
    return found
