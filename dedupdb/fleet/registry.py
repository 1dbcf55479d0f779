"""Each recording process registers itself in Redis every few seconds. The entry expires when the process stops.

Keys, in one hash slot of their own:

- `gf:{proxies}` has the names of all processes that have registered and were not found to be gone.
- `gf:{proxies}:NAME` is one process as JSON; it expires after three heartbeats.

Nothing depends on the registry: without Redis, proxies keep recording, and clients keep using the addresses they know.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from types import TracebackType
from typing import Any, Final, Self

from archive.json_text import compact_json
from archive.steady_work import SteadyWork
from dedupdb.redis_io.command import Command
from dedupdb.redis_io.link import DedupUnavailable, RedisLink

log = logging.getLogger(__name__)

NAMES: Final = "gf:{proxies}"
_MISSED_BEATS: Final = 3


@dataclass(frozen=True, slots=True)
class Member:
    """A member is a recording process as it described itself last."""

    address: str
    """Main port as host:port, shared by the processes of one machine."""
    control: str
    """Control port as host:port, on the loopback of the machine."""
    load: float = 0.0
    """Load from 0 (idle) to 1 (as much as the process can take)."""
    since: float = 0.0
    """Start of the process as Unix time in seconds."""
    pid: int = 0
    host: str = ""
    """Name of the machine."""
    listens: tuple[str, ...] = ()
    """All listeners of the home as `address port`, so that no proxy of the fleet fetches from them."""

    @property
    def name(self) -> str:
        """Return the name, which is unique in the fleet. A process that takes over the ports has another name."""
        return f"{self.host}:{self.pid}"

    @classmethod
    def here(cls, address: str, control: str) -> Self:
        """Return the member for this process."""
        return cls(address, control, since=round(time.time(), 3), pid=os.getpid(), host=socket.gethostname())

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """Return the member in this description; unknown keys of a newer release are ignored."""
        known = {each.name for each in fields(cls)}
        return cls(**{**{name: value for name, value in told.items() if name in known}, "listens": _texts(told)})


class Registry:
    """Reads and writes the list of members. Every call raises DedupUnavailable when Redis fails."""

    def __init__(self, redis_url: str, *, timeout_seconds: float) -> None:
        self._link = RedisLink(redis_url, timeout_seconds=timeout_seconds)

    def put(self, member: Member, *, seconds: float) -> None:
        """List the member for `seconds` from now. One round trip."""
        text, expiry = compact_json(asdict(member)), max(1, round(seconds * 1000))
        self._link.run([Command("SET", (_key(member.name), text, "PX", expiry)), Command("SADD", (NAMES, member.name))])

    def remove(self, member: Member) -> None:
        """Remove the member from the list."""
        self._link.run([Command("DEL", (_key(member.name),)), Command("SREM", (NAMES, member.name))])

    def members(self) -> list[Member]:
        """Return the members whose entries have not expired, by machine and start, and drop the names of the others.

        When a dropped member comes back at the same moment, its next heartbeat adds its name again.
        """
        (raw,) = self._link.run([Command("SMEMBERS", (NAMES,))], patient=True)
        names = sorted(name.decode() for name in raw)
        if not names:
            return []
        (texts,) = self._link.run([Command("MGET", tuple(_key(name) for name in names))], patient=True)
        found = dict(zip(names, texts, strict=True))
        if gone := [name for name, text in found.items() if text is None]:
            self._link.run([Command("SREM", (NAMES, *gone))], patient=True)
        members = [Member.from_json(json.loads(text)) for text in found.values() if text is not None]
        return sorted(members, key=lambda member: (member.host, member.since, member.pid))

    def close(self) -> None:
        """Close the connections."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class MemberHeartbeat:
    """Keeps one member listed until it is closed, from a thread of its own. Redis may fail and come back meanwhile."""

    def __init__(
        self,
        registry: Registry,
        member: Member,
        load: Callable[[], float],
        *,
        every_seconds: float,
        listens: Callable[[], tuple[str, ...]] = tuple,
        hear: Callable[[list[Member]], None] = lambda members: None,
    ) -> None:
        """Call `load` and `listens` at each heartbeat, in a thread, and `hear` with all members."""
        self._registry = registry
        self._member = member
        self._load = load
        self._every = every_seconds
        self._listens = listens
        self._hear = hear
        self._stop = threading.Event()
        self._is_heard = True
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Start the heartbeats."""
        self._thread.start()

    def close(self) -> None:
        """Remove the member and close the connections. Blocks for as long as Redis may take for one answer."""
        self._stop.set()
        self._thread.join()
        try:
            self._registry.remove(self._member)
        except DedupUnavailable as error:
            log.info("can't remove this process from the registry, where its entry expires: %s", error)
        self._registry.close()

    def _run(self) -> None:
        beat = SteadyWork("the heartbeat in the registry of proxies", self._beat)
        while True:
            beat()
            if self._stop.wait(self._every):
                return

    def _beat(self) -> None:
        member = replace(self._member, load=round(self._load(), 3), listens=self._listens())
        try:
            self._registry.put(member, seconds=_MISSED_BEATS * self._every)
            self._hear(self._registry.members())
        except DedupUnavailable as error:
            if self._is_heard:
                log.warning("can't list this process in the registry of proxies: %s", error)
            self._is_heard = False
        else:
            self._is_heard = True


def _texts(told: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(text for text in told.get("listens", ()) if isinstance(text, str))


def _key(name: str) -> str:
    return f"{NAMES}:{name}"
