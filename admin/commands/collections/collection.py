"""The command `collection` lists, shows, deletes, renames, imports and exports collections."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from admin.collections.names import CollectionName, no_such_collection
from admin.commands.collections.access_rules import access
from admin.commands.collections.collection_transfer import export, import_files
from admin.options import JOB_FAILED, InputError, JobFailed, common, load_settings
from admin.units import counted, human_bytes
from archive.dates import iso_second
from archive.program_name import command

if TYPE_CHECKING:
    from admin.collections.delete import Erasure
    from admin.collections.facts import CollectionFacts, Details
    from archive.settings.load import Settings
    from dedupdb.claims.usage import BucketSize

_HEADER: Final = ("COLLECTION", "CAPTURES", "SIZE", "FIRST", "LAST", "JOBS", "OPEN")


@click.group("collection")
def collection() -> None:
    """List, show, delete, rename, import and export collections, and say who may see what."""


collection.add_command(access)
collection.add_command(import_files)
collection.add_command(export)


@collection.command("list")
@common
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per collection.")
def list_collections(home: Path | None, settings_file: Path | None, as_json: bool) -> None:
    """List the collections with their captures, size, dates, jobs and open files.

    Collections with a problem come first; the lines below such a collection name the problem and the remedy.
    """
    from admin.collections.facts import all_collections
    from dedupdb.captures.schema import CapturesError

    settings = load_settings(home, settings_file)
    try:
        found = all_collections(settings)
    except (CapturesError, OSError) as error:
        raise JobFailed(str(error)) from error
    if as_json:
        for facts in found:
            click.echo(json.dumps(facts.as_json()))
    elif found:
        click.echo("\n".join(_table(found)))
    else:
        click.echo(f"there is no collection in {settings.home}; `{command('crawl')}` makes one")


@collection.command("show")
@common
@click.argument("name", type=CollectionName(), metavar="NAME")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(home: Path | None, settings_file: Path | None, name: str, as_json: bool) -> int:
    """Show the jobs and files of a collection, and compare its files with the index.

    The dedup store's originals are counted too. Exit code 1 when a file is missing, or files and index differ.
    """
    from admin.collections.facts import details, known_names
    from admin.jobs.runs import RunError, find_runs
    from dedupdb.captures.schema import CapturesError

    settings = load_settings(home, settings_file)
    try:
        _must_be_known(name, known_names(settings), settings)
        found = details(settings, name)
        runs = list(find_runs(settings.collection(name) / "jobs"))
    except (CapturesError, OSError) as error:
        raise JobFailed(str(error)) from error
    except RunError:  # `details` lists it among the problems
        runs = []
    jobs = [{"name": run.state.name, "status": run.state.status, "reason": run.state.reason} for run in runs]
    buckets = _dedup_buckets(settings, name)
    if as_json:
        click.echo(json.dumps(_details_as_json(found, jobs, buckets)))
    else:
        click.echo("\n".join(_details_lines(found, jobs, buckets)))
    return JOB_FAILED if found.differences or found.facts.problems else 0


@collection.command("delete")
@common
@click.argument("name", type=CollectionName(), metavar="NAME")
@click.option(
    "--yes-delete", "confirmed", metavar="NAME", help="For scripts: delete the collection of this name without asking."
)
@click.option(
    "--everywhere", is_flag=True, help="Erase what the index and Redis have of files that other homes hold, too."
)
@click.option("--force", is_flag=True, help="Delete even originals that revisits of other collections refer to.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def delete_collection(
    home: Path | None,
    settings_file: Path | None,
    name: str,
    confirmed: str | None,
    everywhere: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Delete a collection: its files, jobs and index, and its data in the dedup store and the frontier.

    The command first says what it erases, then asks for the collection's name. Files in the storage (setting
    storage.url) are kept. Other homes that share the index keep what belongs to their files. Run the same command
    again to continue an interrupted deletion.

    \b
    Exit codes:
      0  deleted
      1  something could not be deleted; run the command again
      2  refused: the collection is in use or unknown, only others hold it, or its name was not given again
    """
    from admin.collections.delete import ChangeRefused, delete, erasure, refusal
    from admin.collections.facts import known_names
    from admin.collections.marks import unfinished_deletions
    from admin.collections.stores import FAILURES

    settings = load_settings(home, settings_file)
    try:
        _must_be_known(name, known_names(settings), settings)
        is_begun = name in unfinished_deletions(settings)
        if not is_begun and (why := refusal(settings, name, force=force, everywhere=everywhere)):
            raise InputError(why)
        _confirm(name, confirmed, erasure(settings, name, everywhere=everywhere))
        done = delete(settings, name, everywhere=everywhere)
    except ChangeRefused as error:
        raise InputError(str(error)) from error
    except FAILURES as error:
        raise JobFailed(
            f"collection {name} is only partly deleted: {_reason(error)}; run the command again to continue"
        ) from error
    click.echo(json.dumps(done.as_json()) if as_json else "\n".join(done.lines()))


