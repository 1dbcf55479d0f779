"""Commands that look after what is kept: `check`, `repair`, `upload`, `dictionary`, `reindex`; and `config`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.options import JOB_FAILED, InputError, common, load_settings

if TYPE_CHECKING:
    from archive.settings import Settings
    from archive.upload import Uploader


@click.command("config")
@common
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def config(home: Path | None, settings_file: Path | None, as_json: bool) -> None:
    """Print every setting in force, and where its value comes from; secrets are left out."""
    from archive.settings import names, sources
    from archive.shown import shown

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


@click.command("check")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per problem.")
def check(paths: tuple[Path, ...], as_json: bool) -> int:
    """Prove WARC files right, or say where they are not: single files, or all below a folder.

    Exit code 0 when all is well, 1 when there are problems.
    """
    from archive.check import check as problems_of

    count = 0
    for path in paths:
        try:
            for problem in problems_of(path):
                count += 1
                facts = {"file": str(problem.file), "offset": problem.offset, "record_id": problem.record_id}
                click.echo(json.dumps({**facts, "message": problem.message}) if as_json else str(problem))
        except OSError as error:
            raise InputError(f"{path} can't be read: {error.strerror}") from error
    if not as_json:
        click.echo(f"{count} problems" if count else "no problems")
    return JOB_FAILED if count else 0


@click.command("repair")
@common
@click.argument("collections", nargs=-1, metavar="[COLLECTION]…")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per file.")
def repair(home: Path | None, settings_file: Path | None, collections: tuple[str, ...], as_json: bool) -> int:
    """Finish WARC files that a killed writer left open, of these collections or of all.

    Files that are being written at this moment are left alone. Exit code 1 when a file could not be repaired.
    """
    from archive.repair import Outcome
    from archive.repair import repair as repair_collection

    settings = load_settings(home, settings_file)
    failed = False
    for name in chosen_collections(settings, collections):
        for each in repair_collection(settings, name):
            failed = failed or each.outcome is Outcome.FAILED
            facts = {"collection": name, "file": each.filename, "outcome": each.outcome, "records": each.records}
            facts |= {"cut_bytes": each.cut_bytes, "reason": each.reason}
            click.echo(json.dumps(facts) if as_json else f"{name}: {each}")
    return JOB_FAILED if failed else 0


@click.command("upload")
@common
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def upload(home: Path | None, settings_file: Path | None, as_json: bool) -> int:
    """Hand finished WARC files to the storage (setting storage.url) now, as a running archive does by itself.

    Exit code 1 when a file was not handed over.
    """
    from archive.storage import StorageError
    from archive.upload import Uploader

    settings = load_settings(home, settings_file)
    if not settings.storage.url:
        raise InputError("no storage to hand files to; set storage.url")
    try:
        uploader = Uploader(settings)
    except StorageError as error:
        raise InputError(str(error)) from error
    is_well = uploader.look() if as_json or not sys.stderr.isatty() else _look_live(uploader)
    status = uploader.status
    if as_json:
        click.echo(json.dumps(asdict(status)))
    else:
        click.echo(f"{status.storage}: {status.handed_over} files handed over, {status.waiting} waiting")
        for name, why in status.failing.items():
            click.echo(f"{name}: {why}")
    return 0 if is_well and not status.waiting else JOB_FAILED


def _look_live(uploader: Uploader) -> bool:
    """With a line at the bottom of the terminal that tells how far it is."""
    from rich.console import Console

    from admin.uploads import look_watched

    with Console(stderr=True).status("") as live:
        return look_watched(uploader, live.update)


@click.command("dictionary")
@common
@click.argument("collection", metavar="COLLECTION")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="File to write.  [in the collection]")
@click.option("--size", type=click.IntRange(1_000, 8_388_608), help="Of the dictionary, in bytes.  [112640]")
@click.option("--samples", type=click.IntRange(20), metavar="N", help="Most records to learn from.  [4000]")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def dictionary(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    output: Path | None,
    size: int | None,
    samples: int | None,
    as_json: bool,
) -> None:
    """Make a zstd dictionary from the WARC files of a collection, for the ones that will be written.

    Use it with the settings archive.compression = "zstd" and archive.zstd_dictionary = FILE. Every file written with it
    has it inside, so the dictionary itself may go at any time.
    """
    from archive import dictionary as dictionaries
    from archive.source import WarcError, warc_files

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
        raise InputError(f"no dictionary for {name}: {error}") from error
    facts = {"file": str(path), "bytes": len(trained.data), "number": trained.number, "samples": trained.samples}
    if as_json:
        click.echo(json.dumps({**facts, "gain": round(trained.gain, 4)}))
        return
    click.echo(f"{path}: {len(trained.data)} bytes, number {trained.number}, learned from {trained.samples} records")
    click.echo(
        f"records it has not seen: {trained.packed_bytes} bytes in zstd, {trained.packed_bytes_with} with it "
        f"({trained.gain:.0%} less)"
    )


@click.command("reindex")
@common
@click.argument("collections", nargs=-1, required=True, metavar="COLLECTION…")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per collection.")
def reindex(home: Path | None, settings_file: Path | None, collections: tuple[str, ...], as_json: bool) -> None:
    """Rebuild the capture index and the dedup store of collections from their WARC files and sidecars."""
    from dedupdb.captures import Captures
    from dedupdb.claims import Claims
    from dedupdb.eligible import Eligible
    from dedupdb.indexer import Indexer

    settings = load_settings(home, settings_file)
    names, eligible = chosen_collections(settings, collections), Eligible(settings.dedup)
    with (
        private_or_shared_redis(settings) as redis_url,
        Captures(settings.database_url) as captures,
        Indexer(redis_url, captures, settings.home) as indexer,
        Claims(redis_url, claim_seconds=settings.dedup.claim_seconds, timeout_seconds=60) as claims,
    ):
        for name in names:
            indexed, payloads = indexer.reindex(name), indexer.rebuild_dedup(name, claims, eligible)
            facts = {"collection": name, "captures": indexed, "payloads": payloads}
            text = f"{name}: {indexed} captures in the index, {payloads} payloads known to dedup"
            click.echo(json.dumps(facts) if as_json else text)


@contextmanager
def private_or_shared_redis(settings: Settings) -> Iterator[str]:
    """URL of the Redis of the settings, else of the home's own, started if need be."""
    from frontier.embedded import RedisProblem, start_redis
    from frontier.fitness import check_redis

    try:
        if settings.redis.url:
            check_redis(settings.redis.url, timeout_seconds=settings.redis.timeout_seconds)
            yield settings.redis.url
        else:
            with start_redis(settings.home) as server:
                yield server.url
    except RedisProblem as error:
        raise InputError(str(error)) from error


def chosen_collections(settings: Settings, chosen: tuple[str, ...]) -> tuple[str, ...]:
    """Those chosen, else all there are. Raises InputError for one that is not there."""
    from admin import homefolder

    known = homefolder.collections(settings)
    for name in chosen:
        if name not in known:
            there = ", ".join(known) or "none"
            raise InputError(f"there is no collection {name} in {settings.home}; there are: {there}")
    return chosen or tuple(known)
