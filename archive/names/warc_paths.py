"""The name of a WARC file decides three paths: of the file, of its sidecar, and of the bytes that a repair cut off.

The name is the path below the collection's `archive` folder. The sidecar has the same path below `indexes`, and the cut
off bytes have it below `quarantine`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

SIDECAR_SUFFIX: Final = ".cdxj"

OPEN_SUFFIX: Final = ".open"
"""The end of the name of a WARC that is being written."""
ENDINGS: Final = (".warc.gz", ".warc.zst", ".warc")
"""The ends of the names of closed WARC files."""


@dataclass(frozen=True, slots=True)
class WarcPaths:
    """These are the paths of one WARC of the collection in `folder`.

    `name` is without `.open`, and has a `/` when the WARC is in a subfolder.
    """

    folder: Path
    name: str

    @property
    def warc(self) -> Path:
        """Return the path of the closed WARC."""
        return self.folder / "archive" / self.name

    @property
    def growing(self) -> Path:
        """Return the path of the WARC while it is being written."""
        return self.folder / "archive" / (self.name + OPEN_SUFFIX)

    @property
    def sidecar(self) -> Path:
        """Return the path of the sidecar."""
        return self.folder / "indexes" / (self.name + SIDECAR_SUFFIX)

    @property
    def tail(self) -> Path:
        """Return the path of the bytes that a repair cut off."""
        return self.folder / "quarantine" / f"{self.name}.tail"

    @classmethod
    def of_sidecar(cls, folder: Path, sidecar: Path) -> Self:
        """Return the paths of the WARC with this sidecar."""
        return cls(folder, sidecar.relative_to(folder / "indexes").as_posix().removesuffix(SIDECAR_SUFFIX))


def closed(folder: Path) -> Iterator[WarcPaths]:
    """Return every closed WARC of a collection, by name."""
    return (WarcPaths(folder, _name(folder, path)) for path in warc_files(folder / "archive"))


def growing(folder: Path) -> Iterator[WarcPaths]:
    """Return every WARC of a collection that is being written, or whose writer has died, by name."""
    paths = files_below(folder / "archive", OPEN_SUFFIX)
    return (WarcPaths(folder, _name(folder, path).removesuffix(OPEN_SUFFIX)) for path in paths)


def sidecars(folder: Path) -> Iterator[WarcPaths]:
    """Return every WARC of a collection that has a sidecar, by name, whether the WARC exists or not."""
    return (WarcPaths.of_sidecar(folder, path) for path in files_below(folder / "indexes", SIDECAR_SUFFIX))


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder / "archive").as_posix()


def warc_files(folder: Path) -> list[Path]:
    """Return the closed WARC files below a folder, in its subfolders too, by name."""
    return files_below(folder, ENDINGS)


def files_below(folder: Path, endings: str | tuple[str, ...]) -> list[Path]:
    """Return the files below a folder whose names have one of these ends, by name; none without the folder."""
    return sorted(place / name for place, _, names in folder.walk() for name in names if name.endswith(endings))
