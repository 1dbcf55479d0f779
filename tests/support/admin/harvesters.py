"""Harvesters for tests: the admin's database of a home, jobs in it, sites on loopback names, and the real command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from sqlalchemy import select

from admin.harvests.dispatch.listing import JobView, show_job
from admin.harvests.dispatch.queue import submit_jobs
from admin.harvests.dispatch.steering import JobCommandInput, Verb, give_command, list_commands
from admin.models.database import Database, open_database
from admin.models.domain_tables import Domain
from admin.models.harvest_tables import Channel, Harvest
from admin.models.job_tables import DomainHistory, Harvester, HarvestJob, JobConfiguration, JobStatus, StopReason
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import Settings
from support.admin.job_rows import add_channel, add_domain, add_harvest
from support.processes.ghostfleet_command import ROOT, processes_of
from support.processes.waiting import until

POLITE_ENOUGH: Final[Mapping[str, Any]] = {
    "politeness": {"min_delay_seconds": 0, "max_delay_seconds": 0, "delay_factor": 0, "max_retries": 0}
}
FAST: Final = {
    "GHOSTFLEET_HARVESTER__PULL_SECONDS": "0.1",
    "GHOSTFLEET_HARVESTER__LOOP_SECONDS": "0.2",
    "GHOSTFLEET_HARVESTER__LOOK_SECONDS": "0.1",
    "GHOSTFLEET_HARVESTER__UPLOAD_RETRY_SECONDS": "0.1",
    "GHOSTFLEET_HARVESTER__MIN_SPACE_LEFT": "0",
}


@dataclass
class Wanted:
    """A domain of a job, with its limits."""

    name: str
    max_bytes: int = -1
    max_objects: int = -1
    max_rate: int = 0


@dataclass
class Admin:
    """The admin's database of a home, as tests fill it and look into it."""

    settings: Settings
    database: Database = field(init=False)

    def __post_init__(self) -> None:
        self.database = open_database(self.settings)
        with self.database.transaction(COMMAND_LINE) as transaction:
            if transaction.session.scalar(select(Channel.id).limit(1)) is None:
                add_channel(transaction)

    def job(
        self,
        domains: Sequence[Wanted],
        seeds: Sequence[str],
        *,
        profile: Mapping[str, Any] | None = None,
        harvest_limits: tuple[int, int] = (-1, -1),
        harvest: str = "weekly news",
        **values: Any,
    ) -> int:
        """Add a NEW job; its number."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            session = transaction.session
            channel = session.scalars(select(Channel).order_by(Channel.id)).first()
            assert channel is not None
            row = session.scalar(select(Harvest).where(Harvest.name == harvest))
            row = row or add_harvest(transaction, channel, harvest)
            row.max_bytes, row.max_objects = harvest_limits
            for each in domains:
                if session.scalar(select(Domain.id).where(Domain.name == each.name)) is None:
                    add_domain(transaction, each.name)
            known = {domain.name: domain for domain in session.scalars(select(Domain))}
            job = HarvestJob(
                harvest_id=row.id,
                run_number=values.pop("run_number", 0),
                channel_id=channel.id,
                collection=row.collection,
                template_name="default",
                template_version=1,
                profile={"scope": "domain", **POLITE_ENOUGH, **(profile or {})},
                seeds="\n".join(seeds),
                created=transaction.now,
                configurations_count=len(domains),
                facts={"harvest": harvest, "audience": "public", "comments": "of Bücher & more", "schedule": "weekly"},
                harvest_error="",
                harvest_error_details="",
                upload_error="",
                upload_error_details="",
                configurations=[
                    JobConfiguration(
                        position=at,
                        configuration_id=known[each.name].configurations[0].id,
                        domain_name=each.name,
                        configuration_name="defaultconfig",
                        expected_objects=100,
                        max_bytes=each.max_bytes,
                        max_objects=each.max_objects,
                        max_rate=each.max_rate,
                        reason="",
                    )
                    for at, each in enumerate(domains)
                ],
                **values,
            )
            session.add(job)
            session.flush()
            return job.id

    def submit(self) -> int:
        """Do what the scheduler does: hand NEW jobs out."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            return submit_jobs(transaction)

    def show(self, job_id: int) -> JobView:
        """The job as pages see it."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            return show_job(transaction, job_id)

    def await_status(self, job_id: int, *statuses: JobStatus, within: float = 100) -> JobView:
        """The job once it is in one of these states; meanwhile NEW jobs are handed out."""

        def reached() -> JobView | None:
            self.submit()
            job = self.show(job_id)
            if job.status in statuses:
                return job
            assert job.status not in (JobStatus.DONE, JobStatus.FAILED), (job.status, job.harvest_error)
            return None

        return until(reached, what=f"job {job_id} in {statuses}", within=within)

    def ended(self, job_id: int, within: float = 100) -> JobView:
        """The job once its end was reported. A job that was resubmitted has the end of the other one."""
        job = self.await_status(job_id, JobStatus.DONE, JobStatus.FAILED, JobStatus.RESUBMITTED, within=within)
        return job if job.resubmitted_as_id is None else self.ended(job.resubmitted_as_id, within)

    def results(self, job_id: int) -> dict[str, tuple[int, int, int, StopReason]]:
        """Objects, bytes, new bytes and stop reason of each domain of a job."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            rows = transaction.session.execute(
                select(Domain.name, DomainHistory)
                .join(Domain, Domain.id == DomainHistory.domain_id)
                .where(DomainHistory.job_id == job_id)
            ).all()
        return {name: (row.objects, row.bytes, row.new_bytes, StopReason(row.stop_reason)) for name, row in rows}

    def command(self, job_id: int, verb: Verb, **arguments: Any) -> int:
        """Give a command to a running job; its number."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            return give_command(transaction, job_id, JobCommandInput(verb=verb, **arguments)).id

    def outcome(self, job_id: int, command_id: int) -> str:
        """What came of a command, once the harvester has said it."""

        def said() -> str | None:
            with self.database.transaction(COMMAND_LINE) as transaction:
                found = {each.id: each.outcome for each in list_commands(transaction, job_id) if each.done}
            return found.get(command_id)

        return until(said, what=f"the outcome of command {command_id}", within=60)

    def harvester(self) -> Harvester:
        """The row of the only harvester."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            return transaction.session.scalars(select(Harvester)).one()


