"""Commands about deduplication: `dedup` and `deduplicator`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from admin.commands.upkeep import chosen_collections, private_or_shared_redis
from admin.options import InputError, common, load_settings


@click.command("dedup")
@common
@click.argument("collections", nargs=-1, metavar="[COLLECTION]…")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per bucket.")
def dedup(home: Path | None, settings_file: Path | None, collections: tuple[str, ...], as_json: bool) -> None:
    """Tell how many originals the dedup store knows, and what memory each costs."""
    from dedupdb.measure import measure
    from dedupdb.redis_link import DedupUnavailable, RedisLink

    settings = load_settings(home, settings_file)
    names = chosen_collections(settings, collections)
    with private_or_shared_redis(settings) as redis_url:
        link = RedisLink(redis_url, timeout_seconds=60)
        try:
            shelves = measure(link, names)
        except DedupUnavailable as error:
            raise InputError(str(error)) from error
        finally:
            link.close()
    for shelf in shelves:
        if as_json:
            click.echo(json.dumps({**asdict(shelf), "bytes_each": round(shelf.bytes_each, 1)}))
            continue
        bucket = f"bucket {shelf.bucket}" if shelf.bucket else "its own bucket"
        click.echo(
            f"{shelf.collection}: {bucket}, {shelf.algorithm}: {shelf.originals:,} originals in {shelf.bytes:,} bytes"
            f" of Redis, {shelf.bytes_each:.0f} each"
        )
    if not shelves and not as_json:
        click.echo("the dedup store knows nothing of these collections; `ghostfleet reindex` fills it from disk")


@click.command("deduplicator")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def deduplicator(file: Path, as_json: bool) -> None:
    """Print as settings what a Heritrix template (crawler-beans.cxml, order.xml) says of the DeDuplicator."""
    from dedupdb.deduplicator import Unmapped, parameters_in, settings_of

    try:
        mapped = settings_of(parameters_in(file))
    except OSError as error:
        raise InputError(f"{file} can't be read: {error.strerror}") from error
    except Unmapped as error:
        raise InputError(str(error)) from error
    if as_json:
        click.echo(json.dumps({"settings": mapped.settings, "left_out": mapped.left_out}))
        return
    click.echo("[dedup]")
    for name, value in mapped.settings.items():
        click.echo(f"{name.removeprefix('dedup.')} = {json.dumps(value)}")
    for name, why in mapped.left_out.items():
        click.echo(f"# {name}: {why}")
