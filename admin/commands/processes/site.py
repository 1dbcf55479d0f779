"""The command `admin` serves the admin site and its REST API."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from admin.options import InputError, child_options, common, load_settings, say_mended


@click.command("admin")
@common
@click.option("--port", type=click.IntRange(0, 65535), metavar="PORT", help="Port of the site.  [8080]")
@click.option("--listen-fd", type=int, default=-1, hidden=True)
@child_options
def admin(home: Path | None, settings_file: Path | None, port: int | None, listen_fd: int, **given: Any) -> None:
    """Serve the admin site and its REST API until SIGTERM or Ctrl-C.

    The first start makes the database, with the stock channels and templates, and prints a link that makes the first
    administrator. The link works once.

    \b
    Exit codes:
      0  ended by a signal
      2  refused: the port is taken, the address is not allowed, or the database has another version
    """
    settings = load_settings(home, settings_file, {"admin.port": port})
    say_mended(settings)
    from admin.fleet.child import ParentLink
    from admin.fleet.logs import to_stderr
    from admin.fleet.site_address import published
    from admin.fleet.sockets import PortError, address, listen
    from admin.models.database import open_database
    from admin.models.errors import DatabaseRefused
    from admin.site.assembly import make_server
    from admin.site.first_start import prepare
    from archive.listener_access import exposure

    standing = ParentLink.attach(given["title"] or "admin", given["ready_fd"], given["lifeline_fd"], given["held_fds"])
    if not standing.is_absent:
        to_stderr(settings.logs)
    if refusal := exposure(settings):
        raise InputError(refusal)
    try:
        database = open_database(settings)
        if listen_fd >= 0:
            listener = socket.socket(fileno=listen_fd)
        else:
            listener = listen(settings.admin.host, settings.admin.port, option="admin.port")[0]
    except (DatabaseRefused, PortError) as error:
        standing.report_unfit(str(error))
        raise InputError(str(error)) from error
    server = make_server(database, settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    if standing.is_absent:
        where = f"http://{address(listener)}"
        click.echo(f"ghostfleet admin: {where}/")
        where = settings.admin.public_url or where
        if link := prepare(database):
            click.echo(f"No user can log in yet. This link makes the first administrator: {where}{link}")
    runs = threading.Thread(target=server.run, args=([listener],), name="site")
    with published(settings.home, address(listener)) if standing.is_absent else nullcontext():
        runs.start()
        standing.report_ready()
        while runs.is_alive():
            runs.join(0.5)
    database.close()
