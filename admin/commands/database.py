"""The commands `database …` show and change the version of the admin's database."""

from __future__ import annotations

from pathlib import Path

import click

from admin.options import InputError, common, load_settings


@click.group("database")
def database() -> None:
    """Show or upgrade the version of the admin's database."""


@database.command("version")
@common
def show_version(home: Path | None, settings_file: Path | None) -> None:
    """Print the version of the database."""
    from admin.models.database import Database, database_url
    from admin.models.errors import DatabaseRefused

    settings = load_settings(home, settings_file)
    try:
        click.echo(Database(database_url(settings)).version() or "the database has no tables")
    except DatabaseRefused as error:
        raise InputError(str(error)) from error


@database.command("upgrade")
@common
def upgrade(home: Path | None, settings_file: Path | None) -> None:
    """Bring the database to the version of this program. Stop the other parts of the installation first."""
    from admin.models.database import Database, database_url
    from admin.models.errors import DatabaseRefused

    settings = load_settings(home, settings_file)
    settings.home.mkdir(parents=True, exist_ok=True)
    try:
        before, after = Database(database_url(settings)).upgrade()
    except DatabaseRefused as error:
        raise InputError(str(error)) from error
    click.echo(f"the database has version {after}" + (f"; it had {before}" if before != after and before else ""))
