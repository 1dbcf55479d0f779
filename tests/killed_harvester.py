"""A harvester that ends itself with -9 at a chosen point, for tests: `python killed_harvester.py POINT --home …`.

POINT is a step of `admin.harvester.job_folder.JobStep`, whose state is durable at that moment, or one of

* `claimed`: the database has given the job away, and nothing is on the disk;
* `drafted`: the metadata file is written, and not yet in the archive;
* `sent`: the database has taken the report, and the folder does not know it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import click

from admin.fleet import logs
from admin.harvester import finishing
from admin.harvester.dispatch_link import DispatchLink
from admin.harvester.harvester import HarvesterProcess
from admin.harvester.job_folder import JobStep
from admin.harvests.dispatch.queue import ClaimedJob
from admin.harvests.dispatch.reports import JobResult
from admin.jobs.interrupts import Interrupts
from admin.models.database import open_database
from admin.options import common, fetching, load_settings, resolve_table

POINTS = ("claimed", *(step.value for step in JobStep), "drafted", "sent")


def die() -> None:
    """End like a process whose machine lost its power."""
    os.kill(os.getpid(), signal.SIGKILL)


@click.command()
@click.argument("point", type=click.Choice(POINTS))
@common
@click.option("--channel", required=True)
@click.option("--name", required=True)
@fetching
def main(point: str, home: Path | None, settings_file: Path | None, **given: Any) -> None:
    """Work as `ghostfleet harvester` does, up to that point."""
    flags = {"proxy.allow_private": given["allow_private"], "proxy.resolve": resolve_table(given["resolve"])}
    settings = load_settings(home, settings_file, flags)
    (settings.home / "logs").mkdir(parents=True, exist_ok=True)
    logs.to_file(settings.home / "logs" / "harvester.log", settings.logs.format)

    def at(step: JobStep) -> None:
        if step == point:
            die()

    claim, end, publish = DispatchLink.claim, DispatchLink.end, finishing.publish_metadata

    def claimed(self: DispatchLink) -> ClaimedJob | None:
        job = claim(self)
        if job is not None and point == "claimed":
            die()
        return job

    def sent(self: DispatchLink, job: ClaimedJob, result: JobResult) -> bool:
        counted = end(self, job, result)
        if point == "sent":
            die()
        return counted

    def drafted(*arguments: Any) -> None:
        if point == "drafted":
            die()
        publish(*arguments)

    DispatchLink.claim, DispatchLink.end = claimed, sent  # type: ignore[method-assign]
    finishing.publish_metadata = drafted
    with Interrupts() as interrupts:
        harvester = HarvesterProcess(
            settings,
            open_database(settings),
            channel=given["channel"],
            name=given["name"],
            interrupts=interrupts,
            note=click.echo,
            on_step=at,
        )
        harvester.run()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    main()
