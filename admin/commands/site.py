"""The command `admin` serves the admin site and its REST API."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.options import InputError, common, load_settings

if TYPE_CHECKING:
    from admin.models.database import Database


@click.command("admin")
@common
@click.option("--port", type=click.IntRange(0, 65535), metavar="PORT", help="Port of the site.  [8080]")
def admin(home: Path | None, settings_file: Path | None, port: int | None) -> None:
    """Serve the admin site and its REST API until SIGTERM or Ctrl-C.

    The first start makes the database, with the stock channels and templates, and prints a link that makes the first
    administrator. The link works once.

    \b
    Exit codes:
      0  ended by a signal
      2  refused: the port is taken, the address is not allowed, or the database has another version
    """
    settings = load_settings(home, settings_file, {"admin.port": port})
    from admin.fleet.sockets import PortError, address, listen
    from admin.models.database import open_database
    from admin.models.errors import DatabaseRefused
    from admin.site.assembly import make_server
    from archive.listener_access import exposure

    if refusal := exposure(settings):
        raise InputError(refusal)
    try:
        database = open_database(settings)
        listener = listen(settings.admin.host, settings.admin.port, option="admin.port")[0]
    except (DatabaseRefused, PortError) as error:
        raise InputError(str(error)) from error
    server = make_server(database, settings)
    where = f"http://{address(listener)}"
    click.echo(f"ghostfleet admin: {where}/")
    for line in _prepared(database, where):
        click.echo(line)
    runs = threading.Thread(target=server.run, args=([listener],), name="site")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    runs.start()
    while runs.is_alive():
        runs.join(0.5)
    database.close()


def _prepared(database: Database, where: str) -> list[str]:
    """Fill a new database. Return what to tell the person who started the command."""
    from admin.harvests.stock import prepare
    from admin.models.transaction import COMMAND_LINE
    from admin.people.invitations import first_invitation

    prepare(database)
    with database.transaction(COMMAND_LINE) as transaction:
        link = first_invitation(transaction)
    if link is None:
        return []
    return [f"No user can log in yet. This link makes the first administrator: {where}/welcome/{link.token}"]
