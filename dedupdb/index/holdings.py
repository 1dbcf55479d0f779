"""Several homes may share an index and a dedup store. This module says which files of a collection are whose.

Only the home of a file may take the file's captures out of what is shared. A file that is missing here may be in
another home, or in the storage, so its absence says nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from dedupdb.claims.homes import Homes
from dedupdb.redis_io.link import RedisLink


@dataclass(frozen=True, slots=True)
class Holdings:
    """The holdings tell the files of this home from those of others."""

    own: tuple[str, ...] = ()
    """Files that are in this home and of no other, and files that Redis notes as this home's."""
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Files that Redis notes as another home's, by the name of that home."""
    unknown: tuple[str, ...] = ()
    """Files that are not in this home, and whose home nobody has noted."""


def holdings(
    link: RedisLink | None, home: str, collection: str, filenames: Collection[str], here: Collection[str]
) -> Holdings:
    """Return whose these files of a collection are; `here` are those that this home has.

    `home` is the name of this home where others share the index or the dedup store; empty when it is alone. Without
    `link`, the homes of files are unknown. Raises DedupUnavailable.
    """
    if not home:
        return Holdings(own=tuple(sorted(filenames)))
    noted = Homes(link, home).of_all(collection, filenames) if link is not None else {}
    own, unknown, others = list[str](), list[str](), dict[str, list[str]]()
    for name in sorted(filenames):
        holder = noted.get(name) or (home if name in here else "")
        if holder == home:
            own.append(name)
        elif holder:
            others.setdefault(holder, []).append(name)
        else:
            unknown.append(name)
    return Holdings(tuple(own), {name: tuple(files) for name, files in others.items()}, tuple(unknown))
