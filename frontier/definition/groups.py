"""A queue group bounds the visits of several hosts together, such as those of one platform. Pure.

A group is one line of the profile's list `groups`: a name, members, and then values, such as
`shop *.example.org,example.net parallel=1 delay=5`. Members are separated by commas:

| member | hosts |
|---|---|
| `www.example.org` | this host, on any port |
| `example.net` | all hosts of this registered domain (public suffix list) |
| `*.example.org`, `img*.example.org` | the hosts whose whole names match; `*` stands for any characters |
| `192.0.2.7`, `192.0.2.0/24`, `2001:db8::/32` | the hosts that have such an address |
| `cname:example.net`, `cname:*.cdn.test` | the hosts whose CNAME records lead to such a name |
| `list:FILE` | the members on the lines of a file in the folder `groups` of the home |

A line that is only `list:FILE` stands for the lines of that file, each of which is a group. A host belongs to the first
group that matches.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from archive.json_text import compact_json
from archive.url import UrlError, ascii_host
from frontier.definition.networks import NetworkTable, read_address, read_network, without_port
from frontier.definition.public_suffixes import public_suffixes
from frontier.definition.rules.list_files import LIST_FOLDER

MAX_GROUPS: Final = 1_000
MAX_MEMBERS: Final = 200_000
"""Members of all groups together, with those of the list files."""
MAX_WILDCARDS: Final = 1_000
"""Members with `*` elsewhere than in a leading `*.`, since each of them is compared with each new host."""
MAX_LIST_BYTES: Final = 16_000_000
"""Most bytes of a list file."""
_LONGEST_LINE: Final = 100_000
_MOST_PARALLEL: Final = 1_000
_LONGEST_DELAY: Final = 3_600.0
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}", re.ASCII)
_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}", re.ASCII)
_LIST: Final = "list:"
_CNAME: Final = "cname:"
_WILDCARD: Final = re.compile(r"[a-z0-9_.*-]{1,253}", re.ASCII)
_EXAMPLE: Final = "write for example `shop *.example.org,example.net parallel=1 delay=5`"

type ReadList = Callable[[str], Iterable[str]]
"""Return the lines of the list file with this name."""


@dataclass(frozen=True, slots=True)
class QueueGroup:
    """A queue group has a name, members as they were written, and the bounds that hold for all its hosts together."""

    name: str
    members: tuple[str, ...]
    parallel: int = 1
    """The largest number of visits at the same time."""
    delay_ms: int = 0
    """The shortest time from the begin or the end of a visit to the begin of the next one."""


@dataclass(frozen=True, slots=True)
class GroupList:
    """The groups of a job, in the order in which they are compared with a host."""

    groups: tuple[QueueGroup, ...] = ()

    def packed(self) -> str:
        """Return the groups as JSON, so that workers without the list files can read them."""
        return compact_json([[each.name, each.parallel, each.delay_ms, list(each.members)] for each in self.groups])

    @classmethod
    def unpacked(cls, text: str | bytes) -> Self:
        """Return the groups of the JSON that `packed` returned."""
        return cls(tuple(QueueGroup(name, tuple(members), most, ms) for name, most, ms, members in json.loads(text)))

    @property
    def version(self) -> str:
        """Return a short text that is another one for other groups; empty for no group."""
        return hashlib.blake2b(self.packed().encode(), digest_size=8).hexdigest() if self.groups else ""


def check_group_line(line: str) -> str:
    """Return a line of the profile's list `groups`. Raises ValueError, whose message has the remedy.

    List files are not read.
    """
    if not (line.startswith(_LIST) and len(line.split()) == 1):
        group = _parsed(line)
        for member in group.members:
            if not member.startswith(_LIST):
                _check_member(member)
            else:
                _file_of(member)
        return line
    _file_of(line)
    return line


def read_groups(lines: Iterable[str], read_list: ReadList) -> GroupList:
    """Return the groups of the lines, with the content of the list files. Raises ValueError.

    `read_list` may raise ValueError, too.
    """
    groups: dict[str, QueueGroup] = {}
    total = 0
    for line in _all_lines(lines, read_list):
        group = _parsed(line)
        if group.name in groups:
            raise ValueError(f"the group {group.name} is given twice; write all its members on one line")
        if len(groups) >= MAX_GROUPS:
            raise ValueError(f"there are more than {MAX_GROUPS:,} groups; join some of them")
        members = []
        for member in group.members:
            found = _entries(read_list(_file_of(member))) if member.startswith(_LIST) else (member,)
            for each in found:
                _check_member(each)
                members.append(each)
                total += 1
                if total > MAX_MEMBERS:
                    raise ValueError(f"the groups have more than {MAX_MEMBERS:,} members; use domains or wildcards")
        groups[group.name] = QueueGroup(group.name, tuple(dict.fromkeys(members)), group.parallel, group.delay_ms)
    found_groups = GroupList(tuple(groups.values()))
    HostGroups(found_groups)
    return found_groups


@dataclass(slots=True)
class _Rules:
    """The members of all groups, each with the number of the first group that has the member."""

    names: dict[str, int] = field(default_factory=dict)
    domains: dict[str, int] = field(default_factory=dict)
    endings: dict[str, int] = field(default_factory=dict)
    """Names whose sub-names match, as of the member `*.example.org`."""
    wildcards: list[tuple[tuple[str, ...], int]] = field(default_factory=list)
    """The texts between the wildcards of a member."""
    networks: NetworkTable[int] = field(default_factory=NetworkTable)

    def numbers(self) -> Iterator[int]:
        """Yield the numbers of the groups of all members that are names."""
        yield from (*self.names.values(), *self.domains.values(), *self.endings.values())
        yield from (number for _, number in self.wildcards)


class HostGroups:
    """The groups are looked up by host. The time of a look-up depends on the labels of the name and on wildcards."""

    def __init__(self, groups: GroupList) -> None:
        self.groups = groups
        self._rules = rules = _Rules()
        self._aliases = aliases = _Rules()
        for number, group in enumerate(groups.groups):
            for member in group.members:
                if member.startswith(_CNAME):
                    _take(aliases, member.removeprefix(_CNAME), number)
                else:
                    _take(rules, member, number)
        if len(rules.wildcards) + len(aliases.wildcards) > MAX_WILDCARDS:
            raise ValueError(f"the groups have more than {MAX_WILDCARDS:,} wildcards; use *.DOMAIN, or a list of hosts")
        self._first_looked_up = min((*rules.networks.values(), *aliases.numbers()), default=None)

    def group_of(self, host: str, addresses: Sequence[str] = (), alias_of: str = "") -> QueueGroup | None:
        """Return the group of a host, of which these addresses and this CNAME target are known; None for no group."""
        found = min(self._matching(without_port(host), addresses, alias_of), default=None)
        return None if found is None else self.groups.groups[found]

    def needs_look_up(self, host: str) -> bool:
        """Return whether the group depends on addresses or a CNAME target that the host's name does not tell."""
        name = without_port(host)
        if self._first_looked_up is None or read_address(name) is not None:
            return False
        by_name = min(self._by_name(self._rules, name), default=None)
        return by_name is None or self._first_looked_up < by_name

    def _matching(self, name: str, addresses: Sequence[str], alias_of: str) -> Iterator[int]:
        yield from self._by_name(self._rules, name)
        if alias_of:
            yield from self._by_name(self._aliases, alias_of)
        for text in (name, *addresses):
            yield from (number for _, number in self._rules.networks.found(text))

    @staticmethod
    def _by_name(rules: _Rules, name: str) -> Iterator[int]:
        if name in rules.names:
            yield rules.names[name]
        above = name
        while above:
            if above in rules.domains:
                yield rules.domains[above]
            above = above.partition(".")[2]
            if above in rules.endings:
                yield rules.endings[above]
        for pieces, number in rules.wildcards:
            if _fits(name, pieces):
                yield number
                break  # the others are of the same group, or of later ones


