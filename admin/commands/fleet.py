"""`ghostfleet proxy`: the recording proxies alone, for any client; and what `replay` shares with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admin.options import INTERRUPTED, JOB_FAILED, InputError, JobFailed, common, fetching, load_settings, resolve_table

if TYPE_CHECKING:
    from admin.fleet import Fleet
    from admin.interrupts import Interrupts
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
    flight, closes the WARC files and ends; a second one ends it now. SIGHUP, or `ghostfleet restart`, reads the
    settings again and replaces the processes one after the other, without a request lost or refused.
    """
    chosen = {f"proxy.{name}": value for name, value in flags.items()} | {"proxy.resolve": resolve_table(resolve)}
    return serve(
        load_settings(home, settings_file, chosen),
        lambda fleet: click.echo(json.dumps(ready_facts(fleet))),
        reload=lambda: load_settings(home, settings_file, chosen),
    )


@click.command("restart")
@common
def restart(home: Path | None, settings_file: Path | None) -> None:
    """Replace the processes of the home's `ghostfleet proxy` by new ones, with the settings as they are now.

    One after the other, without a request lost or refused. Returns when the last new one serves.
    """
    from admin.callsign import NoFleet, Refusal, ask_to_restart

    settings = load_settings(home, settings_file)
    try:
        for pids in ask_to_restart(settings.home):
            click.echo(json.dumps({"restarted": True, "pids": pids}))
    except NoFleet as error:
        raise InputError(str(error)) from error
    except Refusal as error:
        raise JobFailed(str(error)) from error


def serve(
    settings: Settings,
    announce: Callable[[Fleet], None],
    until: Callable[[], bool] = lambda: False,
    reload: Callable[[], Settings] | None = None,
) -> int:
    """Run a fleet until a signal ends it, or `until` says so; `announce` is called once it serves. The exit code.

    With `reload` it can be asked to restart, and uses the settings that this returns then.
    """
    from admin import logs
    from admin.fleet import Fleet
    from admin.homefolder import HomeError, prepare
    from admin.interrupts import Interrupts
    from admin.process import Abandoned, StartError
    from admin.sockets import PortError
    from admin.supervise import GaveUp

    with Interrupts(restarts=reload is not None) as interrupts:
        fleet = Fleet(settings, _tell, lambda: interrupts.asked_to_stop)
        try:
            prepare(settings.home)
            logs.to_file(settings.home / "logs" / "fleet.log", settings.logs.format)
            fleet.start()
            if reload is None:
                announce(fleet)
                while not interrupts.wait(_TICK_SECONDS) and not until():
                    fleet.tick()
            else:
                _serve_and_restart(fleet, interrupts, announce, reload)
        except Abandoned:
            return INTERRUPTED
        except (PortError, HomeError, StartError) as error:
            raise InputError(str(error)) from error
        except GaveUp as error:
            raise JobFailed(str(error)) from error
        finally:
            fleet.stop(interrupts.in_haste)
        return INTERRUPTED if interrupts.in_haste() else _told(fleet.failures)


def _told(failures: Sequence[str]) -> int:
    """Say what did not end well; the exit code."""
    for line in failures:
        _tell(line)
    return JOB_FAILED if failures else 0


def _serve_and_restart(
    fleet: Fleet, interrupts: Interrupts, announce: Callable[[Fleet], None], reload: Callable[[], Settings]
) -> None:
    """Look after the fleet until a signal ends it, and restart it when one asks for that."""
    from admin.callsign import Callsign

    with Callsign(fleet.settings.home) as callsign:
        announce(fleet)
        while not interrupts.wait(_TICK_SECONDS):
            fleet.tick()
            if interrupts.asked_to_restart:
                interrupts.asked_to_restart = False
                callsign.answer(_restart(fleet, reload, lambda: interrupts.asked_to_stop), fleet.pids)


def _restart(fleet: Fleet, reload: Callable[[], Settings], abandon: Callable[[], bool]) -> str:
    """Why there was no restart; empty when there was one."""
    from admin.process import Abandoned, StartError

    try:
        fleet.restart(reload(), abandon)
    except Abandoned:
        return "it was asked to end meanwhile"
    except (InputError, StartError) as error:
        _tell(f"not restarted, the fleet goes on as it was: {error}")
        return str(error)
    _tell("restarted")
    return ""


def _tell(line: str) -> None:
    click.echo(f"ghostfleet: {line}", err=True)


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
