"""The command `proxy` runs a fleet and `restart` replaces its processes. `replay` and `open` also use `serve`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admin.collections.names import CollectionName
from admin.options import INTERRUPTED, JOB_FAILED, InputError, JobFailed, common, fetching, load_settings, resolve_table
from admin.output_line import write_line

if TYPE_CHECKING:
    from admin.fleet.fleet import Fleet
    from admin.jobs.interrupts import Interrupts
    from archive.settings.load import Settings

_TICK_SECONDS = 0.2


@click.command("proxy")
@common
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 picks a free port.  [8000]")
@click.option("--processes", type=click.IntRange(1, 64), metavar="N", help="Number of recording processes.  [1]")
@click.option(
    "--collection", type=CollectionName(), metavar="NAME", help="Collection for requests without a session.  [default]"
)
@click.option(
    "--mode",
    type=click.Choice(["record", "replay", "patch", "live"]),
    help="Mode for requests without a session.  [record]",
)
@click.option(
    "--deliver",
    type=click.Choice(["durable", "written", "at_once"]),
    help="When a client gets the end of a response: after its records are on disk, after they are written, or at "
    "once.  [durable]",
)
@fetching
def proxy(home: Path | None, settings_file: Path | None, resolve: tuple[str, ...], **flags: Any) -> int:
    """Run the recording proxies for any HTTP client, crawler or browser.

    One JSON line with the port is printed when the proxies are ready. SIGTERM or Ctrl-C finishes the requests in
    progress and closes the WARC files; a second signal stops at once. SIGHUP, or `ghostfleet restart`, reads the
    settings again and replaces the processes one after the other. No request is lost or refused.
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
    """Restart the recording processes of `ghostfleet proxy` with the present settings.

    The processes are replaced one after the other, and no request is lost or refused. The command returns when the
    last new process is ready.
    """
    from admin.fleet.control_file import NoFleet, RestartRefused, ask_to_restart

    settings = load_settings(home, settings_file)
    try:
        for pids in ask_to_restart(settings.home):
            click.echo(json.dumps({"restarted": True, "pids": pids}))
    except NoFleet as error:
        raise InputError(str(error)) from error
    except RestartRefused as error:
        raise JobFailed(str(error)) from error


def serve(
    settings: Settings,
    announce: Callable[[Fleet], None],
    until: Callable[[], bool] = lambda: False,
    reload: Callable[[], Settings] | None = None,
) -> int:
    """Run a fleet until a signal comes or `until` returns True; return the exit code.

    `announce` is called when the fleet is ready. With `reload` the fleet can be restarted, with the settings that
    `reload` returns.
    """
    from admin.fleet import logs
    from admin.fleet.fleet import Fleet
    from admin.fleet.home_folder import HomeError, prepare
    from admin.fleet.process import StartError, StartInterrupted
    from admin.fleet.sockets import PortError
    from admin.fleet.supervisor import RestartLimitReached
    from admin.jobs.interrupts import Interrupts

    with Interrupts(restarts=reload is not None) as interrupts:
        fleet = Fleet(settings, _print, lambda: interrupts.asked_to_stop)
        try:
            if mended := prepare(settings.home, settings.archive.readable_by):
                _print(mended)
            logs.to_file(settings.home / "logs" / "fleet.log", settings.logs)
            fleet.start()
            if reload is None:
                announce(fleet)
                while not interrupts.wait(_TICK_SECONDS) and not until():
                    fleet.tick()
            else:
                _serve_and_restart(fleet, interrupts, announce, reload)
        except StartInterrupted:
            return INTERRUPTED
        except (PortError, HomeError, StartError) as error:
            raise InputError(str(error)) from error
        except RestartLimitReached as error:
            raise JobFailed(str(error)) from error
        finally:
            fleet.stop(interrupts.asked_to_hurry)
        return INTERRUPTED if interrupts.asked_to_hurry() else _print_failures(fleet.failures)


def _print_failures(failures: Sequence[str]) -> int:
    """Print one line for each child that failed while it ended; return the exit code."""
    for line in failures:
        _print(line)
    return JOB_FAILED if failures else 0


def _serve_and_restart(
    fleet: Fleet, interrupts: Interrupts, announce: Callable[[Fleet], None], reload: Callable[[], Settings]
) -> None:
    """Watch the fleet until a signal asks it to end, and restart it when a signal asks for a restart."""
    from admin.fleet.control_file import ControlFile

    with ControlFile(fleet.settings.home) as control_file:
        announce(fleet)
        while not interrupts.wait(_TICK_SECONDS):
            fleet.tick()
            if interrupts.asked_to_restart:
                interrupts.asked_to_restart = False
                control_file.answer(restart_fleet(fleet, reload, lambda: interrupts.asked_to_stop), fleet.pids)


def restart_fleet(fleet: Fleet, reload: Callable[[], Settings], abandon: Callable[[], bool]) -> str:
    """Restart the fleet; return the reason when that failed, else an empty text."""
    from admin.fleet.process import StartError, StartInterrupted

    try:
        fleet.restart(reload(), abandon)
    except StartInterrupted:
        return "a signal asked the fleet to end"
    except (InputError, StartError) as error:
        _print(f"not restarted, the fleet continues unchanged: {error}")
        return str(error)
    _print("restarted")
    return ""


def _print(line: str) -> None:
    write_line(sys.stderr, f"ghostfleet: {line}")


def ready_facts(fleet: Fleet) -> dict[str, Any]:
    """Return the fields of the JSON line that `ghostfleet proxy` prints when it is ready."""
    assert fleet.addresses is not None
    return {
        "ready": True,
        "proxy": fleet.addresses.proxy,
        "controls": list(fleet.addresses.controls),
        "cdx": fleet.addresses.cdx,
        "home": str(fleet.settings.home),
        "pids": fleet.pids,
    }