def members_text(group: QueueGroup, most: int = 5) -> str:
    """Return the members of a group for people, of which at most `most` are named."""
    more = len(group.members) - most
    return ", ".join(group.members[:most]) + (f" and {more:,} more" if more > 0 else "")


def _all_lines(lines: Iterable[str], read_list: ReadList) -> Iterator[str]:
    for line in lines:
        if line.startswith(_LIST) and len(line.split()) == 1:
            yield from _entries(read_list(_file_of(line)))
        else:
            yield line


def _entries(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file that are neither empty nor comments."""
    for line in lines:
        text = line.lstrip("\ufeff").strip()
        if text and not text.startswith("#"):
            yield text


def _parsed(line: str) -> QueueGroup:
    """Return the group of a line, with its members as they are written."""
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"a group has {len(line):,} characters; use at most {_LONGEST_LINE:,}, or list:FILE")
    words = line.split()
    if len(words) < 3:
        raise ValueError(f"{line[:100]!r} is no group, since a group has a name, members and a value; {_EXAMPLE}")
    if not _NAME.fullmatch(words[0]):
        raise ValueError(f"{words[0][:100]!r} is no name of a group; use at most 60 letters, digits, '.', '_' and '-'")
    values = _values(words[0], words[2:])
    members = tuple(dict.fromkeys(member for member in words[1].split(",") if member))
    if not members:
        raise ValueError(f"the group {words[0]} has no members; {_EXAMPLE}")
    parallel = _number(values, "parallel", 1.0, 1, _MOST_PARALLEL)
    if not parallel.is_integer():
        raise ValueError(f"parallel={values['parallel'][:100]} is no whole number; write for example parallel=1")
    delay = _number(values, "delay", 0.0, 0, _LONGEST_DELAY)
    return QueueGroup(words[0], members, int(parallel), round(1000 * delay))


def _values(group: str, words: Sequence[str]) -> Mapping[str, str]:
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in ("parallel", "delay"):
            raise ValueError(f"{word[:100]!r} sets no key that a group may have (parallel, delay); {_EXAMPLE}")
        if name in values:
            raise ValueError(f"the group {group} has {name} twice; write it once")
        values[name] = value
    return values


def _number(values: Mapping[str, str], name: str, default: float, least: float, most: float) -> float:
    try:
        value = float(values.get(name, default))
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise ValueError(
            f"{name}={values[name][:100]} is no number from {least:g} to {most:g}; write for example {name}=1"
        )
    return value


def _file_of(member: str) -> str:
    name = member.removeprefix(_LIST)
    if not _FILE.fullmatch(name):
        raise ValueError(
            f"{member[:100]!r} names no file of the home's folder `{LIST_FOLDER}`; write for example list:platform.txt"
        )
    return name


def _check_member(member: str) -> None:
    target = member.removeprefix(_CNAME)
    if target is not member and read_network(target) is not None:
        raise ValueError(f"{member[:100]!r} has an address and no name; write the address without {_CNAME}")
    _take(_Rules(), target, 0)


def _take(rules: _Rules, member: str, number: int) -> None:
    """Add one member to the rules. Raises ValueError."""
    network = read_network(member)
    if network is not None:
        rules.networks.put(network, number)
    elif "*" in member:
        pattern = member.lower()
        if not _WILDCARD.fullmatch(pattern):
            raise ValueError(f"{member[:100]!r} is no host name with wildcard; write for example *.example.org")
        if pattern.startswith("*.") and "*" not in pattern[2:]:
            rules.endings.setdefault(pattern[2:], number)
        else:
            rules.wildcards.append((tuple(pattern.split("*")), number))
    else:
        try:
            name = ascii_host(member)
        except UrlError as error:
            raise ValueError(f"{member[:100]!r} is no host name, domain or address: {error}; {_EXAMPLE}") from error
        if without_port(name) != name or "/" in member:
            raise ValueError(f"{member[:100]!r} is no host name, domain or address; leave out scheme, port and path")
        is_domain = "." in name and public_suffixes().privatesuffix(name) == name
        (rules.domains if is_domain else rules.names).setdefault(name, number)


def _fits(name: str, pieces: Sequence[str]) -> bool:
    """Return whether a name has these pieces in this order, and begins and ends with the first and the last."""
    first, *inner, last = pieces
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    place, end = len(first), len(name) - len(last)
    for piece in inner:
        place = name.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return True
