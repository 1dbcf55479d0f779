"""Counters of named buckets, and limits on them that hold exactly across the fleet.

A bucket has six counters: `total`, `new` and `revisit`, each with `/urls` and `/wire_bytes`. `Claims.settle` counts
under the job name `tally_name(bucket)`, in the round trip that it makes anyway. This module checks the limits before a
request goes to its origin. An admitted request holds a reservation until it has been counted, so concurrent requests
can't exceed a limit of URLs. A request that only reservations would refuse waits for them: those requests may fail.

Keys: `gf:{collection}:t:bucket/<bucket>` has the counters. `gf:{collection}:r:<bucket>` is a sorted set of reservations
by the time at which they expire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from dedupdb.redis_io.command import Command, RedisScript
from dedupdb.redis_io.link import RedisLink

_ADMIT: Final = RedisScript.load("admit.lua")
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
    """A limit is the most that a counter may reach. `key` names it as warcprox does, with the domain as in URLs."""

    key: str
    bucket: str
    counter: str
    most: int
    is_soft: bool = False


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit is reached. `is_certain` is false when requests in progress may still fail and leave room."""

    limit: Limit
    stats: dict[str, Any]
    """The bucket's counters: `{"bucket": …, "total": {"urls": …, "wire_bytes": …}, "new": …, "revisit": …}`."""
    is_certain: bool


class Quotas:
    """The quotas count the buckets of the fleet. Safe to share between threads; every call is one round trip."""

    def __init__(self, redis_url: str, *, hold_seconds: float, timeout_seconds: float) -> None:
        """Let the reservation of a holder that has died expire after `hold_seconds`."""
        self._link = RedisLink(redis_url, timeout_seconds=timeout_seconds)
        self._hold_ms = max(1, round(hold_seconds * 1000))

    def admit(self, collection: str, limits: Sequence[Limit], token: str) -> Reached | None:
        """Return None for an admitted request, which then holds reservations under `token`.

        Otherwise return the first limit that is reached. A second call with the same token is for the same request.
        Raises DedupUnavailable.
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
        """Release the reservations of a request that was counted or failed.

        Raises DedupUnavailable; then the reservations expire.
        """
        buckets = {limit.bucket for limit in limits if limit.counter.endswith("/urls")}
        self._link.run([Command("ZREM", (_keys(collection, bucket)[1], token)) for bucket in buckets])

    def close(self) -> None:
        """Close the connections."""
        self._link.close()


def tally_name(bucket: str) -> str:
    """Return the job name under which `Claims.settle` counts for a bucket. No job can have this name."""
    return f"bucket/{bucket}"


def _keys(collection: str, bucket: str) -> tuple[str, str]:
    return f"gf:{{{collection}}}:t:{tally_name(bucket)}", f"gf:{{{collection}}}:r:{bucket}"


def _stats(bucket: str, counts: Sequence[bytes | None]) -> dict[str, Any]:
    found: dict[str, Any] = {"bucket": bucket}
    for name, count in zip(_COUNTERS, counts, strict=True):
        kind, _, unit = name.partition("/")
        found.setdefault(kind, {})[unit] = int(count or 0)
    return found
