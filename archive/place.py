"""Where the WARC files of a collection lie, and what belongs to each: one name tells all of its places.

A file's name is its path from the collection's `archive` folder; its sidecar has the same place in `indexes`, and
what a repair cuts off has it in `quarantine`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from archive.source import OPEN_SUFFIX, files_below, warc_files

SIDECAR_SUFFIX: Final = ".cdxj"


@dataclass(frozen=True, slots=True)
class Place:
    """One WARC of the collection in `folder`; `name` has no `.open`, and `/` when it lies in a subfolder."""

    folder: Path
    name: str

    @property
    def warc(self) -> Path:
        """The WARC once it is closed."""
        return self.folder / "archive" / self.name

    @property
    def growing(self) -> Path:
        """The WARC while it is written."""
        return self.folder / "archive" / (self.name + OPEN_SUFFIX)

    @property
    def sidecar(self) -> Path:
        """Its index lines."""
        return self.folder / "indexes" / (self.name + SIDECAR_SUFFIX)

    @property
    def tail(self) -> Path:
        """What a repair cut off its end."""
        return self.folder / "quarantine" / f"{self.name}.tail"

    @classmethod
    def of_sidecar(cls, folder: Path, sidecar: Path) -> Self:
        """The WARC that the sidecar is of."""
        return cls(folder, sidecar.relative_to(folder / "indexes").as_posix().removesuffix(SIDECAR_SUFFIX))


def closed(folder: Path) -> Iterator[Place]:
    """Every closed WARC of a collection, by name."""
    return (Place(folder, _name(folder, path)) for path in warc_files(folder / "archive"))


def growing(folder: Path) -> Iterator[Place]:
    """Every WARC of a collection that is being written, or was when its writer died, by name."""
    paths = files_below(folder / "archive", OPEN_SUFFIX)
    return (Place(folder, _name(folder, path).removesuffix(OPEN_SUFFIX)) for path in paths)


def sidecars(folder: Path) -> Iterator[Place]:
    """Every WARC of a collection that has a sidecar, by name, whether it is still here or not."""
    return (Place.of_sidecar(folder, path) for path in files_below(folder / "indexes", SIDECAR_SUFFIX))


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder / "archive").as_posix()
