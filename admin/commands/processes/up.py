"""The command `up` runs a whole installation: Redis, proxies, indexer, scheduler, harvesters, replay and admin site."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admin.options import (
    INTERRUPTED,
    JOB_FAILED,
    InputError,
    JobFailed,
    common,
    fetching,
    fetching_settings,
    load_settings,
)

if TYPE_CHECKING:
    from admin.fleet.installation_file import InstallationFile
    from admin.jobs.interrupts import Interrupts
    from admin.models.database import Database
    from admin.up.display import InstallationDisplay
    from admin.up.installation import Harvesting, InstallationProcesses
    from admin.up.watch import Watch
    from archive.settings.load import Settings

_TICK_SECONDS = 0.2
_PORT = click.IntRange(0, 65535)


@click.command("up")
@common
@click.option("--demo", is_flag=True, help="Fill a fresh home with a bundled site, harvests and a job that runs.")
@click.option("--channel", "channels", multiple=True, metavar="NAME", help="Channel to harvest for.  [all channels]")
@click.option(
    "--harvesters",
    type=click.IntRange(0, 64),
    default=1,
    show_default=True,
    metavar="N",
    help="Harvesters for each channel; each runs one job at a time.",
)
@click.option("--port", type=_PORT, metavar="PORT", help="Port of the admin site; 0 picks a free port.  [8080]")
@click.option("--proxy-port", type=_PORT, metavar="PORT", help="Port of the recording proxies.  [8000]")
@click.option("--replay-port", type=_PORT, metavar="PORT", help="Port of the replay proxy.  [8081]")
@click.option("--view-port", type=_PORT, metavar="PORT", help="Port of the viewer.  [8082]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line when everything is ready.")
@fetching
def up(home: Path | None, settings_file: Path | None, **given: Any) -> int:
    """Run a whole installation until Ctrl-C: Redis, recording proxies, indexer, scheduler, harvesters, replay, admin.

    The first start makes the database, with stock channels, templates and schedules, and prints a link that makes the
    first administrator. The link works once. A part that dies is restarted, and a line names the reason.

    SIGTERM or Ctrl-C ends the parts in order: harvesters end their crawls, finish and report their jobs; then the site,
    the proxies, the indexer and Redis end. A second signal ends crawls at once. SIGHUP, or `ghostfleet restart`,
    replaces the recording processes with the present settings.

    \b
    Exit codes:
      0    ended, as asked
      1    Redis, a proxy or the indexer died again and again, or could not finish its work at the end
      2    refused: a port is in use, another `up` runs in the home, or the database or a setting can't be used
      130  ended by a second signal
    """
    from admin.fleet import home_folder, logs
    from admin.fleet.installation_file import AlreadyUp, InstallationFile
    from admin.fleet.process import StartError, StartInterrupted
    from admin.fleet.sockets import PortError
    from admin.fleet.supervisor import RestartLimitReached
    from admin.jobs.interrupts import Interrupts
    from admin.models.errors import DatabaseRefused

    settings = _settings(home, settings_file, given)
    with ExitStack() as opened:
        try:
            if given["demo"]:
                _check_demo(settings)
            if mended := home_folder.prepare(settings.home, settings.archive.readable_by):
                click.echo(mended)
            file = opened.enter_context(InstallationFile(settings.home))
            logs.to_file(settings.home / "logs" / "up.log", settings.logs)
            interrupts = opened.enter_context(Interrupts(restarts=True))
            adjusted = _serve_demo(opened) if given["demo"] else _unchanged

            def read_again() -> Settings:
                return adjusted(_settings(home, settings_file, given))

            return _run(adjusted(settings), given, file, interrupts, read_again)
        except StartInterrupted:
            return INTERRUPTED
        except (AlreadyUp, PortError, home_folder.HomeError, StartError, DatabaseRefused) as error:
            raise InputError(str(error)) from error
        except RestartLimitReached as error:
            raise JobFailed(str(error)) from error


def _run(
    settings: Settings,
    given: dict[str, Any],
    file: InstallationFile,
    interrupts: Interrupts,
    reload: Callable[[], Settings],
) -> int:
    """Prepare the database, run the processes until a signal comes, and return the exit code."""
    from admin.models.database import open_database
    from admin.site.first_start import prepare
    from admin.up.demo_home import fill
    from admin.up.display import display_for
    from admin.up.installation import InstallationProcesses
    from admin.up.watch import Watch

    database = open_database(settings)
    link = prepare(database)
    if given["demo"] and fill(database, settings):
        click.echo("ghostfleet: the demo's domains, schedule and harvests were made", err=True)
    harvesting = _harvesting(database, given["channels"], given["harvesters"])
    display = display_for(sys.stderr if given["as_json"] else sys.stdout, as_lines=given["as_json"])
    processes = InstallationProcesses(settings, harvesting, display.say, lambda: interrupts.asked_to_stop)
    try:
        display.say("starting; this takes some seconds")
        processes.start()
        watch = Watch(processes, database, file, display, tells_jobs=given["demo"])
        watch.look()
        if given["as_json"]:
            click.echo(json.dumps(_facts(processes, settings, link)))
        else:
            for line in _welcome(processes, settings.admin.public_url, link):
                display.say(line)
        return _until_signal(processes, watch, interrupts, display, reload)
    finally:
        processes.stop(interrupts.asked_to_hurry)
        display.close()
        database.close()


def _until_signal(
    processes: InstallationProcesses,
    watch: Watch,
    interrupts: Interrupts,
    display: InstallationDisplay,
    reload: Callable[[], Settings],
) -> int:
    """Watch the processes until a signal comes, then end them in order. Return the exit code."""
    from admin.commands.processes.fleet import restart_fleet
    from admin.fleet.control_file import ControlFile

    with ControlFile(processes.fleet.settings.home) as control_file:
        while not interrupts.wait(_TICK_SECONDS):
            processes.tick()
            watch.look()
            if interrupts.asked_to_restart:
                interrupts.asked_to_restart = False
                refusal = restart_fleet(processes.fleet, reload, lambda: interrupts.asked_to_stop)
                control_file.answer(refusal, processes.fleet.pids)
    display.say("ending: harvesters finish their jobs; a second Ctrl-C ends crawls at once")

    def hurry() -> bool:
        watch.look()
        return interrupts.asked_to_hurry()

    processes.stop(hurry)
    for line in processes.fleet.failures:
        display.say(line)
    if interrupts.asked_to_hurry():
        return INTERRUPTED
    return JOB_FAILED if processes.fleet.failures else 0


def _settings(home: Path | None, settings_file: Path | None, given: dict[str, Any]) -> Settings:
    if given["demo"] and home is None:
        from admin.up.demo_home import FOLDER

        home = load_settings(None, settings_file).home / FOLDER
    chosen = {
        "admin.port": given["port"],
        "proxy.port": given["proxy_port"],
        "admin.replay_port": given["replay_port"],
        "view.port": given["view_port"],
        **fetching_settings(given),
    }
    return load_settings(home, settings_file, chosen)


def _check_demo(settings: Settings) -> None:
    from admin.up.demo_home import DemoRefused, check_home

    try:
        check_home(settings.home)
    except DemoRefused as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(
            f"the home {settings.home} can't be written to ({error.strerror}); choose another home with --home"
        ) from error


def _serve_demo(opened: ExitStack) -> Callable[[Settings], Settings]:
    """Serve the bundled site until `opened` is closed. Return what adds to settings how the site is harvested."""
    from admin.demo.garden import GardenSite
    from admin.up.demo_home import demo_settings

    return partial(demo_settings, opened.enter_context(GardenSite()))


def _unchanged(settings: Settings) -> Settings:
    return settings


def _harvesting(database: Database, wanted: Sequence[str], per_channel: int) -> Harvesting:
    from admin.harvests.dispatch.channels import list_channels
    from admin.models.transaction import COMMAND_LINE
    from admin.up.installation import Harvesting

    with database.reading(COMMAND_LINE) as reading:
        known = [channel.name for channel in list_channels(reading)]
    for name in wanted:
        if name not in known:
            raise InputError(f"--channel {name!r} is no channel; choose among {', '.join(known)}, or make it first")
    return Harvesting(tuple(dict.fromkeys(wanted)) or tuple(known), per_channel)


def _facts(processes: InstallationProcesses, settings: Settings, link: str) -> dict[str, Any]:
    """Return the fields of the JSON line."""
    addresses = dict(processes.addresses)
    site = f"http://{addresses.pop('admin')}"
    public = settings.admin.public_url or site
    return {
        "ready": True,
        "admin": site,
        "first_administrator": f"{public}{link}" if link else None,
        **addresses,
        "home": str(settings.home),
        "pids": {part.name: part.pid for part in processes.parts()},
    }


def _welcome(processes: InstallationProcesses, public_url: str, link: str) -> list[str]:
    addresses = processes.addresses
    site = f"http://{addresses['admin']}"
    lines = [
        f"the admin site is at {site}/{f', and for people at {public_url}/' if public_url else ''}",
        f"the recording proxy is at {addresses['proxy']}, the replay proxy at {addresses['replay']}",
    ]
    if link:
        lines.append(
            f"no user can log in yet; this link makes the first administrator, once: {public_url or site}{link}"
        )
    return [*lines, "Ctrl-C ends everything in order"]
