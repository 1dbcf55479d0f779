"""Which recording processes there are: each says so in Redis every few seconds, and is forgotten when it stops to.

Keys, in one hash slot of their own:

- `gf:{proxies}` the names of all that ever registered and were not seen to be gone.
- `gf:{proxies}:NAME` one process as JSON; expires after three heartbeats.

The registry is news, not truth: without Redis proxies go on recording, and clients that know addresses go on asking.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from types import TracebackType
from typing import Final, Self

from archive.jsontext import compact_json
from dedupdb.command import Command
from dedupdb.redis_link import DedupUnavailable, RedisLink

log = logging.getLogger(__name__)

NAMES: Final = "gf:{proxies}"
_MISSED_BEATS: Final = 3


@dataclass(frozen=True, slots=True)
class Member:
    """A recording process as it described itself last."""

    address: str
    """Main port, which the processes of one machine share; as host:port."""
    control: str
    """Its own control port, on its machine's loopback; as host:port."""
    load: float = 0.0
    """0 idle, 1 as much as it can take."""
    since: float = 0.0
    """When it started, as Unix time in seconds."""
    pid: int = 0
    host: str = ""
    """Its machine's name."""

    @property
    def name(self) -> str:
        """Its own in the whole fleet: the one that takes over its ports has another."""
        return f"{self.host}:{self.pid}"

    @classmethod
    def here(cls, address: str, control: str) -> Self:
        """This process."""
        return cls(address, control, since=round(time.time(), 3), pid=os.getpid(), host=socket.gethostname())


class Registry:
    """Reads and writes the list of members. Every call raises DedupUnavailable when Redis does."""

    def __init__(self, redis_url: str, *, timeout_seconds: float) -> None:
        self._link = RedisLink(redis_url, timeout_seconds=timeout_seconds)

    def put(self, member: Member, *, seconds: float) -> None:
        """List the member for so long, or once more for so long. One round trip."""
        text, expiry = compact_json(asdict(member)), max(1, round(seconds * 1000))
        self._link.run([Command("SET", (_key(member.name), text, "PX", expiry)), Command("SADD", (NAMES, member.name))])

    def remove(self, member: Member) -> None:
        """List it no more."""
        self._link.run([Command("DEL", (_key(member.name),)), Command("SREM", (NAMES, member.name))])

    def members(self) -> list[Member]:
        """Those that were heard of lately, by machine and start. Names of those that were not are dropped.

        Should one of these come back in the same moment, its next heartbeat puts the name there again.
        """
        (raw,) = self._link.run([Command("SMEMBERS", (NAMES,))], patient=True)
        names = sorted(name.decode() for name in raw)
        if not names:
            return []
        (texts,) = self._link.run([Command("MGET", tuple(_key(name) for name in names))], patient=True)
        found = dict(zip(names, texts, strict=True))
        if gone := [name for name, text in found.items() if text is None]:
            self._link.run([Command("SREM", (NAMES, *gone))], patient=True)
        members = [Member(**json.loads(text)) for text in found.values() if text is not None]
        return sorted(members, key=lambda member: (member.host, member.since, member.pid))

    def close(self) -> None:
        """Let the connections go."""
        self._link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Heartbeat:
    """Keeps one member listed, from a thread of its own, until it is closed. Redis may come and go meanwhile."""

    def __init__(self, registry: Registry, member: Member, load: Callable[[], float], *, every_seconds: float) -> None:
        """`load` is asked from the thread."""
        self._registry = registry
        self._member = member
        self._load = load
        self._every = every_seconds
        self._stop = threading.Event()
        self._is_heard = True
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Register, and again and again."""
        self._thread.start()

    def close(self) -> None:
        """Withdraw, and let the connections go. Blocks for as long as Redis may take for one answer."""
        self._stop.set()
        self._thread.join()
        try:
            self._registry.remove(self._member)
        except DedupUnavailable as error:
            log.info("not withdrawn from the registry, which forgets us by itself: %s", error)
        self._registry.close()

    def _run(self) -> None:
        while True:
            self._beat()
            if self._stop.wait(self._every):
                return

    def _beat(self) -> None:
        member = replace(self._member, load=round(self._load(), 3))
        try:
            self._registry.put(member, seconds=_MISSED_BEATS * self._every)
        except DedupUnavailable as error:
            if self._is_heard:
                log.warning("not listed in the registry of proxies: %s", error)
            self._is_heard = False
        else:
            self._is_heard = True


def _key(name: str) -> str:
    return f"{NAMES}:{name}"
