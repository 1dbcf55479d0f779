"""Programs outside of the fleet take URLs of a job and see its queues with this module.

A worker of the fleet keeps its leases in memory. A program outside names the URL alone when it has visited the URL, so
that the lease is read from Redis.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from frontier.lease import Lease
from frontier.packing import leased, unpack
from frontier.store import Store, stored_number

_ALL: Final = ""
"""The delay of all hosts without one of their own has this key."""


class OutsideUrlState(StrEnum):
    """A URL of the job is in one of these states. Redis knows of a URL that is done only that it was seen."""

    UNKNOWN = "unknown"
    QUEUED = "queued"
    LEASED = "leased"
    SEEN = "seen"
    ENDED = "ended"
    """The URL failed or was excluded."""


@dataclass(frozen=True, slots=True)
class HostCounts:
    """The counts of one host in a job."""

    queued: int
    visits: int
    pages: int
    bytes: int
    aside: str
    """Why the host was set aside; empty when it was not."""


class OutsideQueues:
    """The queues of one job as a program outside sees them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def due_hosts(self, start: int, most: int) -> tuple[list[str], int]:
        """Return hosts that have a URL to visit now, from place `start` on, and the number of all these hosts."""
        client, ready = self._store.client, self._store.key("ready")
        with self._store.guarded():
            now = self._store.now_ms()
            found = client.zrangebyscore(ready, "-inf", now, start=start, num=most)
            return _texts(found), int(client.zcount(ready, "-inf", now))

    def all_hosts(self, start: int, most: int) -> tuple[list[str], int]:
        """Return hosts with queued URLs from place `start` on, and their number. Hosts that wait are among them.

        The hosts that were set aside, and those that wait for their group, follow the others.
        """
        client, key = self._store.client, self._store.key
        with self._store.guarded():
            ready = int(client.zcard(key("ready")))
            found = _texts(client.zrange(key("ready"), start, start + most - 1)) if start < ready else []
            aside, beyond = client.hkeys(key("aside")), client.smembers(key("beyond"))
            parked = client.zrange(key("parked"), 0, -1)
            kept_back = sorted({name for names in (aside, beyond, parked) for name in _texts(names)})
        begin = max(start - ready, 0)
        return [*found, *kept_back[begin : begin + most - len(found)]], ready + len(kept_back)

    def host_counts(self, host: str) -> HostCounts:
        """Return the counts of a host."""
        client, key = self._store.client, self._store.key
        with self._store.guarded():
            pipeline = client.pipeline(transaction=False)
            pipeline.zcard(key(f"q:{host}"))
            pipeline.hget(self._store.host_key(host), "n")
            pipeline.hget(key("pages"), host)
            pipeline.hget(key("hostbytes"), host)
            pipeline.hget(key("aside"), host)
            pipeline.hget(key("spilled"), host)
            queued, visits, pages, fetched, aside, spilled = pipeline.execute()
        return HostCounts(
            int(queued) + int(spilled or 0),
            int(visits or 0),
            int(pages or 0),
            int(fetched or 0),
            (aside or b"").decode("utf-8", "replace"),
        )

    def bring_forward(self, host: str, per_host: int) -> bool:
        """Let the next claim look at this host first. Return False when the host can't be visited now.

        `per_host` is the largest number of visits of a host at a time.
        """
        client = self._store.client
        with self._store.guarded():
            now = self._store.now_ms()
            due, block, visits = client.hmget(self._store.host_key(host), "d", "b", "n")
            if max(stored_number(due), stored_number(block)) > now or stored_number(visits) >= per_host:
                return False
            if client.zscore(self._store.key("ready"), host) is None:
                return False
            client.zadd(self._store.key("ready"), {host: 0}, xx=True)
        return True

    def held_lease(self, url: str, workers: str) -> Lease | None:
        """Return the lease of a canonical URL; None unless a worker holds it whose name begins with `workers`."""
        id, client, key = self._store.fingerprint(url).id, self._store.client, self._store.key
        with self._store.guarded():
            pipeline = client.pipeline(transaction=False)
            pipeline.hget(key("lease"), id)
            pipeline.hget(key("u"), id)
            pipeline.hmget(key("tries"), f"t:{id}", f"l:{id}")
            pipeline.hget(key("revisits"), id)
            holder, record, (tries, lost), visited = pipeline.execute()
            candidate = unpack(record) if holder and record else None
            if candidate is None:
                return None
            host = record.partition(b"\n")[0].decode("utf-8", "replace")
            failures = client.hget(self._store.host_key(host), "f")
        token, _, worker = holder.decode().partition("\n")
        if not worker.startswith(workers):
            return None
        return leased(
            candidate,
            id=id,
            token=token,
            worker=worker,
            tries=stored_number(tries),
            failures=stored_number(failures),
            lost=stored_number(lost),
            seconds=0,
            history=_history(visited),
        )

    def state(self, url: str) -> OutsideUrlState:
        """Return the state of a canonical URL."""
        mark, client, key = self._store.fingerprint(url), self._store.client, self._store.key
        with self._store.guarded():
            pipeline = client.pipeline(transaction=False)
            pipeline.hexists(key("lease"), mark.id)
            pipeline.hexists(key("u"), mark.id)
            pipeline.hexists(key("ended"), mark.id)
            is_leased, is_open, has_ended = pipeline.execute()
        if is_leased:
            return OutsideUrlState.LEASED
        if is_open:
            return OutsideUrlState.QUEUED
        if has_ended:
            return OutsideUrlState.ENDED
        return OutsideUrlState.SEEN if self._store.was_seen(mark) else OutsideUrlState.UNKNOWN

    def set_delay(self, host: str, seconds: float) -> None:
        """Let a host rest so long after a visit of a program outside; an empty name means all other hosts."""
        with self._store.guarded():
            if seconds > 0:
                self._store.client.hset(self._store.key("delays"), host, seconds)
            else:
                self._store.client.hdel(self._store.key("delays"), host)

    def delay(self, host: str) -> float | None:
        """Return the seconds that `set_delay` named for a host; None when there are none."""
        with self._store.guarded():
            own, every = self._store.client.hmget(self._store.key("delays"), host, _ALL)
        found = own if own is not None else every
        return None if found is None else float(found)


def _texts(found: object) -> list[str]:
    assert isinstance(found, list | set)
    return [name.decode("utf-8", "replace") for name in found]


def _history(visited: bytes | None) -> str:
    """Return the packed history behind the time of the last visit; empty for a URL that is visited once."""
    return (visited or b"").partition(b"\n")[0].partition(b" ")[2].decode("utf-8", "replace")
