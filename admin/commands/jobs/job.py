"""The commands `job list` and `job show` print runs; `commands.steering` has those that control a running job."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from admin.collections.names import CollectionName, chosen_collections
from admin.commands.jobs.attempts import COMMANDS as ATTEMPTS
from admin.commands.jobs.edits import COMMANDS as EDITS
from admin.commands.jobs.steering import COMMANDS as STEERING
from admin.options import InputError, common, load_settings
from archive.program_name import command

if TYPE_CHECKING:
    from admin.jobs.runs import Run, RunState
    from archive.settings.load import Settings

_COLUMNS: Final = ("STATE", "STARTED", "TIME", "PAGES", "URLS", "BYTES", "LEFT", "COLLECTION", "JOB", "REASON")
_NUMBERS: Final = frozenset(("TIME", "PAGES", "URLS", "BYTES", "LEFT"))
_CUT_OFF: Final = "cut off"
"""The run's state is `running`, but no process runs it: its command was killed."""


@click.group("job")
def job() -> None:
    """List and show jobs, their attempts and rejected links; stop, pause, resume or edit a job, or add seeds to it."""


for _command in (*STEERING, *EDITS, *ATTEMPTS):
    job.add_command(_command)


@job.command("list")
@common
@click.option("--collection", type=CollectionName(), metavar="NAME", help="Only jobs of this collection.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per run.")
def list_jobs(home: Path | None, settings_file: Path | None, collection: str | None, as_json: bool) -> None:
    """List all runs of all jobs in the home, by collection, oldest first."""
    settings = load_settings(home, settings_file)
    runs = list(_runs(settings, collection))
    if not runs:
        where = f"collection {collection} of {settings.home}" if collection else str(settings.home)
        click.echo(f"there are no jobs in {where}; `{command('crawl URL')}` starts one", err=True)
    elif as_json:
        for run in runs:
            click.echo(json.dumps(_facts(run), ensure_ascii=False))
    else:
        _print_table(runs)


@job.command("show")
@common
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(home: Path | None, settings_file: Path | None, name: str, as_json: bool) -> None:
    """Show the latest run of a job: its final state, what is missing, and its reports.

    NAME is the name of a job, of a run (with its timestamp, as in `job list`), or of a collection. For a collection
    the latest run is shown, after a list of all its runs when it has several jobs.
    """
    runs = list(_runs(load_settings(home, settings_file), None))
    found = [run for run in runs if name in (run.state.name, run.state.job)]
    of_collection = [] if found else [run for run in runs if run.state.collection == name]
    if not found and not of_collection:
        raise InputError(f"there is no job and no collection {name}; `{command('job list')}` lists the jobs")
    run = max(
        found or of_collection, key=lambda run: (run.state.started or run.folder.name[-14:], run.folder.name[-14:])
    )
    if as_json:
        click.echo(json.dumps({**_facts(run), **_report(run), **_seeds(run)}, ensure_ascii=False))
        return
    if len({run.state.job for run in of_collection}) > 1:
        _print_table(of_collection)
        click.echo()
    for line in _lines(run):
        click.echo(line)


def _lines(run: Run) -> Iterator[str]:
    """Yield the lines about one run for people: first what is missing, then the results."""
    from admin.jobs.progress.display import clock
    from admin.jobs.states import MEANINGS
    from admin.units import counted, human_bytes

    state, report = run.state, _report(run)
    shown = _state_of(run)
    meaning = (
        "its command was killed; run the same command again to resume" if shown == _CUT_OFF else MEANINGS[state.status]
    )
    yield f"{state.name} {shown}{f' ({state.reason})' if state.reason else ''}; {meaning}"
    yield from (f"  {'missing':10} {line}" for line in state.missing)
    yield from _rows(
        collection=state.collection,
        started=state.started or "-",
        ended=state.ended or "-",
        worked=f"{clock(state.seconds)}, in {counted(state.sittings, 'attempt')}",
        pages=f"{state.pages}, {state.left} URLs left, {state.failed} failed",
        URLs=f"{state.urls}, {human_bytes(state.bytes)}",
        reports=str(run.folder),
    )
    if files := report.get("files"):
        yield f"  {'files':10} {len(files)} in {run.folder.parent.parent / 'archive'}"
        yield from (f"  {'':10} {name}" for name in files)
    crawl_report = run.folder / "crawl-report.txt"
    if crawl_report.exists():
        yield ""
        yield crawl_report.read_text("utf-8").rstrip()


def _rows(**values: str) -> Iterator[str]:
    yield from (f"  {name:10} {text}" for name, text in values.items())


def _facts(run: Run) -> dict[str, Any]:
    return {**asdict(run.state), "status": _state_of(run), "folder": str(run.folder)}


def _report(run: Run) -> dict[str, Any]:
    """Return the report of a run that has ended; empty for a running one, whose file is of an earlier attempt."""
    return run.report() if run.state.ended else {}


def _seeds(run: Run) -> dict[str, Any]:
    """Return the ends of the seeds of a run that has ended."""
    return {"seeds": list(run.seed_ends())} if run.state.ended else {}


def _counted(run: Run) -> Run:
    """Return the run with its counts; those of a run that has not ended are computed from its crawl.log."""
    from archive.rotated_log import log_exists

    if run.state.ended or not log_exists(run.crawl_log):
        return run
    from admin.jobs.progress.tally import JobTally, LogFollower

    tally = JobTally()
    for line in LogFollower(run.crawl_log).lines():
        tally.add(line)
    total = tally.all.total
    return replace(run, state=replace(run.state, urls=total.urls, bytes=total.bytes))


def _state_of(run: Run) -> str:
    from admin.jobs.runs import is_locked
    from admin.jobs.states import JobState

    if run.state.status is JobState.RUNNING and not is_locked(run):
        return _CUT_OFF
    return run.state.status.value


def _print_table(runs: Sequence[Run]) -> None:
    rows = [_COLUMNS, *(_row(run, run.state) for run in runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(_COLUMNS, row, widths, strict=True)
        click.echo(
            "  ".join(
                f"{text:>{width}}" if name in _NUMBERS else f"{text:{width}}" for name, text, width in cells
            ).rstrip()
        )


def _row(run: Run, state: RunState) -> tuple[str, ...]:
    from admin.jobs.progress.display import clock
    from admin.units import human_bytes

    started = state.started[:19].replace("T", " ") or "-"
    counts = (str(state.pages), str(state.urls), human_bytes(state.bytes), str(state.left))
    return (_state_of(run), started, clock(state.seconds), *counts, state.collection, state.name, state.reason)


def _runs(settings: Settings, collection: str | None) -> Iterator[Run]:
    from admin.jobs.runs import RunError, find_runs

    try:
        for name in chosen_collections(settings, [collection] if collection else []):
            yield from map(_counted, find_runs(settings.collection(name) / "jobs"))
    except RunError as error:
        raise InputError(str(error)) from error
