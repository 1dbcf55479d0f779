"""The command `dedup` measures the dedup store; `deduplicator` converts settings of Heritrix's DeDuplicator."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from admin.collections.names import CollectionName, chosen_collections
from admin.commands.collections.upkeep import private_or_shared_redis
from admin.options import InputError, common, load_settings
from admin.units import counted
from archive.program_name import command


@click.command("dedup")
@common
@click.argument("collections", nargs=-1, type=CollectionName(), metavar="[COLLECTION]…")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per bucket.")
def dedup(home: Path | None, settings_file: Path | None, collections: tuple[str, ...], as_json: bool) -> None:
    """Show how many originals the dedup store has, and how much Redis memory they take.

    Without COLLECTION all collections of the home are shown.
    """
    from dedupdb.claims.usage import measure
    from dedupdb.redis_io.link import DedupUnavailable, RedisLink

    settings = load_settings(home, settings_file)
    names = chosen_collections(settings, collections)
    with private_or_shared_redis(settings) as redis_url:
        link = RedisLink(redis_url, timeout_seconds=60)
        try:
            buckets = measure(link, names)
        except DedupUnavailable as error:
            raise InputError(str(error)) from error
        finally:
            link.close()
    for each in buckets:
        if as_json:
            click.echo(json.dumps({**asdict(each), "bytes_each": round(each.bytes_each, 1)}))
            continue
        bucket = f"bucket {each.bucket}" if each.bucket else "the collection's own bucket"
        click.echo(
            f"{each.collection}: {bucket}, {each.algorithm}: {counted(each.originals, 'original')}, "
            f"{each.bytes:,} bytes of Redis memory, {each.bytes_each:.0f} bytes each"
        )
    if not buckets and not as_json:
        click.echo(f"the dedup store has no originals of these collections; `{command('reindex')}` rebuilds it")


@click.command("deduplicator")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def deduplicator(file: Path, as_json: bool) -> None:
    """Convert the DeDuplicator parameters of a Heritrix template to Ghostfleet settings.

    FILE is a crawler-beans.cxml or an order.xml. The output is the [dedup] table for ghostfleet.toml; parameters
    without a counterpart follow as comments with a reason. Exit code 2 when a parameter can't be converted.
    """
    from admin.deduplicator import Unmapped, parameters_in, settings_of

    try:
        mapped = settings_of(parameters_in(file))
    except OSError as error:
        raise InputError(f"FILE {file} can't be read: {error.strerror}; name an existing file") from error
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
