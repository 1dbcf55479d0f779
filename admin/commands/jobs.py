"""`ghostfleet job list` and `ghostfleet job show`: what was run in this home, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.options import InputError, common, load_settings

if TYPE_CHECKING:
    from admin.runs import Run
    from archive.settings import Settings


@click.group("job")
def job() -> None:
    """List jobs and show one."""


@job.command("list")
@common
@click.option("--collection", metavar="NAME", help="Only the jobs of this collection.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def list_jobs(home: Path | None, settings_file: Path | None, collection: str | None, as_json: bool) -> None:
    """Every run of every job in the home, oldest first within its collection."""
    for run in _runs(load_settings(home, settings_file), collection):
        state = run.state
        if as_json:
            click.echo(json.dumps({**asdict(state), "folder": str(run.folder)}))
        else:
            click.echo(f"{state.status:9} {state.seconds:8.0f} s  {state.collection}  {state.name}  {state.reason}")


@job.command("show")
@common
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def show(home: Path | None, settings_file: Path | None, name: str, as_json: bool) -> None:
    """One job's latest run (NAME as in `job list`, with or without its timestamp): its state and its reports."""
    found = [run for run in _runs(load_settings(home, settings_file), None) if name in (run.state.name, run.state.job)]
    if not found:
        raise InputError(f"there is no job {name}; `ghostfleet job list` shows those there are")
    run = found[-1]
    facts = {**asdict(run.state), "folder": str(run.folder)}
    if as_json:
        click.echo(json.dumps(facts))
        return
    for key, value in facts.items():
        click.echo(f"{key:11} {value}")
    report = run.folder / "crawl-report.txt"
    if report.exists():
        click.echo("\n" + report.read_text("utf-8").rstrip())


def _runs(settings: Settings, collection: str | None) -> Iterator[Run]:
    from admin.homefolder import collections
    from admin.runs import RunError, find_runs

    try:
        for name in [collection] if collection else collections(settings):
            yield from find_runs(settings.collection(name) / "jobs")
    except RunError as error:
        raise InputError(str(error)) from error
