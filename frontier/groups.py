"""The queue groups of a job are stored in Redis, and the group of each host is looked up once.

The lines of the profile are read when the job is opened or changed, with their list files, and stored as JSON, so that
workers need no list file. A claim that meets a due host of unknown group names the host. The worker then looks the
group up in memory (`definition/groups.py`), stores it for all workers and claims again. A change of the groups changes
their version. Then every host is unknown again, so that all workers obey from their next claim on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from frontier.definition.groups import MAX_LIST_BYTES, GroupList, HostGroups, read_groups
from frontier.definition.job import JobError
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.name_lookups import KNOWN_SECONDS, UNKNOWN_SECONDS, NameLookups, ResolvedHost
from frontier.store import Store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Known:
    """The groups of a version, as a worker has them in memory."""

    version: str
    groups: HostGroups


class GroupBook:
    """The book has the queue groups of one job. It is safe to share between threads."""

    def __init__(self, store: Store, lookups: NameLookups) -> None:
        self._store = store
        self._lookups = lookups
        self._known = _Known("", HostGroups(GroupList()))

    def put(self, groups: GroupList, *, has_turns: bool = False) -> bool:
        """Replace the groups of the job, for all its workers. Return whether they changed.

        With `has_turns`, the shard hands out no URL of a group before the group has its turn there (`group_turns`).
        """
        arguments: list[str | int] = [groups.version, groups.packed()]
        for group in groups.groups:
            arguments += [group.name, 0 if has_turns else group.parallel, group.delay_ms]
        is_new = bool(self._store.run("groups", *arguments))
        if is_new:
            logger.info("job %s has %d queue groups", self._store.job, len(groups.groups))
        return is_new

    def assign(self, version: str, hosts: Sequence[str]) -> None:
        """Look up the groups of these hosts, and store them. Do nothing when the job has other groups by now."""
        groups = self.of_version(version)
        if groups is None:
            return
        looked_up = self._lookups.all_of([host for host in hosts if groups.needs_look_up(host)])
        arguments: list[str | int] = [version]
        for host in hosts:
            names = looked_up.get(host, ResolvedHost())
            found = groups.group_of(host, names.addresses, names.alias_of)
            after = 0 if host not in looked_up else 1000 * (KNOWN_SECONDS if names.addresses else UNKNOWN_SECONDS)
            arguments += [host, found.name if found else "", after]
        self._store.run("group", *arguments)

    def of_version(self, version: str) -> HostGroups | None:
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
