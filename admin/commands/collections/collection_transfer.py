"""The commands `collection import` and `collection export` read their options; `admin.collections` does the work."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import click

from admin.collections.names import CollectionName, chosen_collection
from admin.commands.collections.upkeep import private_or_shared_redis
from admin.options import INTERRUPTED, JOB_FAILED, InputError, JobFailed, common, load_settings
from admin.units import counted, human_bytes
from archive.program_name import command

if TYPE_CHECKING:
    from admin.collections.transfer.exporting import Exported
    from admin.collections.transfer.importing import ImportedFile, Importer, ImportItem, KeptPages
    from archive.settings.load import Settings
    from dedupdb.captures.capture_index import Captures


@click.command("import")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…")
@click.option(
    "--by-reference", is_flag=True, help="Make symbolic links instead of copies. The files must stay in place."
)
@click.option(
    "--dedup/--no-dedup", default=True, help="Deduplicate later captures against the imported responses.  [dedup]"
)
@click.option("--strict", is_flag=True, help="Refuse each file for which `check` reports a problem or a note.")
@click.option("--session", "session", metavar="TITLE", help="List the files as a capture session with this title.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file, then a summary.")
def import_files(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    paths: tuple[Path, ...],
    by_reference: bool,
    dedup: bool,
    strict: bool,
    session: str | None,
    as_json: bool,
) -> int:
    """Import WARC, ARC and HAR files into a collection.

    PATH is a WARC file (gzip, zstd or plain), an ARC file, a HAR file, a WACZ package, the JSON file of a multi-WACZ
    package, or a folder of such files. Each file is checked, copied and indexed. ARC and HAR files are converted to
    WARC. Of a damaged file, the records that can be read are converted, and the others are listed. A file without a
    readable record is refused, and the other files are still imported. A file whose records share gzip members is
    recompressed with one member per record. Run the same command again to continue an interrupted import: files that
    the collection already has are skipped.

    \b
    Exit codes:
      0    the collection has all files
      1    a file was refused or not reached, or captures were left out of the index
      2    bad input
      130  interrupted
    """
    from admin.collections.transfer.importing import Choices, Importer, ImportProblem, check_space, find, packages_in
    from admin.fleet.home_folder import HomeError, prepare
    from dedupdb.captures.capture_index import Captures
    from dedupdb.captures.schema import CapturesError

    settings = load_settings(home, settings_file)
    try:
        wanted = find(paths)
        if mended := prepare(settings.home, settings.archive.readable_by):
            click.echo(mended, err=True)
        with Captures(settings.database_url) as captures:
            importer = Importer(settings, collection, captures, Choices(by_reference, dedup, strict))
            check_space(settings, importer.space_needed(wanted))
            with closing(importer):
                done, stopped_by = _import_all(importer.take, wanted, collection, as_json)
            new = _index(settings, collection, captures)
            known = _add_originals(settings, collection, captures) if dedup and not stopped_by else None
            untold = dedup and not stopped_by and known is None
            pages = _keep_pages(importer, packages_in(wanted, done))
        if session is not None:
            _note_session(settings, collection, session, done, pages)
    except (ImportProblem, HomeError, CapturesError) as error:
        raise InputError(str(error)) from error
    code = _print_import(collection, done, len(wanted), new, known, pages, stopped_by, untold, as_json=as_json)
    return JOB_FAILED if untold and not code else code


def _keep_pages(importer: Importer, packages: list[Path]) -> KeptPages:
    """Keep the lists of pages of the packages; return what the lists have. Raises JobFailed."""
    from admin.collections.transfer.importing import KeptPages
    from archive.wacz.reader import PackageError

    try:
        return sum(map(importer.keep_pages, packages), KeptPages())
    except (PackageError, OSError) as error:
        raise JobFailed(
            f"the files are imported, but not all lists of pages: {error}; run the command again"
        ) from error


def _note_session(settings: Settings, collection: str, title: str, done: list[ImportedFile], pages: KeptPages) -> None:
    """List the imported files as a capture session."""
    from admin.capture_sessions.uploads import Upload, note_upload
    from admin.models.database import open_database
    from admin.models.errors import DatabaseRefused
    from admin.models.transaction import COMMAND_LINE

    refused = [f"{Path(each.source).name}: {each.reason}." for each in done if each.reason]
    said = [*refused, *(f"{each.name}: {line}." for each in done for line in each.first_problems), *pages.first_flaws]
    upload = Upload(
        collection,
        title,
        COMMAND_LINE.name,
        uuid4().hex,
        [each.name for each in done if each.name],
        pages.lists,
        said,
        len(said),
    )
    try:
        with closing(open_database(settings)) as database:
            number = note_upload(settings, database, upload)
    except (DatabaseRefused, OSError) as error:
        raise JobFailed(f"the files are imported, and are not listed as a capture session: {error}") from error
    if number is not None:
        click.echo(f"capture session {number}: {title}", err=True)


def _import_all(
    take: Callable[[ImportItem, Callable[[int], None]], ImportedFile],
    wanted: list[ImportItem],
    collection: str,
    as_json: bool,
) -> tuple[list[ImportedFile], str]:
    """Import all files with a progress bar. Return the results, and why the import ended early ("" when it didn't)."""
    done: list[ImportedFile] = []
    with _bar(sum(each.size for each in wanted), shown=not as_json) as (describe, advance):
        try:
            for number, each in enumerate(wanted, 1):
                describe(f"{each.name} ({number} of {len(wanted)})")
                taken = 0

                def copied(size: int) -> None:
                    nonlocal taken
                    taken += size
                    advance(size)

                result = take(each, copied)
                advance(max(0, each.size - taken))
                done.append(result)
                _print_file(result, collection, as_json)
        except KeyboardInterrupt:
            return done, "interrupted"
        except OSError as error:
            return done, f"{each} can't be imported: {error.strerror or error}"
    return done, ""


@contextmanager
def _bar(total: int, *, shown: bool) -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """Show a progress bar on a terminal's standard error.

    Yields two functions: the first sets the text, the second advances the bar by a number of bytes.
    """
    if not (shown and sys.stderr.isatty()):
        yield (lambda text: None), (lambda size: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield (
            lambda text: progress.update(task, description=text[-60:]),
            lambda size: progress.advance(task, size),
        )


def _print_file(result: ImportedFile, collection: str, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(asdict(result)))
        return
    if result.outcome == "imported":
        renamed = "" if result.source.endswith(result.name) else f" as {result.name}"
        rewrapped = ", recompressed with one member per record" if result.rewrapped else ""
        rewrapped += ", converted" if result.converted else ""
        click.echo(f"{result.source}: imported{renamed}, {counted(result.captures, 'capture')}{rewrapped}")
    else:
        click.echo(f"{result.source}: {result.outcome}{f': {result.reason}' if result.reason else ''}")
    if result.left_out:
        click.echo(f"  {counted(result.left_out, 'capture')} left out of the index; the log says why")
    for line in result.first_problems:
        click.echo(f"  {line}")
    if result.problems > len(result.first_problems):
        lists = "the log" if result.converted else f"`{command('check')} {collection}`"
        click.echo(f"  … {result.problems} findings in all; {lists} lists them")


def _index(settings: Settings, collection: str, captures: Captures) -> int:
    from dedupdb.index.indexer import Indexer

    with Indexer("", captures, settings.home) as indexer:
        return indexer.reconcile(collection)


def _add_originals(settings: Settings, collection: str, captures: Captures) -> int | None:
    """Add the originals of the collection to the dedup store, as `reindex` does.

    Return how many are new there; None when Redis can't be used.
    """
    from admin.collections.transfer.originals import add_originals
    from dedupdb.redis_io.link import DedupUnavailable

    try:
        with private_or_shared_redis(settings) as redis_url:
            return add_originals(settings, collection, captures, redis_url)
    except (DedupUnavailable, InputError) as error:
        click.echo(f"the dedup store can't be filled: {error}", err=True)
        return None


def _print_import(
    collection: str,
    done: list[ImportedFile],
    asked: int,
    new: int,
    known: int | None,
    pages: KeptPages,
    stopped_by: str,
    untold: bool,
    *,
    as_json: bool,
) -> int:
    """Print the summary, which begins with the missing files and captures; return the exit code."""
    counts = Counter(str(each.outcome) for each in done)
    left_out = sum(each.left_out for each in done)
    undone = asked - len(done)
    facts = {
        "event": "summary",
        "collection": collection,
        "refused": counts["refused"],
        "left_out": left_out,
        "not_reached": undone,
        "stopped_by": stopped_by,
        "imported": counts["imported"],
        "present": counts["present"],
        "captures": new,
        "originals": known,
        "pages": pages.count,
        "package_flaws": pages.flaws,
        "first_package_flaws": pages.first_flaws,
    }
    if as_json:
        click.echo(json.dumps(facts))
    else:
        for line in pages.first_flaws:
            click.echo(f"  {line}")
        if pages.flaws > len(pages.first_flaws):
            click.echo(f"  … {pages.flaws} lines and entries of packages in all; the log lists them")
        parts = [f"{counted(counts['refused'], 'file')} refused"] if counts["refused"] else []
        parts += [f"{counted(pages.flaws, 'line')} or entries of packages not used"] if pages.flaws else []
        parts += [f"{counted(left_out, 'capture')} left out of the index"] if left_out else []
        again = f"run `{command('reindex')} {collection}` when Redis answers"
        parts += [f"the dedup store lacks the imported responses; {again}"] if untold else []
        parts += [f"{counted(undone, 'file')} not reached ({stopped_by}); run the command again"] if undone else []
        parts += [f"{counted(counts['imported'], 'file')} imported"]
        parts += [f"{counted(counts['present'], 'file')} already in the collection"] if counts["present"] else []
        parts += [f"{counted(new, 'new capture')} in the index"]
        parts += [f"{counted(known, 'new original')} in the dedup store"] if known is not None else []
        parts += [f"{counted(pages.count, 'page')} listed by packages"] if pages.count else []
        click.echo(f"{collection}: {', '.join(parts)}")
    if stopped_by == "interrupted":
        return INTERRUPTED
    return JOB_FAILED if counts["refused"] or left_out or undone else 0


@click.command("export")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.option(
    "--to", "target", required=True, type=click.Path(path_type=Path), metavar="FOLDER", help="New folder to write."
)
@click.option(
    "--since", default="", metavar="DATE", help="Only captures of this date or later: 2026, 2026-11 or 2026-11-22."
)
@click.option("--until", default="", metavar="DATE", help="Only captures up to the end of this year, month or day.")
@click.option("--job", default="", metavar="NAME", help="Only captures of this job, or of this run of a job.")
@click.option("--url-prefix", default="", metavar="URL", help="Only captures whose URL begins with this prefix.")
@click.option("--whole-files", is_flag=True, help="Copy the whole of each WARC file that holds a chosen capture.")
@click.option("--no-originals", is_flag=True, help="Do not add the originals of chosen revisits.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
def export(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    target: Path,
    since: str,
    until: str,
    job: str,
    url_prefix: str,
    whole_files: bool,
    no_originals: bool,
    as_json: bool,
) -> int:
    """Export captures of a date range, a job or a URL prefix as WARC files.

    Without a condition all captures are exported. Records are copied byte for byte. The new folder has archive/,
    indexes/ and export.json, which lists each file with its SHA-256.

    \b
    Exit codes:
      0  the folder has all chosen captures
      1  captures or originals are missing; the output lists them
      2  bad input
    """
    from admin.collections.transfer.exporting import Exporter
    from admin.collections.transfer.selection import ExportProblem, selection

    settings = load_settings(home, settings_file)
    name = chosen_collection(settings, collection)
    try:
        chosen = selection(since, until, job, url_prefix)
        exporter = Exporter(
            settings.collection(name), target, chosen, originals=not no_originals, whole_files=whole_files
        )
        with file_status(shown=not as_json) as watch:
            result = exporter.run(watch)
    except ExportProblem as error:
        raise InputError(str(error)) from error
    except ValueError as error:
        raise InputError(f"{error}; run `{command('reindex')} {name}`") from error
    except OSError as error:
        raise InputError(f"--to {target} can't be written: {error.strerror or error}") from error
    return _print_export(name, result, as_json)


@contextmanager
def file_status(*, shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show on a terminal which file is read. Yields a function of the file's name, its number and their count."""
    if not (shown and sys.stderr.isatty()):
        yield lambda name, number, of: None
        return
    from rich.console import Console

    with Console(stderr=True).status("searching for captures") as live:
        yield lambda name, number, of: live.update(f"{name} ({number} of {of})")


def _print_export(name: str, result: Exported, as_json: bool) -> int:
    """Print the summary, which begins with the missing captures; return the exit code."""
    if as_json:
        click.echo(json.dumps(result.as_json()))
    else:
        for line in result.missing:
            click.echo(f"missing: {line}")
        originals = f" ({result.originals} of them added as originals of revisits)" if result.originals else ""
        lacking = (
            f"; {counted(result.lacking_originals, 'original')} of revisits left out"
            if result.lacking_originals and result.is_whole
            else ""
        )
        size = sum(each.bytes for each in result.files)
        click.echo(
            f"{name}: exported {counted(result.captures, 'capture')}{originals} in "
            f"{counted(len(result.files), 'file')} ({human_bytes(size)}) to {result.folder}{lacking}"
        )
    return 0 if result.is_whole else JOB_FAILED
