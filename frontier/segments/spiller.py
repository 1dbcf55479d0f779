"""The spiller moves the ends of long queues, and the queues of hosts set aside, into segments, and back when needed.

One command runs a job, and only its spiller works on the job's segments.
"""

from __future__ import annotations

import logging
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from hashlib import blake2b
from itertools import batched
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from archive.steady_work import SteadyWork
from frontier.segments.registry import Segment, SegmentRegistry
from frontier.segments.segment_file import SegmentDamaged, SegmentEntry, read_segment, write_segment
from frontier.store import FrontierLost, FrontierUnavailable, Store

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5
_FEW: Final = 5_000
"""With more segments or hosts set aside than this, the looks are rarer, so that their lists keep nobody busy."""
MOST_ENTRIES: Final = 10_000
"""Largest number of URLs in a segment."""
COLD_URLS: Final = 100
"""A host that is set aside keeps at most so many URLs in memory. For fewer, a file would cost more than it saves."""
_COLD_SECONDS: Final = 60.0
"""The queues of hosts that stay set aside are measured again after this time, since links still come in."""
_COLD_LOOK_SECONDS: Final = 2.0
"""After this time, hosts that are visited have their turn before further hosts that are set aside."""
_STEP: Final = 500
_KEPT_SECONDS: Final = 60.0
"""A file that Redis does not know is removed after this time. After a kill, Redis may know the state of two seconds
before.
"""
_ENDING: Final = ".gz"


