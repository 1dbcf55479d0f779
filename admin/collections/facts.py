"""Count the files, captures and jobs of collections, and compare the home, the index and the storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from admin.collections.holders import Holders, find_holders
from admin.collections.marks import deleting_folder, unfinished_deletions, unfinished_renaming
from admin.collections.stores import has_index
from admin.collections.writers import left_open, writers
from admin.fleet.home_folder import collections
from admin.jobs.runs import RunError, find_runs
from admin.units import counted
from archive.dates import Micros, iso_second
from archive.names.warc_paths import closed, growing, sidecars
from archive.program_name import command
from archive.settings.load import Settings
from dedupdb.captures.inventory import Indexed, Inventory
from dedupdb.index.holdings import Holdings

_NOT_INDEXED: Final = Indexed(0, 0, 0)


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """The facts describe one collection. `first` and `last` are 0 when the index has no captures."""

    name: str
    captures: int = 0
    bytes: int = 0
    first: Micros = 0
    last: Micros = 0
    jobs: int = 0
    files: int = 0
    open_files: int = 0
    """Files that have no final name yet, whether their writer is still running or not."""
    writers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """One line for each problem, with the remedy."""
    held: tuple[str, ...] = ()
    """One line for each other holder, when this home has no folder of the collection and others hold it."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {
            "name": self.name,
            "captures": self.captures,
            "bytes": self.bytes,
            "first": iso_second(self.first) if self.first else None,
            "last": iso_second(self.last) if self.last else None,
            "jobs": self.jobs,
            "files": self.files,
            "open_files": self.open_files,
            "writers": list(self.writers),
            "problems": list(self.problems),
            "held": list(self.held),
        }


@dataclass(frozen=True, slots=True)
class CollectionFile:
    """The facts describe one WARC file.

    `lines` counts the captures in its sidecar (None without a sidecar), `captures` those in the index.
    """

    name: str
    bytes: int
    is_open: bool = False
    lines: int | None = None
    captures: int = 0


@dataclass(slots=True)
class Details:
    """The details describe a collection and each of its files."""

    facts: CollectionFacts
    files: list[CollectionFile] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """Files that the index has and this home has not: the storage or another home holds them."""
    differences: list[str] = field(default_factory=list)
    """One line for each difference between the index and the disk, with the remedy."""


def all_collections(settings: Settings) -> list[CollectionFacts]:
    """Return all collections of the home and of its index: those with problems first, then by name.

    Raises CapturesError.
    """
    indexed = _indexed(settings)
    names = {*collections(settings), *unfinished_deletions(settings), *indexed}
    found = [_facts(settings, name, indexed.get(name, _NOT_INDEXED)) for name in names]
    return sorted(found, key=lambda facts: (not facts.problems, facts.name))


def known_names(settings: Settings) -> list[str]:
    """Return the names of all collections in the home, its unfinished deletions and its index, sorted."""
    return sorted({*collections(settings), *unfinished_deletions(settings), *_indexed(settings)})


def details(settings: Settings, name: str) -> Details:
    """Return the facts about one collection and its files. Raises CapturesError."""
    folder = settings.collection(name)
    found = Details(_facts(settings, name, _indexed(settings).get(name, _NOT_INDEXED)))
    rows = _rows(settings, name)
    for place in closed(folder):
        lines = _lines(place.sidecar)
        found.files.append(CollectionFile(place.name, place.warc.stat().st_size, False, lines, rows.pop(place.name, 0)))
    for place in growing(folder):
        lines = _lines(place.sidecar)
        size = place.growing.stat().st_size if place.growing.exists() else 0
        found.files.append(CollectionFile(place.name, size, True, lines, rows.pop(place.name, 0)))
    held = find_holders(settings, name, rows) if rows else Holders(Holdings())
    elsewhere = {*held.stored, *held.others}
    found.elsewhere = sorted(rows.keys() & elsewhere)
    found.differences = [*_differences(found.files), *_gone(rows, elsewhere)]
    return found


