"""Workers look names up, so that groups, sheets and rules can ask for addresses and aliases of hosts.

The resolver of the system answers. The proxy looks a name up itself when it connects, and may get another address.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final

from frontier.definition.networks import read_address, without_port

KNOWN_SECONDS: Final = 12 * 3_600
"""A name that was found is looked up again after this time."""
UNKNOWN_SECONDS: Final = 300
"""A name that was not found is looked up again after this time."""
_THREADS: Final = 8
_WAIT_SECONDS: Final = 3.0
"""A caller waits at most so long."""
_MOST_KEPT: Final = 100_000


@dataclass(frozen=True, slots=True)
class ResolvedHost:
    """A host has these addresses. `alias_of` is the name to which its CNAME records lead, or empty."""

    addresses: tuple[str, ...] = ()
    alias_of: str = ""


type Resolve = Callable[[str], ResolvedHost]
_NOTHING: Final = ResolvedHost()


def resolved(name: str) -> ResolvedHost:
    """Return the addresses and the canonical name of a host, as the resolver of the system has them."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_CANONNAME)
    except (OSError, UnicodeError):
        return _NOTHING
    addresses = dict.fromkeys(str(each[4][0]).partition("%")[0] for each in found)
    canonical = next((each[3] for each in found if each[3]), "").rstrip(".").lower()
    return ResolvedHost(tuple(addresses), canonical if canonical != name and read_address(canonical) is None else "")


class NameLookups:
    """The look-ups keep what they found. They are safe to share between threads."""

    def __init__(self, resolve: Resolve = resolved) -> None:
        self._resolve = resolve
        self._kept: dict[str, tuple[float, ResolvedHost]] = {}
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._pending: dict[str, Future[ResolvedHost]] = {}

    def names_of(self, host: str) -> ResolvedHost:
        """Return what is known of a host, with a port or without; nothing when the resolver does not answer in time."""
        return self.all_of([host])[host]

    def all_of(self, hosts: Collection[str]) -> Mapping[str, ResolvedHost]:
        """Return what is known of each host. The names are looked up at the same time."""
        found: dict[str, ResolvedHost] = {}
        asked: dict[str, Future[ResolvedHost]] = {}
        for host in hosts:
            name = without_port(host)
            if read_address(name) is not None:
                found[host] = ResolvedHost((name.strip("[]"),))
            elif (kept := self._known(name)) is not None:
                found[host] = kept
            else:
                asked[host] = self._ask(name)
        if asked:
            done, _ = wait(asked.values(), _WAIT_SECONDS)
            found |= {host: future.result() if future in done else _NOTHING for host, future in asked.items()}
        return found

    def close(self) -> None:
        """End the look-ups that go on."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    def _known(self, name: str) -> ResolvedHost | None:
        over, kept = self._kept.get(name, (0.0, _NOTHING))
        return kept if over > time.monotonic() else None

    def _ask(self, name: str) -> Future[ResolvedHost]:
        with self._lock:
            if (pending := self._pending.get(name)) is not None:
                return pending
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="name-lookup")
            self._pending[name] = asked = self._threads.submit(self._found, name)
            return asked

    def _found(self, name: str) -> ResolvedHost:
        found = self._resolve(name)
        rest = KNOWN_SECONDS if found.addresses else UNKNOWN_SECONDS
        with self._lock:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[name] = (time.monotonic() + rest, found)
            self._pending.pop(name, None)
        return found
