"""The command `check` validates the WARC files of collections and folders, and single files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.options import JOB_FAILED, InputError, common, load_settings
from admin.units import counted

if TYPE_CHECKING:
    from archive.settings.load import Settings
    from archive.warc.upkeep.check import FileProblem


@click.command("check")
@common
@click.argument("paths", nargs=-1, required=True, metavar="[COLLECTION|PATH]…")
@click.option("--strict", is_flag=True, help="Treat notes as problems.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per finding.")
def check(home: Path | None, settings_file: Path | None, paths: tuple[str, ...], strict: bool, as_json: bool) -> int:
    """Validate WARC files and report problems with file and offset.

    An argument is the name of a collection in the home, a file, or a folder, which is searched for WARC files. Files
    that are still being written are checked too. A note is no problem: the record can be trusted, but the recorded
    message breaks the rules of HTTP, or a field is written as some crawlers write the field.

    \b
    Exit codes:
      0  no problems
      1  problems, or notes with --strict
      2  a file, folder or collection does not exist or can't be read
    """
    from archive.warc.upkeep.check import Level
    from archive.warc.upkeep.check import check as findings_of

    counts = dict.fromkeys(Level, 0)
    for path, missing in _to_check(home, settings_file, paths, as_json=as_json):
        try:
            for finding in chain(missing, findings_of(path)):
                counts[finding.level] += 1
                facts = {"file": str(finding.file), "offset": finding.offset, "record_id": finding.record_id}
                facts |= {"message": finding.message, "level": finding.level}
                click.echo(json.dumps(facts) if as_json else str(finding))
        except OSError as error:
            raise InputError(f"{path} can't be read: {error.strerror}; check its permissions") from error
    problems, notes = counts[Level.PROBLEM], counts[Level.NOTE]
    if not as_json:
        end = f", {counted(notes, 'note')}" if notes else ""
        click.echo((counted(problems, "problem") if problems else "no problems") + end)
    return JOB_FAILED if problems or (strict and notes) else 0


def _to_check(
    home: Path | None, settings_file: Path | None, chosen: tuple[str, ...], *, as_json: bool
) -> Iterator[tuple[Path, Sequence[FileProblem]]]:
    """Yield each file or folder to read, with one problem for each missing file.

    Prints how many WARC files a folder has. Raises InputError for a folder without any.
    """
    from archive.warc.upkeep.check import files_to_check

    for each in chosen:
        path: Path = Path(each)
        missing: Sequence[FileProblem] = ()
        if path.name == each and not path.exists():
            path, missing = _collection_to_check(load_settings(home, settings_file), each)
        if path.is_dir():
            count = len(files_to_check(path))
            if not count and not missing:
                raise InputError(f"{path} holds no WARC files, so nothing was checked; name another file or folder")
            if not as_json:
                click.echo(f"{path}: {counted(count, 'file')}")
        yield path, missing


def _collection_to_check(settings: Settings, name: str) -> tuple[Path, Sequence[FileProblem]]:
    """Return the collection's folder, and one problem for each file that has a sidecar and is not in the home."""
    from admin.fleet import home_folder
    from archive.names.warc_paths import ENDINGS, sidecars
    from archive.warc.upkeep.check import FileProblem

    if name not in (known := home_folder.collections(settings)):
        raise InputError(
            f"{name} is not a file, a folder or a collection in {settings.home}; "
            f"the collections are: {', '.join(known) or 'none'}"
        )
    why = "the file is not in the home and was not checked"
    why += f"; the storage {settings.storage.url} may have a copy" if settings.storage.url else ""
    folder = settings.collection(name)
    return folder, [
        FileProblem(place.warc, 0, "", why)
        for place in sidecars(folder)
        if place.name.endswith(ENDINGS) and not place.warc.exists() and not place.growing.exists()
    ]
