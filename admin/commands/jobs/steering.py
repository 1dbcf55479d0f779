"""Commands such as `job stop`, `pause`, `resume`, `status` and `add-seed` control a job from another terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from admin.options import InputError, common, load_settings
from admin.units import counted

if TYPE_CHECKING:
    from admin.jobs.control.steering import FoundJob

NOT_RUNNING: Final = 6
"""Exit code when the job is not running."""
_BY_OPERATOR: Final = "by an operator"
_MOST_FAILURES: Final = 30
"""The number of looks of `--watch` in a row without Redis after which the command gives up."""


class NotRunningError(InputError):
    """The job is not running. The exit code is 6."""

    exit_code = NOT_RUNNING


def complete_job(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the job names that begin with `incomplete`, for the shell; none when the settings can't be read."""
    from admin.jobs.control.steering import names
    from admin.jobs.runs import RunError

    try:
        settings = load_settings(ctx.params.get("home"), ctx.params.get("settings_file"))
        return [CompletionItem(name) for name in names(settings) if name.startswith(incomplete)]
    except (InputError, RunError):
        return []


def _named[F: Callable[..., Any]](function: F) -> F:
    """Add the argument NAME and the options `--home` and `--settings`."""
    return common(click.argument("name", shell_complete=complete_job)(function))


_REASON = click.option(
    "--reason",
    default=_BY_OPERATOR,
    metavar="TEXT",
    help="Reason to show in `job status` and the reports.  [by an operator]",
)


@click.command("stop")
@_named
@_REASON
@click.option("--wait", is_flag=True, help="Wait until the job has ended.")
def stop(home: Path | None, settings_file: Path | None, name: str, reason: str, wait: bool) -> None:
    """Stop a running job.

    Visits in progress are finished and the reports are written; the job's state is then `stopped`. Run the crawl's
    command again to resume the job. NAME is the name of a job, or of a run (with its timestamp, as in `job list`).
    """
    from admin.jobs.control import steering

    with steering_errors():
        target = target_of(home, settings_file, name)
        click.echo(f"{target.name} is stopping: {_visits(steering.stop(target, reason))}")
        if wait:
            facts = steering.wait_until_ended(target)
            why = f" ({facts['reason']})" if facts.get("reason") else ""
            click.echo(f"{target.name} {facts.get('status', 'has ended')}{why}")


@click.command("pause")
@_named
@_REASON
def pause(home: Path | None, settings_file: Path | None, name: str, reason: str) -> None:
    """Pause a running job.

    Visits in progress are finished, and no visit begins until `job resume`, even when the crawl is restarted.
    """
    from admin.jobs.control import steering

    with steering_errors():
        target = target_of(home, settings_file, name)
        click.echo(f"{target.name} is paused: {_visits(steering.pause(target, reason))}")


@click.command("resume")
@_named
def resume(home: Path | None, settings_file: Path | None, name: str) -> None:
    """Resume a paused job."""
    from admin.jobs.control import steering

    with steering_errors():
        target = target_of(home, settings_file, name)
        click.echo(f"{target.name} {'is resumed' if steering.resume(target) else 'was not paused by an operator'}")


@click.command("render-workers")
@_named
@click.argument("at_once", type=click.IntRange(1, 256), metavar="N")
def render_workers(home: Path | None, settings_file: Path | None, name: str, at_once: int) -> None:
    """Let a running job render N pages of its queue of renders at once.

    The command that runs the job starts further render workers within a second. Their number grows, and does not
    shrink until the job ends. Only pages with `rendering: asynchronous` are in this queue.
    """
    from admin.jobs.control import steering

    with steering_errors():
        target = target_of(home, settings_file, name)
        steering.set_render_workers(target, at_once)
        click.echo(f"{target.name} renders up to {counted(at_once, 'page')} at once")


