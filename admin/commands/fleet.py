"""`ghostfleet proxy`: the recording proxies alone, for any client; and what `replay` shares with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admin.options import INTERRUPTED, InputError, JobFailed, common, fetching, load_settings, resolve_table

if TYPE_CHECKING:
    from admin.fleet import Fleet
    from archive.settings import Settings

_TICK_SECONDS = 0.2


@click.command("proxy")
@common
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 picks a free one.  [8000]")
@click.option("--processes", type=click.IntRange(1, 64), metavar="N", help="Recording processes that share it.  [1]")
@click.option("--collection", metavar="NAME", help="Collection of traffic without a session.  [default]")
@click.option(
    "--mode", type=click.Choice(["record", "replay", "patch", "live"]), help="Of traffic without a session.  [record]"
)
@click.option(
    "--deliver",
    type=click.Choice(["durable", "written", "at_once"]),
    help="When a client sees a response's end.  [durable]",
)
@fetching
def proxy(home: Path | None, settings_file: Path | None, resolve: tuple[str, ...], **flags: Any) -> int:
    """Run the recording proxies alone, and print one JSON line once they serve.

    Any HTTP client, crawler or browser may fetch through the printed port. SIGTERM or Ctrl-C drains what is in
    flight, closes the WARC files and ends; a second one ends it now.
    """
    chosen = {f"proxy.{name}": value for name, value in flags.items()} | {"proxy.resolve": resolve_table(resolve)}
    settings = load_settings(home, settings_file, chosen)
    return serve(settings, lambda fleet: click.echo(json.dumps(ready_facts(fleet))))


def serve(settings: Settings, announce: Callable[[Fleet], None], until: Callable[[], bool] = lambda: False) -> int:
    """Run a fleet until a signal ends it, or `until` says so; `announce` is called once it serves. The exit code."""
    from admin import logs
    from admin.fleet import Fleet
    from admin.homefolder import HomeError, prepare
    from admin.interrupts import Interrupts
    from admin.process import Abandoned, StartError
    from admin.sockets import PortError
    from admin.supervise import GaveUp

    with Interrupts() as interrupts:
        fleet = Fleet(settings, lambda line: click.echo(f"ghostfleet: {line}", err=True), lambda: interrupts.count > 0)
        try:
            prepare(settings.home)
            logs.to_file(settings.home / "logs" / "fleet.log", settings.logs.format)
            fleet.start()
            announce(fleet)
            while not interrupts.wait(_TICK_SECONDS) and not until():
                fleet.tick()
        except Abandoned:
            return INTERRUPTED
        except (PortError, HomeError, StartError) as error:
            raise InputError(str(error)) from error
        except GaveUp as error:
            raise JobFailed(str(error)) from error
        finally:
            fleet.stop(interrupts.in_haste)
        return INTERRUPTED if interrupts.in_haste() else 0


def ready_facts(fleet: Fleet) -> dict[str, Any]:
    """What a program needs to use the fleet: the line that `ghostfleet proxy` prints."""
    assert fleet.addresses is not None
    return {
        "ready": True,
        "proxy": fleet.addresses.proxy,
        "controls": list(fleet.addresses.controls),
        "cdx": fleet.addresses.cdx,
        "home": str(fleet.settings.home),
        "pids": fleet.pids,
    }
