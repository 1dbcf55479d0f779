"""The command `config` prints the settings; `repair`, `upload`, `dictionary` and `reindex` maintain collections."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.collections.names import CollectionName
from admin.collections.names import chosen_collections as chosen_collections
from admin.options import JOB_FAILED, InputError, JobFailed, common, load_settings
from admin.units import counted
from archive.program_name import command

if TYPE_CHECKING:
    from archive.settings.load import Settings
    from archive.storage.upload import Uploader
    from archive.warc.upkeep.repair import Repaired


@click.command("config")
@common
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def config(home: Path | None, settings_file: Path | None, as_json: bool) -> None:
    """Print every setting, its value and where the value comes from. Secrets are not shown."""
    from archive.settings.load import names, sources
    from archive.settings.values.redacted import shown

    settings = load_settings(home, settings_file)
    known = sources({"home": str(home) if home else None}, file=settings_file)
    rows = []
    for name, _, meaning in names():
        section, _, key = name.partition(".")
        value = shown(name, getattr(getattr(settings, section), key))
        rows.append({"name": name, "value": value, "source": known.get(name, "default"), "meaning": meaning})
    if as_json:
        click.echo(json.dumps({"home": str(settings.home), "settings": rows}, indent=2))
        return
    click.echo(f"home = {settings.home}")
    for row in rows:
        source = "" if row["source"] == "default" else f"  [{row['source']}]"
        click.echo(f"{row['name']} = {json.dumps(row['value'], ensure_ascii=False)}{source}  # {row['meaning']}")


@click.command("repair")
@common
@click.argument("collections", nargs=-1, type=CollectionName(), metavar="[COLLECTION]…")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file.")
def repair(home: Path | None, settings_file: Path | None, collections: tuple[str, ...], as_json: bool) -> int:
    """Repair WARC files that a killed process left open.

    An incomplete record at the end is removed, the sidecar is completed, and the file gets its final name. In files of
    other programs, records whose end is a few bytes off are written anew, and the index follows; the output names these
    files. Without COLLECTION all collections of the home are repaired. A file that is being written is not changed.
    Exit code 1 when a file could not be repaired, or the index could not be opened.
    """
    from archive.warc.upkeep.repair import RepairOutcome, being_written

    settings = load_settings(home, settings_file)
    failed = False
    names = chosen_collections(settings, collections)
    for name, each in _repaired(settings, names):
        failed = failed or each.outcome is RepairOutcome.FAILED
        facts = {"collection": name, "file": each.filename, "outcome": each.outcome, "records": each.records}
        facts |= {"cut_bytes": each.cut_bytes, "reason": each.reason}
        click.echo(json.dumps(facts) if as_json else f"{name}: {each}")
    for name in names:
        for paths in being_written(settings, name):
            facts = {"collection": name, "file": paths.name, "outcome": "left alone", "reason": "it is being written"}
            click.echo(json.dumps(facts) if as_json else f"{name}: {paths.name} not changed: it is being written")
    return JOB_FAILED if failed else 0


def _repaired(settings: Settings, collections: Iterable[str]) -> Iterator[tuple[str, Repaired]]:
    """Repair collections, and yield what was done to each file. Raises JobFailed.

    No file is written anew without an index that follows.
    """
    from archive.warc.upkeep.mend import mend
    from archive.warc.upkeep.repair import RepairOutcome, repair
    from dedupdb.captures.capture_index import Captures
    from dedupdb.captures.schema import CapturesError
    from dedupdb.index.sidecars import Sidecars

    for name in collections:
        yield from ((name, each) for each in repair(settings, name))
    try:
        with Captures(settings.database_url) as captures:
            sidecars = Sidecars(settings.home, captures)
            for name in collections:
                for each in mend(settings, name):
                    yield name, each
                    if each.outcome is RepairOutcome.MENDED:
                        sidecars.read_anew(name, each.filename)
    except (CapturesError, OSError) as error:
        raise JobFailed(f"the files of other programs were not all repaired and indexed: {error}") from error


@click.command("upload")
@common
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def upload(home: Path | None, settings_file: Path | None, as_json: bool) -> int:
    """Upload finished WARC files to the storage now.

    The setting storage.url names the storage. A running fleet uploads by itself. Files that are still open are not
    uploaded; the output counts them. Exit code 1 when a file could not be uploaded, or a killed process left one open.
    """
    from archive.storage.storage import StorageError
    from archive.storage.upload import Uploader

    settings = load_settings(home, settings_file)
    if not settings.storage.url:
        raise InputError("there is no storage; set storage.url to a folder or an S3 URL")
    try:
        uploader = Uploader(settings)
    except StorageError as error:
        raise InputError(str(error)) from error
    is_complete = uploader.look() if as_json or not sys.stderr.isatty() else _upload_live(uploader)
    status = uploader.status
    written, left = _open_files(settings)
    if as_json:
        click.echo(json.dumps({**asdict(status), "being_written": written, "left_open": left}))
    else:
        click.echo(f"{status.storage}: {counted(status.handed_over, 'file')} uploaded, {status.waiting} waiting")
        for name, why in status.failing.items():
            click.echo(f"{name}: {why}")
        if written:
            click.echo(f"{counted(written, 'file')} being written; the upload follows when they are closed")
        if left:
            click.echo(f"{counted(left, 'file')} left open by a killed process; run `{command('repair')}`")
    return 0 if is_complete and not status.waiting and not left else JOB_FAILED


def _open_files(settings: Settings) -> tuple[int, int]:
    """Return how many WARC files of the home are being written, and how many a killed process left open."""
    from admin.fleet import home_folder
    from archive.names.warc_paths import growing
    from archive.warc.upkeep.repair import being_written

    names = home_folder.collections(settings)
    written = sum(len(being_written(settings, name)) for name in names)
    return written, sum(sum(1 for _ in growing(settings.collection(name))) for name in names) - written


def _upload_live(uploader: Uploader) -> bool:
    """Upload, with a progress line at the bottom of the terminal."""
    from rich.console import Console

    from admin.fleet.uploads import upload_with_progress

    with Console(stderr=True).status("") as live:
        return upload_with_progress(uploader, live.update)


@click.command("dictionary")
@common
@click.argument("collection", type=CollectionName(), metavar="COLLECTION")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write.  [records.zdict in the collection]",
)
@click.option("--size", type=click.IntRange(1_000, 8_388_608), help="Size of the dictionary in bytes.  [112640]")
@click.option("--samples", type=click.IntRange(20), metavar="N", help="Largest number of records to use.  [4000]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def dictionary(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    output: Path | None,
    size: int | None,
    samples: int | None,
    as_json: bool,
) -> None:
    """Train a zstd dictionary with records of a collection.

    The settings archive.compression = "zstd" and archive.zstd_dictionary = FILE make new WARC files use the
    dictionary. Each such file contains the dictionary, so FILE may be deleted when the setting is removed.
    """
    from archive.names.warc_paths import growing, warc_files
    from archive.warc.reading.member_reader import WarcError
    from archive.warc.writing import dictionary as dictionaries

    settings = load_settings(home, settings_file)
    (name,) = chosen_collections(settings, (collection,))
    path = output or settings.collection(name) / dictionaries.FILE_NAME
    try:
        trained = dictionaries.train(
            warc_files(settings.archive_dir(name)),
            level=settings.archive.zstd_level,
            size=size or dictionaries.DEFAULT_SIZE,
            samples=samples or dictionaries.DEFAULT_SAMPLES,
        )
        dictionaries.save(trained.data, path)
    except (ValueError, WarcError, OSError) as error:
        count = sum(1 for _ in growing(settings.collection(name)))
        skipped = f"; {counted(count, 'file')} skipped, because they are still open" if count else ""
        raise InputError(f"no dictionary for collection {name}: {error}{skipped}") from error
    facts = {"file": str(path), "bytes": len(trained.data), "number": trained.number, "samples": trained.samples}
    if as_json:
        click.echo(json.dumps({**facts, "gain": round(trained.gain, 4)}))
        return
    click.echo(f"{path}: {len(trained.data)} bytes, id {trained.number}, trained with {trained.samples} records")
    click.echo(
        f"other records: {trained.packed_bytes} bytes in plain zstd, {trained.packed_bytes_with} with the dictionary "
        f"({trained.gain:.0%} less)"
    )


@click.command("reindex")
@common
@click.argument("collections", nargs=-1, required=True, type=CollectionName(), metavar="COLLECTION…")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per collection.")
def reindex(home: Path | None, settings_file: Path | None, collections: tuple[str, ...], as_json: bool) -> int:
    """Rebuild the capture index and the dedup store of collections from their WARC files and sidecars.

    A sidecar that is missing, damaged or shorter than its WARC file is rewritten from the WARC file, and the output
    names the file. Exit code 1 when captures are missing from the result.
    """
    from archive.storage.presence import WarcFiles, home_name, is_alone
    from dedupdb.captures.capture_index import Captures
    from dedupdb.claims.claims import Claims
    from dedupdb.claims.dedup_rules import DedupRules
    from dedupdb.claims.existing_originals import ExistingOriginals
    from dedupdb.index.indexer import Indexer
    from dedupdb.index.sidecar_repair import RepairedSidecar, SidecarOutcome

    is_whole = True
    settings = load_settings(home, settings_file)
    names, eligible = chosen_collections(settings, collections), DedupRules(settings.dedup)
    files, own_home = WarcFiles(settings), "" if is_alone(settings) else home_name(settings)
    with (
        private_or_shared_redis(settings) as redis_url,
        Captures(settings.database_url) as captures,
        Indexer(redis_url, captures, settings.home, files=files, own_home=own_home) as indexer,
        Claims(redis_url, claim_seconds=settings.dedup.claim_seconds, timeout_seconds=60) as claims,
    ):
        is_there = ExistingOriginals(claims, captures, files, own_home).is_there
        for name in names:
            repaired: list[RepairedSidecar] = []
            indexed = indexer.reindex(name, report=repaired.append)
            indexer.sweep(name)  # also tells other homes which files are here
            payloads = indexer.rebuild_dedup(name, claims, eligible, is_there)
            is_whole = is_whole and not any(file.outcome is SidecarOutcome.INCOMPLETE for file in repaired)
            facts = {"collection": name, "captures": indexed, "payloads": payloads}
            if as_json:
                click.echo(json.dumps({**facts, "files": [asdict(file) for file in repaired if file.reason]}))
                continue
            for file in repaired:
                if file.reason:
                    click.echo(f"{name}: {file}")
            click.echo(
                f"{name}: {counted(indexed, 'capture')} in the index, {counted(payloads, 'payload')} in the dedup store"
            )
    return 0 if is_whole else JOB_FAILED


@contextmanager
def private_or_shared_redis(settings: Settings) -> Iterator[str]:
    """Yield the URL of Redis: that of the setting redis.url, else the home's private one, which is started if needed.

    Raises InputError.
    """
    from frontier.private_redis.server import EmbeddedRedis, RedisProblem
    from frontier.redis_check import check_redis

    try:
        if settings.redis.url:
            check_redis(settings.redis.url, timeout_seconds=settings.redis.timeout_seconds)
            yield settings.redis.url
        else:
            with EmbeddedRedis(settings.home) as server:
                yield server.url
    except RedisProblem as error:
        raise InputError(str(error)) from error