@collection.command("rename")
@common
@click.argument("old", type=CollectionName(), metavar="OLD")
@click.argument("new", type=CollectionName(), metavar="NEW")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def rename_collection(home: Path | None, settings_file: Path | None, old: str, new: str, as_json: bool) -> None:
    """Rename a collection: its folder, its index, its jobs and its data in the dedup store.

    WARC files and jobs keep their names. Run the same command again to continue an interrupted renaming.

    \b
    Exit codes:
      0  renamed
      1  something could not be changed; run the command again
      2  refused: the collection is in use or unknown, or the new name is taken
    """
    from admin.collections.delete import ChangeRefused
    from admin.collections.marks import Renaming, unfinished_renaming
    from admin.collections.rename import rename
    from admin.collections.stores import FAILURES
    from admin.fleet.home_folder import collections
    from admin.jobs.runs import RunError

    settings = load_settings(home, settings_file)
    if old == new:
        raise InputError(f"NEW {new!r} is the collection's present name; give another name")
    if unfinished_renaming(settings.collection(new)) != Renaming(old, new):
        _must_be_known(old, collections(settings), settings)
    try:
        done = rename(settings, old, new)
    except ChangeRefused as error:
        raise InputError(str(error)) from error
    except (*FAILURES, RunError) as error:
        raise JobFailed(
            f"collection {old} is only partly renamed: {_reason(error)}; run the command again to continue"
        ) from error
    click.echo(json.dumps(done.as_json()) if as_json else done.line())


def _reason(error: BaseException) -> str:
    """Return an error's message on one line, without a full stop at the end."""
    return " ".join(str(error).split()).rstrip(".")


def _must_be_known(name: str, known: list[str], settings: Settings) -> None:
    if name not in known:
        raise InputError(no_such_collection(name, known, settings.home))


def _confirm(name: str, given: str | None, what: Erasure) -> None:
    """Say what is erased, and ask for the name. Raises InputError when the name was not given again."""
    if given is not None and given != name:
        raise InputError(f"--yes-delete {given!r} is not the name of the collection, {name}; give the same name twice")
    click.echo("\n".join(what.lines()), err=True)
    if given is not None:
        return
    if not sys.stdin.isatty():
        raise InputError(f"collection {name} is not deleted: nobody can be asked; give --yes-delete {name}")
    if click.prompt("Type the collection's name to delete it", default="", show_default=False, err=True) != name:
        raise InputError(f"collection {name} is not deleted: the name was not typed")


def _dedup_buckets(settings: Settings, name: str) -> list[BucketSize]:
    """Return the collection's originals in the dedup store, by bucket. Raises InputError when Redis can't be used."""
    from admin.commands.collections.upkeep import private_or_shared_redis
    from dedupdb.claims.usage import measure
    from dedupdb.redis_io.link import DedupUnavailable, RedisLink

    with private_or_shared_redis(settings) as redis_url:
        link = RedisLink(redis_url, timeout_seconds=60)
        try:
            return measure(link, (name,))
        except DedupUnavailable as error:
            raise JobFailed(str(error)) from error
        finally:
            link.close()


def _table(found: list[CollectionFacts]) -> list[str]:
    rows = [_HEADER, *map(_row, found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    lines = [_aligned(rows[0], widths)]
    for facts, row in zip(found, rows[1:], strict=True):
        lines.append(_aligned(row, widths))
        lines += [f"    {line}" for line in (*facts.problems, *facts.held)]
    return lines


def _row(facts: CollectionFacts) -> tuple[str, ...]:
    dates = [iso_second(date)[:10] if date else "-" for date in (facts.first, facts.last)]
    return (facts.name, f"{facts.captures:,}", human_bytes(facts.bytes), *dates, str(facts.jobs), str(facts.open_files))


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    name, *rest = (
        text.ljust(width) if column == 0 else text.rjust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([name, *rest])


def _details_as_json(found: Details, jobs: list[dict[str, str]], buckets: list[BucketSize]) -> dict[str, object]:
    files = [
        {"name": f.name, "bytes": f.bytes, "open": f.is_open, "lines": f.lines, "captures": f.captures}
        for f in found.files
    ]
    dedup = [
        {"bucket": b.bucket, "algorithm": b.algorithm, "originals": b.originals, "bytes": b.bytes} for b in buckets
    ]
    return {
        **found.facts.as_json(),
        **{"files": files, "elsewhere": found.elsewhere, "runs": jobs, "dedup": dedup},
        "differences": found.differences,
    }


def _details_lines(found: Details, jobs: list[dict[str, str]], buckets: list[BucketSize]) -> list[str]:
    lines = [*_table([found.facts])]
    lines += [f"    {difference}" for difference in found.differences]
    lines += [f"in use: {who}" for who in found.facts.writers]
    lines += [
        f"job {job['name']}: {job['status']}{' (' + job['reason'] + ')' if job['reason'] else ''}" for job in jobs
    ]
    for file in found.files:
        is_open = ", open" if file.is_open else ""
        lines.append(f"file {file.name}: {human_bytes(file.bytes)}, {counted(file.captures, 'capture')}{is_open}")
    lines += [f"file {name}: in the storage or in another home" for name in found.elsewhere]
    for each in buckets:
        bucket = f"bucket {each.bucket}" if each.bucket else "the collection's own bucket"
        lines.append(
            f"dedup, {bucket}, {each.algorithm}: {counted(each.originals, 'original')}, "
            f"{human_bytes(each.bytes)} of Redis memory"
        )
    return lines
