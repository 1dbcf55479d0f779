"""The command `view` serves archived pages to any browser, without a proxy setting."""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admin.collections.names import CollectionName, chosen_collection
from admin.options import CommandRefused, InputError, child_options, common, load_settings, say_mended

if TYPE_CHECKING:
    from archive.settings.load import Settings


@click.command("view")
@common
@click.option("--port", type=click.IntRange(0, 65535), metavar="PORT", help="Port; 0 picks a free port.  [8082]")
@click.option(
    "--collection", type=CollectionName(), metavar="NAME", help="Show this collection alone.  [all collections]"
)
@click.option("--fetch-player", is_flag=True, help="Fetch the player ReplayWeb.page by npm into the home, and end.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON line, even on a terminal.")
@click.option("--listen-fd", type=int, default=-1, hidden=True)
@click.option("--tickets", is_flag=True, hidden=True)
@child_options
def view(
    home: Path | None,
    settings_file: Path | None,
    port: int | None,
    collection: str | None,
    fetch_player: bool,
    as_json: bool,
    listen_fd: int,
    tickets: bool,
    **given: Any,
) -> None:
    """Show archived pages in any browser, without a proxy setting, until SIGTERM or Ctrl-C.

    The start page lists collections and their pages, searches addresses and the text of pages, and shows when an
    address was captured. Nothing is fetched from the live web.

    Pages are played by ReplayWeb.page, which is a work of its own under the AGPL. A viewer that starts without it
    fetches it by npm, and so does `--fetch-player`. Without it, documents are shown without scripts.

    \b
    Exit codes:
      0  ended by a signal
      1  the player could not be fetched
      2  refused: the port is taken, the address is not allowed, or the index can't be used
    """
    settings = load_settings(home, settings_file, {"view.port": port})
    say_mended(settings)
    if fetch_player:
        _fetch(settings)
        return
    from admin.fleet.child import ParentLink
    from admin.fleet.logs import to_stderr
    from admin.fleet.sockets import PortError, address, listen
    from admin.models.errors import DatabaseRefused
    from admin.viewing.player import PlayerFetch
    from admin.viewing.server import ViewServer
    from admin.viewing.tickets import ticket_key
    from archive.listener_access import view_exposure
    from dedupdb.captures.schema import CapturesError

    parent = ParentLink.attach(given["title"] or "view", given["ready_fd"], given["lifeline_fd"], given["held_fds"])
    if not parent.is_absent:
        to_stderr(settings.logs)
    if refusal := view_exposure(settings):
        parent.report_unfit(refusal)
        raise InputError(refusal)
    if collection is not None:
        chosen_collection(settings, collection)
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        if listen_fd >= 0:
            listener = socket.socket(fileno=listen_fd)
        else:
            listener = listen(settings.view.host, settings.view.port, option="--port")[0]
        server = ViewServer(settings, ticket_key(settings.home) if tickets else None, collection)
    except (CapturesError, DatabaseRefused, PortError, OSError) as error:
        parent.report_unfit(str(error))
        raise InputError(str(error)) from error
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    if parent.is_absent:
        _announce(settings, f"http://{address(listener)}/", as_json)
    runs = threading.Thread(target=server.run, args=([listener],), name="view")
    runs.start()
    parent.report_ready()
    fetch = PlayerFetch(settings)
    fetch.start()
    while runs.is_alive():
        runs.join(0.5)
    fetch.stop()


def _fetch(settings: Settings) -> None:
    from admin.viewing.player import PlayerRefused, fetch_player

    try:
        player = fetch_player(settings)
    except PlayerRefused as error:
        raise CommandRefused(str(error)) from error
    except OSError as error:
        raise CommandRefused(f"the player can't be written to {settings.home}: {error.strerror}") from error
    click.echo(f"ReplayWeb.page {player.version} is in {player.folder}; its licence is {player.folder / 'LICENSE'}")


def _announce(settings: Settings, where: str, as_json: bool) -> None:
    from admin.viewing.player import PlayerRefused, find_player

    try:
        player, why = find_player(settings).version, ""
    except PlayerRefused as error:
        player, why = None, str(error)
    if as_json or not sys.stdout.isatty():
        click.echo(json.dumps({"ready": True, "view": where, "player": player}))
        return
    click.echo(f"The archive is at {where} in any browser. Ctrl-C ends the viewer.")
    if why:
        click.echo(f"Documents are shown without scripts: {why}", err=True)