def _differences(files: list[CollectionFile]) -> Iterator[str]:
    for file in files:
        if file.lines is None:
            yield f"{file.name} has no sidecar; run `{command('repair')}`"
        elif file.lines != file.captures and not file.is_open:
            yield (
                f"{file.name} has {counted(file.lines, 'capture')}, but the index has {file.captures:,} of them; "
                f"run `{command('reindex')}`"
            )


def _gone(rows: dict[str, int], elsewhere: set[str]) -> Iterator[str]:
    for name, count in sorted(rows.items()):
        if name not in elsewhere:
            yield f"{name} is missing, but the index has {counted(count, 'capture')} of it; run `{command('reindex')}`"


def _facts(settings: Settings, name: str, indexed: Indexed) -> CollectionFacts:
    folder = settings.collection(name)
    if not folder.is_dir():
        folder = deleting_folder(settings, name)
    files = list(closed(folder))
    open_files = list(growing(folder))
    return CollectionFacts(
        name=name,
        captures=indexed.captures,
        bytes=_bytes(folder),
        first=indexed.first,
        last=indexed.last,
        jobs=_jobs(folder),
        files=len(files) + len(open_files),
        open_files=len(open_files),
        writers=tuple(writers(folder)),
        problems=tuple(problems(settings, name, indexed.captures)),
        held=tuple(held_elsewhere(settings, name)),
    )


def held_elsewhere(settings: Settings, name: str) -> Iterator[str]:
    """Yield a line for each other holder of a collection that has no folder in this home. Raises CapturesError."""
    if settings.collection(name).is_dir() or deleting_folder(settings, name).is_dir():
        return
    held = find_holders(settings, name, _rows(settings, name))
    if held.has_others:
        yield "the collection has no folder in this home; commands about its files run where the files are"
        yield from held.lines()


def problems(settings: Settings, name: str, captures: int) -> Iterator[str]:
    """Yield a line for each problem of a collection, with the remedy; `captures` are those of the index."""
    folder, deleting = settings.collection(name), deleting_folder(settings, name)
    if deleting.is_dir():
        yield f"the collection is only partly deleted; run `{command(f'collection delete {name}')}` again"
    if change := unfinished_renaming(folder):
        again = command(f"collection rename {change.old} {change.new}")
        yield f"the collection is only partly renamed from {change.old} to {change.new}; run `{again}` again"
    if not folder.is_dir():
        if not deleting.is_dir() and not any(held_elsewhere(settings, name)):
            again = command(f"collection delete {name}")
            known = counted(captures, "capture")
            yield (
                f"the folder is missing, but the index has {known} of the collection; put the folder back, or, if it "
                f"was removed on purpose, run `{again}`, which first says what it erases"
            )
        return
    if unfinished := left_open(folder):
        count = counted(len(unfinished), "WARC file")
        yield f"{count} left open by a killed process; run `{command(f'repair {name}')}`"
    if bare := [place for place in closed(folder) if not place.sidecar.exists()]:
        yield f"{counted(len(bare), 'WARC file')} without a sidecar; run `{command(f'repair {name}')}`"
    has_lines = any(place.sidecar.stat().st_size for place in sidecars(folder))
    if has_lines and not captures and not writers(folder):
        yield f"the index has no captures of the collection; run `{command(f'reindex {name}')}`"
    try:
        list(find_runs(folder / "jobs"))
    except RunError as error:
        yield str(error)


def _jobs(folder: Path) -> int:
    try:
        return sum(1 for _ in find_runs(folder / "jobs"))
    except RunError:
        return 0


def _bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # the file was renamed or removed after it was listed
            continue
    return total


def _indexed(settings: Settings) -> dict[str, Indexed]:
    if not has_index(settings):
        return {}
    with Inventory(settings.database_url) as inventory:
        return inventory.collections()


def _rows(settings: Settings, name: str) -> dict[str, int]:
    if not has_index(settings):
        return {}
    with Inventory(settings.database_url) as inventory:
        return inventory.files(name)


def _lines(sidecar: Path) -> int | None:
    try:
        with sidecar.open("rb") as file:
            return sum(not line.startswith((b"!", b"#")) and bool(line.strip()) for line in file)
    except FileNotFoundError:
        return None
