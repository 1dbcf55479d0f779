"""Commands that look after what is kept: `check`, `repair`, `reindex`; and `config`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from admin.options import InputError, common, load_settings


@click.command("config")
@common
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def config(home: Path | None, settings_file: Path | None, as_json: bool) -> None:
    """Print every setting in force, and where its value comes from."""
    from archive.settings import names, sources

    settings = load_settings(home, settings_file)
    known = sources({"home": str(home) if home else None}, file=settings_file)
    rows = []
    for name, _, meaning in names():
        section, _, key = name.partition(".")
        value = getattr(getattr(settings, section), key)
        rows.append({"name": name, "value": value, "source": known.get(name, "default"), "meaning": meaning})
    if as_json:
        click.echo(json.dumps({"home": str(settings.home), "settings": rows}, indent=2))
        return
    click.echo(f"home = {settings.home}")
    for row in rows:
        source = "" if row["source"] == "default" else f"  [{row['source']}]"
        click.echo(f"{row['name']} = {json.dumps(row['value'])}{source}  # {row['meaning']}")


@click.command("repair")
@common
@click.argument("collections", nargs=-1, metavar="[COLLECTION]…")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def repair(home: Path | None, settings_file: Path | None, collections: tuple[str, ...], as_json: bool) -> None:
    """Finish WARC files that a killed writer left open, of these collections or of all.

    Files that are being written at this moment are left alone.
    """
    from admin import homefolder

    settings = load_settings(home, settings_file)
    known = homefolder.collections(settings)
    for name in collections:
        if name not in known:
            raise InputError(f"there is no collection {name} in {settings.home}; there are {', '.join(known) or 'none'}")
    _repair(settings, collections or tuple(known), as_json)
