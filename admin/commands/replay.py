"""`ghostfleet replay` and `ghostfleet open`: a collection as the web it was, through a proxy, or in a window."""

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

from admin.commands.fleet import ready_facts, serve
from admin.options import InputError, common, load_settings

if TYPE_CHECKING:
    from admin.fleet import Fleet
    from admin.replay import Window
    from archive.settings import Settings

_PORT = click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 picks a free one.  [8000]")
_DATETIME = click.option("--datetime", metavar="DIGITS", help="As it was then: 4 to 14 digits, such as 20261121.")


@click.command("replay")
@common
@click.argument("collection")
@_PORT
@_DATETIME
@click.option("--json", "as_json", is_flag=True, help="A JSON line even on a terminal.")
def replay(
    home: Path | None,
    settings_file: Path | None,
    collection: str,
    port: int | None,
    datetime: str | None,
    as_json: bool,
) -> int:
    """Serve a collection as the web it was, through a proxy on this machine; nothing is fetched from the live web.

    Prints one JSON line when it serves, or, on a terminal, how to point a browser at it. Ctrl-C ends it.
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
@click.argument("collection")
@click.argument("url", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [a free one]")
@_DATETIME
def open_collection(
    home: Path | None, settings_file: Path | None, collection: str, url: str | None, port: int, datetime: str | None
) -> int:
    """Look at a collection in a browser window: replays it, and starts Chromium or Chrome through the replay.

    URL is the page to begin with; without it, the first seed of the collection's latest job. Ends with the window.
    """
    settings = _settings(home, settings_file, collection, port)
    executable = _browser(settings)
    page = url or _first_page(settings, collection)
    with _profile() as profile:
        browser: list[subprocess.Popen[bytes]] = []

        def announce(fleet: Fleet) -> None:
            window = _window(fleet, collection, datetime)
            click.echo(f"{collection} is shown in a window of {executable.name}; close it, or press Ctrl-C, to end")
            flags = [*window.chromium_flags(profile), *(["--no-sandbox"] if os.geteuid() == 0 else [])]
            browser.append(subprocess.Popen([executable, *flags, page], stderr=subprocess.DEVNULL))

        try:
            return serve(settings, announce, until=lambda: bool(browser) and browser[0].poll() is not None)
        finally:
            for process in browser:
                process.terminate()
                process.wait()


def _settings(home: Path | None, settings_file: Path | None, collection: str, port: int | None) -> Settings:
    from admin import homefolder

    flags = {"proxy.port": port, "proxy.collection": collection, "proxy.mode": "replay"}
    settings = load_settings(home, settings_file, flags)
    known = homefolder.collections(settings)
    if collection not in known:
        there = ", ".join(known) or "none"
        raise InputError(f"there is no collection {collection} in {settings.home}; there are: {there}")
    return settings


def _window(fleet: Fleet, collection: str, datetime: str | None) -> Window:
    from admin.replay import open_window

    assert fleet.addresses is not None
    return open_window(fleet.settings, collection, fleet.addresses, datetime)


def _browser(settings: Settings) -> Path:
    from browsers.executable import BrowserMissing, find_chromium

    if sys.platform != "darwin" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise InputError("there is no screen here to open a window on; use `ghostfleet replay`, which needs none")
    try:
        return find_chromium(settings.browsers.executable)
    except BrowserMissing as error:
        raise InputError(str(error)) from error


def _first_page(settings: Settings, collection: str) -> str:
    from admin.replay import first_page
    from admin.runs import RunError

    try:
        found = first_page(settings, collection)
    except RunError as error:
        raise InputError(str(error)) from error
    if found is None:
        raise InputError(f"no job of collection {collection} tells where it begins; name the URL to open")
    return found


@contextmanager
def _profile() -> Iterator[Path]:
    """A browser profile that is gone afterwards; what the browser still writes as it ends is no reason to fail."""
    with tempfile.TemporaryDirectory(prefix="ghostfleet-open-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
