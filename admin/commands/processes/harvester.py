"""`ghostfleet harvester` runs the jobs of one channel on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from admin.options import InputError, JobFailed, child_options, common, fetching, fetching_settings, load_settings


@click.command("harvester")
@common
@click.option("--channel", required=True, metavar="NAME", help="Channel whose jobs are run.")
@click.option("--name", metavar="NAME", help="Name of this harvester, kept over restarts.  [machine:channel]")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="End after so many jobs.  [no end]")
@fetching
@child_options
def harvester(home: Path | None, settings_file: Path | None, **given: Any) -> None:
    """Run the jobs of a channel on this machine, one after another, until a signal comes.

    At the start, jobs that a killed harvester left behind are documented, uploaded and reported. SIGTERM ends a crawl
    in order and reports its job; a second one ends it at once. NetarchiveSuite calls this program
    HarvestControllerApplication.

    \b
    Exit codes:
      0    ended, as asked
      2    bad input, such as an unknown channel
    """
    from admin.fleet import logs
    from admin.fleet.child import ParentLink
    from admin.fleet.home_folder import HomeError
    from admin.harvester.harvester import HarvesterProcess, HarvesterRefused, default_name
    from admin.jobs.interrupts import Interrupts
    from admin.models.database import open_database
    from admin.models.errors import DatabaseRefused, UseCaseError

    settings = load_settings(home, settings_file, fetching_settings(given))
    channel = given["channel"]
    standing = ParentLink.attach(
        given["title"] or f"harvester {channel}", given["ready_fd"], given["lifeline_fd"], given["held_fds"]
    )
    if standing.is_absent:
        (settings.home / "logs").mkdir(parents=True, exist_ok=True)
        logs.to_file(settings.home / "logs" / "harvester.log", settings.logs)
    else:
        logs.to_stderr(settings.logs)
    with Interrupts() as interrupts:
        try:
            database = open_database(settings)
            worker = HarvesterProcess(
                settings,
                database,
                channel=channel,
                name=given["name"] or default_name(channel),
                interrupts=interrupts,
                note=click.echo,
            )
            worker.run(most_jobs=given["jobs"], registered=standing.report_ready)
        except (HarvesterRefused, HomeError, DatabaseRefused, UseCaseError) as error:
            standing.report_unfit(str(error))
            raise InputError(str(error)) from error


@click.command("_harvest-job", hidden=True)
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--job", required=True)
@click.option("--presence-fd", type=int, default=-1)
@child_options
def harvest_job(folder: Path, job: str, presence_fd: int, **given: Any) -> int:
    """Crawl one job of a harvester."""
    from admin.fleet import logs
    from admin.fleet.child import ParentLink
    from admin.harvester.job_process import CannotBegin, run_job

    standing = ParentLink.attach(given["title"], given["ready_fd"], given["lifeline_fd"], given["held_fds"])
    settings = load_settings(None, None)
    logs.to_stderr(settings.logs)
    try:
        return run_job(settings, folder, job, presence_fd, lambda place: standing.report_ready(run=place))
    except CannotBegin as error:
        standing.report_unfit(str(error))
        raise JobFailed(str(error)) from error