@click.command("status")
@_named
@click.option("--json", "as_json", is_flag=True, help="Print JSON; with --watch, one object per line.")
@click.option("--watch", is_flag=True, help="Print the status every second until the job has ended.")
def status(home: Path | None, settings_file: Path | None, name: str, as_json: bool, watch: bool) -> None:
    """Show the progress of a running job: its counts, what its hosts wait for, and why it is paused or stopping.

    Exit code 6 when the job is not running; one line says how it ended and which command resumes it.
    """
    from admin.jobs.control import steering
    from frontier.store import FrontierUnavailable

    seen, failures = False, 0
    with steering_errors():
        target = target_of(home, settings_file, name)
        while True:
            try:
                found = steering.status(target)
            except steering.NotRunning:
                if seen:
                    facts = steering.wait_until_ended(target)  # its reports may still be in progress
                    click.echo(json.dumps(facts) if as_json else target.ended_line())
                    return
                if as_json:
                    click.echo(json.dumps(target.facts()))
                raise
            except FrontierUnavailable:
                failures += 1
                if not seen or failures > _MOST_FAILURES:
                    raise
                Event().wait(1)  # a crawl that ends stops its Redis before its reports are complete
                continue
            seen, failures = True, 0
            click.echo(json.dumps(found.as_json(), ensure_ascii=False) if as_json else "\n".join(found.lines()))
            if not watch:
                return
            Event().wait(1)


@click.command("add-seed")
@_named
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@click.option("--again", is_flag=True, help="Visit seeds again that the job has visited already.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per seed.")
def add_seed(
    home: Path | None, settings_file: Path | None, name: str, urls: tuple[str, ...], again: bool, as_json: bool
) -> int:
    """Add seeds to a running job and extend its scope by them.

    One line per seed says whether it was added, already known or refused. Exit code 1 when a seed was refused.
    """
    from admin.jobs.control import steering
    from frontier.definition.job import JobError, Seed

    try:
        seeds = tuple(dict.fromkeys(Seed.parse(url) for url in urls))
    except JobError as error:
        raise InputError(str(error)) from error
    with steering_errors():
        answers = steering.add_seeds(target_of(home, settings_file, name), seeds, again=again)
    for answer in answers:
        why = f": {answer.reason}" if answer.reason else ""
        click.echo(json.dumps(asdict(answer)) if as_json else f"{answer.outcome:8} {answer.url}{why}")
    return int(any(answer.outcome == "refused" for answer in answers))


@click.command("groups")
@_named
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="GROUP",
    help="Replace all groups by this one; may be given several times.",
)
@click.option("--none", "removes", is_flag=True, help="Remove all groups.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def groups(
    home: Path | None, settings_file: Path | None, name: str, changes: tuple[str, ...], removes: bool, as_json: bool
) -> None:
    """Show or replace the queue groups of a running job.

    GROUP is a name, members, and then parallel=VISITS and delay=SECONDS, such as
    "shop *.example.org,192.0.2.0/24 parallel=1 delay=5", or list:FILE for a file in the folder `groups` of the home.
    All workers obey from their next URL on. Visits in progress are finished.
    """
    from admin.jobs.control import steering
    from frontier.definition.job import JobError

    if changes and removes:
        raise InputError("--set and --none exclude each other; give one of them")
    with steering_errors():
        target = target_of(home, settings_file, name)
        try:
            found = steering.set_groups(target, changes) if changes or removes else steering.groups(target)
        except JobError as error:
            raise InputError(str(error)) from error
    for group in found:
        text = (
            f"{group.name}: {counted(group.visits, 'visit')} of at most {group.parallel} in progress,"
            f" {group.visited} so far, {group.hosts} hosts, {group.waiting} waiting, delay {group.delay_seconds:g} s;"
            f" {group.members}"
        )
        click.echo(json.dumps(asdict(group)) if as_json else text)
    if not found and not as_json:
        click.echo(f"{target.name} has no queue groups")


COMMANDS: Final = (stop, pause, resume, status, add_seed, render_workers, groups)


def target_of(home: Path | None, settings_file: Path | None, name: str) -> FoundJob:
    """Return the job with this name. Raises NoJob."""
    from admin.jobs.control.steering import find

    return find(load_settings(home, settings_file), name)


@contextmanager
def steering_errors() -> Iterator[None]:
    """Raise expected errors of the block as InputError, with exit code 2 or 6."""
    from admin.jobs.control.steering import NoJob, NotRunning
    from admin.jobs.runs import RunError
    from frontier.store import FrontierUnavailable

    try:
        yield
    except NotRunning as error:
        raise NotRunningError(str(error)) from error
    except (NoJob, RunError, FrontierUnavailable) as error:
        raise InputError(str(error)) from error


def _visits(count: int) -> str:
    return f"{counted(count, 'visit')} in progress" if count else "no visit is in progress"