class RunningHarvester:
    """`ghostfleet harvester`, or a program of the tests in its place; it is gone at the end of the `with` block."""

    def __init__(
        self, home: Path, *flags: str, program: Sequence[str] = ("-m", "admin.cli", "harvester"), **environment: str
    ) -> None:
        self.home = home
        self.output = home.parent / f"harvester-{os.getpid()}-{id(self)}.txt"
        given = ("--home", str(home), "--channel", "FOCUSED", "--name", "h1", "--allow-private", *flags)
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, *program, *given],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, **FAST, **environment},
            )

    @property
    def said(self) -> str:
        """What it has written so far."""
        return self.output.read_text("utf-8", "replace")

    def kill(self) -> None:
        """End it with -9."""
        self.process.kill()
        self.process.wait(30)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it, not to its children."""
        self.process.send_signal(number)

    def ended(self, within: float = 100) -> int:
        """Its exit code, waited for."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the harvester does not end; it said {self.said}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(20)
        if error is not None:
            print(self.said)
        until(lambda: not processes_of(self.home), what=f"the end of all processes of {self.home}", within=60)


def folders(home: Path, which: str = "jobs") -> list[Path]:
    """The job folders of a home, oldest first."""
    place = home / "harvester" / which
    return sorted(path for path in place.iterdir() if not path.name.startswith(".")) if place.is_dir() else []


def told(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found
