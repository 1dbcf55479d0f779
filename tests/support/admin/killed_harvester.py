"""A harvester that ends itself with -9 at a chosen point: `python -m support.admin.killed_harvester POINT --home …`.

POINT is a step of `admin.harvester.job_folder.JobStep`, whose state is durable at that moment, or one of

* `claimed`: the database has given the job away, and nothing is on the disk;
* `folded`: the job's folder is begun, and does not have its name;
* `half-prepared`: seeds and profile are written, and harvestInfo is not;
* `started`: the crawl's process runs, and the folder does not know it;
* `summed`: the statistics are written, and the folder does not know it;
* `drafted`: the metadata file is written, and not yet in the archive;
* `handed-over`: the storage has the data files, and the folder does not know it;
* `sent`: the database has taken the report, and the folder does not know it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from admin.fleet import logs
from admin.harvester import finishing, job_folder
from admin.harvester import harvester as harvester_module
from admin.harvester.crawl_process import CrawlProcess
from admin.harvester.dispatch_link import DispatchLink
from admin.harvester.harvester import HarvesterProcess
from admin.harvester.job_folder import INFO_FILE, JobFolder, JobStep
from admin.harvests.dispatch.queue import ClaimedJob
from admin.harvests.dispatch.reports import JobResult
from admin.jobs.interrupts import Interrupts
from admin.models.database import open_database
from admin.options import common, fetching, load_settings, resolve_table
from archive.settings.load import Settings

BETWEEN = ("folded", "half-prepared", "started", "summed", "drafted", "handed-over")
POINTS = ("claimed", *(step.value for step in JobStep), *BETWEEN, "sent")


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
    logs.to_file(settings.home / "logs" / "harvester.log", settings.logs)

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

    write, save_result, hand_over = job_folder._write_json, JobFolder.save_result, finishing.hand_over

    def written(path: Path, value: Mapping[str, Any], **how: Any) -> None:
        if point == "folded" and path.name == "state.json" and path.parent.name.startswith("."):
            die()
        if point == "half-prepared" and path.name == INFO_FILE:
            die()
        write(path, value, **how)

    def summed(self: JobFolder, result: JobResult) -> None:
        save_result(self, result)
        if point == "summed":
            die()

    def handed_over(*arguments: Any) -> dict[str, str]:
        failed = hand_over(*arguments)
        if point == "handed-over":
            die()
        return failed

    class Started(CrawlProcess):
        def __init__(self, settings: Settings, folder: JobFolder) -> None:
            super().__init__(settings, folder)
            if point == "started":
                die()

    job_folder._write_json, JobFolder.save_result = written, summed  # type: ignore[method-assign]
    finishing.hand_over, harvester_module.CrawlProcess = handed_over, Started  # type: ignore[misc]
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
    main()
