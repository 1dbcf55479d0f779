"""The commands `revisit show` and `revisit now` look at the URLs of a running job, and visit URLs before all others."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.commands.jobs.steering import complete_job, steering_errors, target_of
from admin.jobs.progress import clock
from admin.options import InputError, common
from admin.units import counted

if TYPE_CHECKING:
    from frontier.reports import RevisitReport

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
    """Show the visits of a URL so far, and when it is visited again.

    Exit code 1 when the job does not know the URL, 6 when the job is not running.
    """
    from admin.jobs import steering

    canonical_url = _canonical(url)
    with steering_errors():
        found = steering.revisit(target_of(home, settings_file, name), canonical_url)
    if found is None:
        click.echo(json.dumps(None) if as_json else f"{canonical_url} is not known to job {name}")
        return 1
    click.echo(json.dumps(_as_json(found)) if as_json else "\n".join(_lines(found)))
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
    from admin.jobs import steering

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


def _as_json(found: RevisitReport) -> dict[str, object]:
    history = found.history
    return {
        "url": found.url,
        "state": found.state,
        "due_seconds": found.due_seconds,
        "since_seconds": found.since_seconds,
        "interval_seconds": history.interval_seconds if history else None,
        "visits": history.visits if history else 0,
        "changes": history.changes if history else 0,
        "unchanged_in_a_row": history.unchanged if history else 0,
        "digest": history.digest if history else "",
        "recent": [result.word for result in history.results] if history else [],
    }


def _lines(found: RevisitReport) -> list[str]:
    lines = [f"{found.url} ({found.state})"]
    if found.since_seconds is not None:
        lines.append(f"last visit  {_date(-found.since_seconds)}, {clock(found.since_seconds)} ago")
    if found.state == "waiting" and found.due_seconds is not None:
        lines.append(f"next visit  {_date(found.due_seconds)}, in {clock(found.due_seconds)}")
    elif found.state == "ended":
        lines.append("next visit  never: the job does not visit its URLs again")
    if (history := found.history) is not None:
        lines.append(f"interval    {clock(history.interval_seconds)}")
        lines.append(
            f"visits      {history.visits}, with {counted(history.changes, 'change')}; unchanged in the last"
            f" {history.unchanged}"
        )
        lines.append(f"results     {' '.join(result.word for result in history.results)}")
    return lines


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
