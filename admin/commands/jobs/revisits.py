"""The commands `revisit show` and `revisit now` look at the URLs of a running job, and visit URLs before all others."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import click

from admin.commands.jobs.steering import complete_job, steering_errors, target_of
from admin.options import InputError, common

_JOB = click.option(
    "--job", "name", required=True, metavar="NAME", shell_complete=complete_job, help="Name of the job, or of a run."
)


@click.group("revisit")
def revisit() -> None:
    """Show when a running job visits a URL again, or let it visit URLs now."""


@revisit.command("show")
@common
@_JOB
@click.argument("url", metavar="URL")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(home: Path | None, settings_file: Path | None, name: str, url: str, as_json: bool) -> int:
    """Show the history of a URL: its visits, changes and captures, and when and why it is visited again.

    Exit code 1 when the job does not know the URL, 6 when the job is not running.
    """
    from admin.jobs.control import steering
    from admin.jobs.control.url_history import history_lines

    canonical_url = _canonical(url)
    with steering_errors():
        found = steering.history(target_of(home, settings_file, name), canonical_url)
    if found is None:
        click.echo(json.dumps(None) if as_json else f"{canonical_url} is not known to job {name}")
        return 1
    click.echo(json.dumps(found.model_dump()) if as_json else "\n".join(history_lines(found, time.time())))
    return 0


@revisit.command("now")
@common
@_JOB
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def now(home: Path | None, settings_file: Path | None, name: str, urls: tuple[str, ...], as_json: bool) -> int:
    """Visit URLs of a running job before all others, also URLs that were visited before.

    A URL must be in the job's scope. The delay of its host and of its queue group still holds. Exit code 1 when a URL
    was refused.
    """
    from admin.jobs.control import steering

    wanted = tuple(dict.fromkeys(_canonical(url) for url in urls))
    with steering_errors():
        answers = steering.visit_now(target_of(home, settings_file, name), wanted)
    for answer in answers:
        why = f": {answer.reason}" if answer.reason else ""
        click.echo(json.dumps(asdict(answer)) if as_json else f"{answer.outcome:8} {answer.url}{why}")
    return int(any(answer.outcome == "refused" for answer in answers))


def _canonical(url: str) -> str:
    from frontier.definition.job import JobError, Seed

    try:
        return Seed.parse(url).url
    except JobError as error:
        raise InputError(str(error).replace("seed ", "URL ", 1)) from error
