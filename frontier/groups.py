"""The queue groups of a job are stored in Redis, and the group of each host is looked up once.

The lines of the profile are read when the job is opened or changed, with their list files, and stored as JSON, so that
workers need no list file. A claim that meets a due host of unknown group names the host. The worker then looks the
group up in memory (`definition/groups.py`), stores it for all workers and claims again. A change of the groups changes
their version. Then every host is unknown again, so that all workers obey from their next claim on.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from frontier.definition.groups import MAX_LIST_BYTES, GroupList, HostGroups, read_groups
from frontier.definition.job import JobError
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.store import Store

logger = logging.getLogger(__name__)

_LOOKUP_THREADS: Final = 8
_LOOKUP_SECONDS: Final = 3.0
"""A claim waits at most so long for the addresses of hosts."""
_KNOWN_MS: Final = 12 * 3_600_000
"""The group of a host that depends on its addresses is looked up again after this time."""
_UNKNOWN_MS: Final = 300_000
"""The group of a host whose addresses were not found is looked up again after this time."""


@dataclass(frozen=True, slots=True)
class _Known:
    """The groups of a version, as a worker has them in memory."""

    version: str
    groups: HostGroups


class GroupBook:
    """The book has the queue groups of one job. It is safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known = _Known("", HostGroups(GroupList()))
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    def put(self, groups: GroupList) -> bool:
        """Replace the groups of the job, for all its workers. Return whether they changed."""
        arguments: list[str | int] = [groups.version, groups.packed()]
        for group in groups.groups:
            arguments += [group.name, group.parallel, group.delay_ms]
        is_new = bool(self._store.run("groups", *arguments))
        if is_new:
            logger.info("job %s has %d queue groups", self._store.job, len(groups.groups))
        return is_new

    def assign(self, version: str, hosts: Sequence[str]) -> None:
        """Look up the groups of these hosts, and store them. Do nothing when the job has other groups by now."""
        groups = self._groups(version)
        if groups is None:
            return
        addresses = self._addresses([host for host in hosts if groups.needs_addresses(host)])
        arguments: list[str | int] = [version]
        for host in hosts:
            found = groups.group_of(host, addresses.get(host, ()))
            after = 0 if host not in addresses else _KNOWN_MS if addresses[host] else _UNKNOWN_MS
            arguments += [host, found.name if found else "", after]
        self._store.run("group", *arguments)

    def close(self) -> None:
        """End the look-ups that go on."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    def _groups(self, version: str) -> HostGroups | None:
        """Return the groups of this version; None when Redis has another one."""
        if (known := self._known).version == version:
            return known.groups
        with self._store.guarded():
            text = self._store.client.get(self._store.key("groupdef"))
        groups = GroupList.unpacked(text or b"[]")
        if groups.version != version:
            return None
        self._known = _Known(version, HostGroups(groups))
        return self._known.groups

    def _addresses(self, hosts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Return the addresses that the resolver of the system knows; none for a host that is not found."""
        if not hosts:
            return {}
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="group-address")
            asked: dict[str, Future[tuple[str, ...]]] = {host: self._threads.submit(_resolved, host) for host in hosts}
        done, late = wait(asked.values(), _LOOKUP_SECONDS)
        for future in late:
            future.cancel()
        return {host: future.result() if future in done else () for host, future in asked.items()}


def groups_of(lines: Iterable[str], folder: Path | None) -> GroupList:
    """Return the groups of a profile. `folder` has the list files. Raises JobError."""
    try:
        return read_groups(lines, lambda name: _lines_of(folder, name))
    except ValueError as error:
        raise JobError(f"groups: {error}") from error


def _lines_of(folder: Path | None, name: str) -> list[str]:
    if folder is None:
        raise ValueError(f"list:{name} can't be read here; start the job with the folder `{LIST_FOLDER}` of its home")
    path = folder / name
    try:
        with path.open("rb") as file:
            content = file.read(MAX_LIST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"list:{name} can't be read: {path}: {error.strerror}; put the file there") from error
    if len(content) > MAX_LIST_BYTES:
        raise ValueError(f"list:{name} has more than {MAX_LIST_BYTES:,} bytes; use domains or wildcards")
    return content.decode("utf-8", "replace").splitlines()


def _resolved(host: str) -> tuple[str, ...]:
    """Return the addresses of a host, with a port or without; none when it is not found."""
    name, _, port = host.rpartition(":")
    name = name if name and port.isdecimal() else host
    try:
        return tuple({str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(name, None)})
    except (OSError, UnicodeError):
        return ()
