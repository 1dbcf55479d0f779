"""The commands `intake` and `frontier` let other programs feed a running job, and take URLs of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from admin.commands.jobs.steering import NotRunningError
from admin.options import InputError, common, load_settings

if TYPE_CHECKING:
    from admin.jobs.control.feeding import FeedLook
    from admin.jobs.control.steering import FoundJob
    from archive.settings.load import Settings

_JOB = click.option(
    "--job", required=True, metavar="NAME", help="Name of a running job, or of its run with its timestamp."
)


@click.group("intake")
def intake() -> None:
    """Take URLs for a running job from the messages of other programs."""


@intake.command("amqp")
@common
@_JOB
@click.option(
    "--url",
    metavar="URL",
    help="Broker, such as amqp://USER@HOST:5672/. Other users of this machine see the command line, so a password"
    " belongs in the setting.  [setting intake.url]",
)
@click.option("--queue", metavar="NAME", help="Queue of the messages.  [setting intake.queue]")
@click.option("--exchange", metavar="NAME", help="Exchange to which the queue is bound.  [setting intake.exchange]")
def amqp(home: Path | None, settings_file: Path | None, job: str, **given: str | None) -> None:
    """Take URLs from the messages of an AMQP broker, in Umbra's form or in ours.

    A message is acknowledged when its URL stands in the frontier of the job. A message that can't be used goes to the
    queue NAME.rejected. The command ends on SIGTERM, or when the job ends. Each line of its output is JSON. The page
    "Feed a crawl from other programs" has the forms of messages.

    \b
    Exit codes:
      0    ended: as asked, or since the job has ended
      2    bad input, or kombu is not installed
      6    the job is not running
    """
    from admin.intake.broker import BrokerMissing, require_kombu
    from admin.intake.process import MessageIntake
    from admin.jobs.interrupts import run_until_signal
    from archive.settings.values.redacted import without_secrets

    settings = load_settings(home, settings_file, {f"intake.{name}": value for name, value in given.items()})
    if not settings.intake.url:
        raise InputError("no broker is named; give --url, or set intake.url to amqp://HOST:5672/")
    try:
        require_kombu()
    except BrokerMissing as error:
        raise InputError(str(error)) from error
    facts = {"queue": settings.intake.queue, "broker": without_secrets(settings.intake.url)}
    stop = threading.Event()
    with _running(settings, job) as target, target.frontier() as frontier:
        facts["job"] = target.name

        def tell(look: FeedLook) -> None:
            _print({"state": look.state, "reason": look.reason, **facts})

        taking = MessageIntake(target, frontier, settings.intake, stop, tell)
        last = run_until_signal(taking.run, stop)
        _print({"state": "ended", "reason": last.reason, **facts, **taking.counts.as_json()})


@click.group("frontier")
def frontier() -> None:
    """Let other crawlers take the URLs of a running job."""


@frontier.command("serve")
@common
@_JOB
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help="Address of the service; port 0 picks a free port.  [settings urlfrontier.host and urlfrontier.port]",
)
def serve(home: Path | None, settings_file: Path | None, job: str, listen: str | None) -> None:
    """Serve the queues of a job by the gRPC interface of URLFrontier.

    A URL that GetURLs hands out is leased, and PutURLs ends the lease with a known item. The command ends on SIGTERM,
    or when the job ends. The page "Feed a crawl from other programs" says which calls there are.

    \b
    Exit codes:
      0    ended: as asked, or since the job has ended
      2    bad input, a port in use, or grpcio is not installed
      6    the job is not running
    """
    from admin.url_frontier.libraries import GrpcMissing, require_grpc

    settings = load_settings(home, settings_file, _address(listen))
    try:
        require_grpc()
    except GrpcMissing as error:
        raise InputError(str(error)) from error
    from admin.jobs.interrupts import run_until_signal
    from admin.url_frontier.server import ListenRefused, serve_until

    stop = threading.Event()
    with _running(settings, job) as target, target.frontier() as opened:
        try:
            last = run_until_signal(
                lambda: serve_until(
                    target,
                    opened,
                    settings.urlfrontier,
                    stop,
                    lambda address: _print({"ready": True, "urlfrontier": address, "job": target.name}),
                ),
                stop,
            )
        except ListenRefused as error:
            raise InputError(str(error)) from error
        _print({"state": "ended", "reason": last.reason, "job": target.name})


def _address(listen: str | None) -> dict[str, Any]:
    """Return the settings that `--listen` means. Raises InputError."""
    if listen is None:
        return {}
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal():
        raise InputError(f"--listen {listen!r} can't be read; write HOST:PORT, for instance 127.0.0.1:7071")
    return {"urlfrontier.host": host.removeprefix("[").removesuffix("]"), "urlfrontier.port": port}


@contextmanager
def _running(settings: Settings, name: str) -> Iterator[FoundJob]:
    """Yield the job of this name. Errors of the block that people can mend become InputError, exit code 2 or 6."""
    from admin.fleet import logs
    from admin.jobs.control.steering import NoJob, NotRunning, find
    from admin.jobs.runs import RunError
    from frontier.store import FrontierUnavailable

    logs.to_stderr(settings.logs)
    try:
        yield find(settings, name)
    except NotRunning as error:
        raise NotRunningError(str(error)) from error
    except (NoJob, RunError, FrontierUnavailable) as error:
        raise InputError(str(error)) from error


def _print(line: dict[str, Any]) -> None:
    click.echo(json.dumps(line, ensure_ascii=False))
