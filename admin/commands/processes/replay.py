"""The command `replay` serves a collection through a proxy; `open` shows it in a browser window."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.collections.names import CollectionName, chosen_collection
from admin.commands.processes.fleet import ready_facts, serve
from admin.options import InputError, common, load_settings
from archive.program_name import command

if TYPE_CHECKING:
    from admin.fleet.fleet import Fleet
    from admin.replay import Window
    from archive.settings.load import Settings

_PORT = click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 picks a free port.  [8000]")
_DATETIME = click.option(
    "--datetime",
    metavar="DIGITS",
    help="Replay the captures nearest to this time: 4 to 14 digits, such as 2026 or 20261121.  [the latest captures]",
)


@click.command("replay")
@common
@click.argument("collection", type=CollectionName())
@_PORT
@_DATETIME
@click.option("--json", "as_json", is_flag=True, help="Print a JSON line, even on a terminal.")
def replay(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    port: int | None,
    datetime: str | None,
    as_json: bool,
) -> int:
    """Replay a collection through an HTTP proxy on this machine.

    Nothing is fetched from the live web: a request for a URL that the collection lacks is answered with 404. When the
    proxy is ready, the command prints how to use it with a browser (on a terminal), or one JSON line. Ctrl-C ends it.
    """
    settings = _settings(home, settings_file, collection, port)

    def announce(fleet: Fleet) -> None:
        window = _window(fleet, collection, datetime)
        if as_json or not sys.stdout.isatty():
            click.echo(json.dumps({**ready_facts(fleet), "proxy": window.proxy, "collection": collection}))
        else:
            click.echo("\n".join(window.lines()))

    return serve(settings, announce)


@click.command("open")
@common
@click.argument("collection", type=CollectionName())
@click.argument("url", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [a free port]")
@_DATETIME
def open_collection(
    home: Path | None, settings_file: Path | None, collection: str, url: str | None, port: int, datetime: str | None
) -> int:
    """Replay a collection in a browser window.

    The command starts a replay proxy, and Chromium or Chrome that uses this proxy. URL is the first page; the default
    is the first seed of the collection's latest job. The command ends when the window is closed.
    """
    settings = _settings(home, settings_file, collection, port)
    executable = _browser(settings)
    page = url or _first_page(settings, collection)
    with _profile() as profile:
        browser: list[subprocess.Popen[bytes]] = []

        def announce(fleet: Fleet) -> None:
            window = _window(fleet, collection, datetime)
            click.echo(f"{collection} is open in {executable.name}; close the window or press Ctrl-C to end")
            flags = [*window.chromium_flags(profile), *(["--no-sandbox"] if os.geteuid() == 0 else [])]
            browser.append(subprocess.Popen([executable, *flags, page], stderr=subprocess.DEVNULL))

        try:
            return serve(settings, announce, until=lambda: bool(browser) and browser[0].poll() is not None)
        finally:
            for process in browser:
                process.terminate()
                process.wait()


def _settings(home: Path | None, settings_file: Path | None, collection: str, port: int | None) -> Settings:
    flags = {"proxy.port": port, "proxy.collection": collection, "proxy.mode": "replay"}
    settings = load_settings(home, settings_file, flags)
    chosen_collection(settings, collection)
    return settings


def _window(fleet: Fleet, collection: str, datetime: str | None) -> Window:
    from admin.replay import open_window

    assert fleet.addresses is not None
    return open_window(fleet.settings, collection, fleet.addresses, datetime)


def _browser(settings: Settings) -> Path:
    from browsers.engines.chromium.executable import find_chromium
    from browsers.engines.interface import BrowserMissing

    if sys.platform != "darwin" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise InputError(
            f"no window can be opened: DISPLAY and WAYLAND_DISPLAY are not set; use `{command('replay')}`, "
            "which needs no display"
        )
    try:
        return find_chromium(settings.browsers.executable)
    except BrowserMissing as error:
        raise InputError(str(error)) from error


def _first_page(settings: Settings, collection: str) -> str:
    from admin.jobs.runs import RunError
    from admin.replay import first_page

    try:
        found = first_page(settings, collection)
    except RunError as error:
        raise InputError(str(error)) from error
    if found is None:
        raise InputError(f"collection {collection} has no job with seeds; name the URL to open")
    return found


@contextmanager
def _profile() -> Iterator[Path]:
    """Yield a temporary folder for the browser's profile; errors of its removal are ignored.

    The browser may still write files while it ends.
    """
    with tempfile.TemporaryDirectory(prefix="ghostfleet-open-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