class QueueSpiller:
    """The spiller of one job works in a thread of its own, as a context manager. `folder` is that of the segments."""

    def __init__(self, store: Store, folder: Path, most: int, note: Callable[[str], None] = logger.warning) -> None:
        """Do nothing yet. `most` URLs of a host wait in Redis. `note` takes messages for people."""
        self._store = store
        self._folder = folder
        self._most = most
        self._note = note
        self._registry = SegmentRegistry(store, folder)
        self._unknown: dict[Path, float] = {}
        """Files that Redis does not know, and since when."""
        self._pause = LOOK_SECONDS
        self._measured = set[bytes]()
        """Hosts that are set aside, and whose queues were measured."""
        self._next_measure = 0.0
        self._has_looked = False
        self._foreign: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spiller", daemon=True)

    def __enter__(self) -> Self:
        if self._most or self._folder.exists():
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def look(self) -> None:
        """Write and read segments once, as needed. Raises OSError, FrontierUnavailable and FrontierLost."""
        store = self._store
        if not self._has_looked:
            with store.guarded():
                store.client.hset(store.key("state"), "queue_memory", self._most)
        segments = self._registry.segments()
        owner = self._registry.owner() if self._most or segments else ""
        with store.guarded():
            hosts = set(store.client.smembers(store.key("long")))
            aside = set(store.client.hkeys(store.key("aside")))
        self._pause = LOOK_SECONDS * max(1, len(segments) // _FEW, len(aside) // _FEW)
        self._read_back([each for each in segments if _name(each.host) not in aside and self._is_ours(each, owner)])
        if not self._has_looked:
            hosts |= self._all_hosts()
        self._has_looked = True
        for host in sorted(hosts):
            self._spill(host, owner, self._most, self._most // 2)
        self._spill_cold(aside, owner)
        self._remove_unknown()

    def _run(self) -> None:
        look = SteadyWork("the look at long queues", self.look, FrontierUnavailable, FrontierLost)
        while not self._over.wait(self._pause):
            look()

    def _is_ours(self, segment: Segment, owner: str) -> bool:
        if segment.owner == owner:
            return True
        if segment.name not in self._foreign:
            self._foreign.add(segment.name)
            self._note(
                f"{segment.left} URLs of {segment.host} wait in {segment.name}, which is in another folder; "
                "run the job in its first home to visit them"
            )
        return False

    def _all_hosts(self) -> set[bytes]:
        store = self._store
        found = set[bytes]()
        with store.guarded():
            for name in ("ready", "parked"):
                found.update(host for host, _ in store.client.zscan_iter(store.key(name), count=_STEP))
            found.update(store.client.hkeys(store.key("aside")))
            found.update(store.client.smembers(store.key("beyond")))
        return self._longer(found, self._most)

    def _spill_cold(self, aside: set[bytes], owner: str) -> None:
        """Move the queues of hosts that are set aside into segments, as many as the time of a look allows."""
        now = time.monotonic()
        if now >= self._next_measure:
            self._measured.clear()
            self._next_measure = now + _COLD_SECONDS
        found = self._longer(aside - self._measured, COLD_URLS)
        self._measured = aside - found
        for host in sorted(found):
            if self._over.is_set() or time.monotonic() - now > _COLD_LOOK_SECONDS:
                return
            self._spill(host, owner, COLD_URLS, 0)
            self._measured.add(host)

    def _longer(self, hosts: set[bytes], most: int) -> set[bytes]:
        """Return the hosts that have more than `most` URLs in memory; none when all URLs are to stay in memory."""
        store, long = self._store, set[bytes]()
        if not self._most:
            return long
        for chunk in batched(hosts, _STEP):
            with store.guarded():
                pipeline = store.client.pipeline(transaction=False)
                for host in chunk:
                    pipeline.zcard(store.key(f"q:{_text(host)}"))
                sizes = pipeline.execute()
            long.update(host for host, size in zip(chunk, sizes, strict=True) if size > most)
        return long

    def _spill(self, host_name: bytes, owner: str, most: int, kept: int) -> None:
        """Move the end of a queue with more than `most` URLs into segments until `kept` URLs are left."""
        host = _text(host_name)
        store, queue = self._store, self._store.key(f"q:{host}")
        while most:
            with store.guarded():
                size = int(store.client.zcard(queue))
            if size <= most:
                break
            entries = self._last(queue, min(size - kept, MOST_ENTRIES))
            if not entries:
                break
            mark = blake2b(host.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
            name = f"{mark}-{secrets.token_hex(8)}{_ENDING}"
            path = self._folder / name
            write_segment(path, entries)
            states = [part for each in entries for part in (each.id, each.state())]
            if not store.run("spill", name, host, owner, entries[0].score, *states):
                path.unlink(missing_ok=True)
                break  # all of them are being visited or have changed; a further URL of the host starts a new try
        with store.guarded():
            store.client.srem(store.key("long"), host)

    def _last(self, queue: str, count: int) -> list[SegmentEntry]:
        """Return the last URLs of a queue, in their order."""
        store, entries = self._store, list[SegmentEntry]()
        with store.guarded():
            found = store.client.zrevrange(queue, 0, count - 1, withscores=True)
            for chunk in batched(reversed(found), _STEP):
                fields = [field for id, _ in chunk for field in (b"t:" + id, b"l:" + id)]
                records = store.client.hmget(store.key("u"), [id for id, _ in chunk])
                counts = batched(store.client.hmget(store.key("tries"), fields), 2)
                for (id, score), record, (tries, lost) in zip(chunk, records, counts, strict=True):
                    if record is not None:
                        entry = SegmentEntry(id.decode(), int(score), int(tries or 0), int(lost or 0), record)
                        entries.append(entry)
        return entries

    def _read_back(self, segments: list[Segment]) -> None:
        """Read the first segment of each host before whose URLs too few are in memory."""
        first: dict[str, Segment] = {}
        for segment in segments:
            first.setdefault(segment.host, segment)
        few = self._most // 4 if self._most else None
        for chunk in batched(first.values(), _STEP):
            with self._store.guarded():
                pipeline = self._store.client.pipeline(transaction=False)
                for segment in chunk:
                    pipeline.zcount(self._store.key(f"q:{segment.host}"), "-inf", f"({segment.first}")
                before = pipeline.execute()
            for segment, number in zip(chunk, before, strict=True):
                if self._over.is_set():
                    return
                if few is None or segment.read or number <= few:
                    self._queue(segment)

    def _queue(self, segment: Segment) -> None:
        try:
            entries = read_segment(self._folder / segment.name)
        except SegmentDamaged as error:
            lost = self._store.run("unspill", segment.name)
            if lost >= 0:
                self._note(f"{lost} queued URLs of {segment.host} are lost: {error}")
            return
        chunks = list(batched(entries[segment.read :], _STEP)) or [()]
        read = segment.read
        for number, chunk in enumerate(chunks, 1):
            arguments: list[Any] = []
            for each in chunk:
                arguments += [each.id, each.score, each.tries, each.lost, each.record]
            if self._store.run("unspill", segment.name, read, int(number == len(chunks)), *arguments) < 0:
                return
            read += len(chunk)

    def _remove_unknown(self) -> None:
        """Remove files that Redis has not known for a while."""
        if not self._folder.exists():
            return
        now = time.monotonic()
        known = {segment.name for segment in self._registry.segments()}
        unknown = [path for path in self._folder.glob(f"*{_ENDING}") if path.name not in known]
        self._unknown = {path: self._unknown.get(path, now) for path in unknown}
        for path, since in list(self._unknown.items()):
            if now - since >= _KEPT_SECONDS:
                path.unlink(missing_ok=True)
                del self._unknown[path]


def _text(host: bytes) -> str:
    return host.decode("utf-8", "replace")


def _name(host: str) -> bytes:
    return host.encode("utf-8", "surrogatepass")


def drop_segments(folder: Path) -> None:
    """Remove all segments of a job whose frontier was dropped."""
    shutil.rmtree(folder, ignore_errors=True)
