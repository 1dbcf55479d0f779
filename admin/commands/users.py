"""The commands `user …` make one-time links and list users, for whoever may read the home."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.options import InputError, common, load_settings

if TYPE_CHECKING:
    from admin.models.transaction import Transaction

_ROLES = ("administrator", "curator", "operator", "reader")


@click.group("user")
def user() -> None:
    """List the users of the admin site, invite users, and reset passwords."""


@user.command("invite")
@common
@click.option("--role", type=click.Choice(_ROLES), default="curator", show_default=True, help="Role of the new user.")
def invite_user(home: Path | None, settings_file: Path | None, role: str) -> None:
    """Print a one-time link that makes a user with this role."""
    from admin.commands.site import link_lines
    from admin.models.people_tables import Role
    from admin.people.invitations import NewInvitation, invite

    with opened(home, settings_file) as (transaction, where):
        link = invite(transaction, NewInvitation(role=Role(role)))
    for line in link_lines(link, where):
        click.echo(line)


@user.command("reset-password")
@common
@click.argument("name", metavar="NAME")
def reset_user_password(home: Path | None, settings_file: Path | None, name: str) -> None:
    """Print a one-time link that sets the password of a user."""
    from admin.commands.site import link_lines
    from admin.people.invitations import reset_password

    with opened(home, settings_file) as (transaction, where):
        link = reset_password(transaction, name)
    for line in link_lines(link, where):
        click.echo(line)


@user.command("list")
@common
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_all(home: Path | None, settings_file: Path | None, as_json: bool) -> None:
    """List the users of the admin site."""
    from admin.people.users import list_users

    after = ""
    while True:
        with opened(home, settings_file) as (transaction, _):
            page = list_users(transaction, after=after)
        for each in page.items:
            state = "" if each.is_active else ", deactivated"
            click.echo(json.dumps(each.model_dump(mode="json")) if as_json else f"{each.name}: {each.role}{state}")
        if page.next is None:
            return
        after = page.next


@contextmanager
def opened(home: Path | None, settings_file: Path | None) -> Iterator[tuple[Transaction, str]]:
    """Open a transaction of the command line; also give the site's address. Errors become one line."""
    from admin.models.database import open_database
    from admin.models.errors import DatabaseRefused, UseCaseError
    from admin.models.transaction import COMMAND_LINE

    settings = load_settings(home, settings_file)
    host = f"[{settings.admin.host}]" if ":" in settings.admin.host else settings.admin.host
    try:
        database = open_database(settings)
        with database.transaction(COMMAND_LINE) as transaction:
            yield transaction, f"http://{host}:{settings.admin.port}"
        database.close()
    except (DatabaseRefused, UseCaseError) as error:
        raise InputError(str(error)) from error
