"""The use cases of the dispatch as one harvester calls them: each in a transaction of its own."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from admin.harvests.dispatch import incidents, queue, reports
from admin.harvests.dispatch.harvesters import Registration, announce, refuse_registration, register
from admin.harvests.dispatch.observations import Observations
from admin.harvests.dispatch.queue import TOO_LATE, ClaimedJob
from admin.harvests.dispatch.reports import JobResult, PendingCommand
from admin.harvests.domains.passwords import DomainLogin, logins_of_job
from admin.models.database import Database
from admin.models.errors import DatabaseRefused, NotFound, UseCaseError
from admin.models.job_tables import HarvesterState
from admin.models.people_tables import Role
from admin.models.transaction import Actor, Door
from admin.notifications.events import Event
from admin.notifications.outbox import notify
from archive.steady_work import SteadyWork

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DispatchLink:
    """The link calls the dispatch for one harvester."""

    database: Database
    name: str
    channel: str
    home: str = ""
    """The name of the harvester's home."""

    @property
    def actor(self) -> Actor:
        """The harvester as the audit names it."""
        return Actor(self.name, Role.OPERATOR, Door.HARVESTER, address=socket.gethostname())

    def register(self, free_bytes: int) -> None:
        """Register for the channel. Raises NotFound for an unknown one, InvalidInput for a name that can't be used."""
        registration = Registration(self.name, self.channel, socket.gethostname(), os.getpid(), free_bytes, self.home)
        try:
            with self.database.transaction(self.actor) as transaction:
                register(transaction, registration)
        except NotFound:
            with self.database.transaction(self.actor) as transaction:
                refuse_registration(transaction, registration)
            raise

    def announce(self, state: HarvesterState, free_bytes: int, *, why: str = "", job_id: int | None = None) -> None:
        """Say what this harvester does now."""
        with self.database.transaction(self.actor) as transaction:
            announce(transaction, self.name, state, home=self.home, why=why, job_id=job_id, free_bytes=free_bytes)

    def notify(self, event: Event, subject: str, facts: Mapping[str, Any]) -> None:
        """Notify the subscribers of an event. A database that does not answer is logged and stops nothing."""
        said = {"harvester": self.name, "channel": self.channel, **facts}
        try:
            with self.database.transaction(self.actor) as transaction:
                notify(transaction, event, subject, said)
        except (DatabaseRefused, UseCaseError) as error:
            log.warning("the users were not notified of %r: %s", subject, error)

    def claim(self) -> ClaimedJob | None:
        """Take the oldest job that waits for this channel; None when there is none."""
        with self.database.transaction(self.actor) as transaction:
            return queue.claim_job(transaction, self.name, self.home)

    def logins(self, job: ClaimedJob) -> list[DomainLogin]:
        """Return the passwords that the job's configurations use. Raises IllegalState when one can't be decrypted."""
        with self.database.transaction(self.actor) as transaction:
            return logins_of_job(transaction, job.id)

    def unfinished(self) -> list[ClaimedJob]:
        """Return the jobs that this harvester has taken and has not reported the end of."""
        with self.database.transaction(self.actor) as transaction:
            return queue.unfinished_jobs(transaction, self.name, self.home)

    def progress(
        self,
        job: ClaimedJob,
        state: str,
        progress: Mapping[str, Any],
        hosts: Sequence[Mapping[str, Any]] = (),
        *,
        run_name: str = "",
        sample: bool = True,
        seen: Observations | None = None,
    ) -> list[PendingCommand]:
        """Report on a running job. Return the commands that wait for it."""
        with self.database.transaction(self.actor) as transaction:
            return reports.report_progress(
                transaction, job.id, job.token, state, progress, hosts, run_name=run_name, sample=sample, seen=seen
            )

    def command_done(
        self, job: ClaimedJob, command_id: int, outcome: str, answer: Mapping[str, Any] | None = None
    ) -> None:
        """Say what came of a command, with the URLs that a question asked for."""
        with self.database.transaction(self.actor) as transaction:
            reports.report_command(transaction, job.id, job.token, command_id, outcome, answer)

    def crawl_killed(self, job: ClaimedJob, reason: str) -> None:
        """Report that the crawl was killed, as it did not end when it was asked to."""
        with self.database.transaction(self.actor) as transaction:
            incidents.report_killed_crawl(transaction, job.id, job.token, reason)

    def patterns_off(self, job: ClaimedJob, patterns: Mapping[str, str]) -> None:
        """Report the patterns that were switched off, each with a URL whose search took too long."""
        with self.database.transaction(self.actor) as transaction:
            incidents.report_slow_patterns(transaction, job.id, job.token, patterns)

    def renders_late(self, job: ClaimedJob, *, is_late: bool, seconds: float, queued: int) -> None:
        """Report that pages have waited too long for their render, or that this is over."""
        with self.database.transaction(self.actor) as transaction:
            incidents.report_late_renders(
                transaction, job.id, job.token, is_late=is_late, seconds=seconds, queued=queued
            )

    def end(self, job: ClaimedJob, result: JobResult) -> bool:
        """Report the end of a job. Return whether the report counted."""
        with self.database.transaction(self.actor) as transaction:
            return reports.report_end(transaction, job.id, job.token, result)

    @contextmanager
    def kept_alive(self, job: ClaimedJob, state: str, seconds: float) -> Iterator[None]:
        """Let the database know every so many seconds that somebody works on the job, while the block runs.

        A database that is away is no reason to stop: the end is reported when it is back.
        """
        stop = threading.Event()

        def beat() -> None:
            what = f"the report that somebody works on job {job.id}"
            touch = SteadyWork(what, self._touch, DatabaseRefused, UseCaseError)
            while True:
                touch(job, state)
                if stop.wait(seconds):
                    return

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _touch(self, job: ClaimedJob, state: str) -> None:
        """Say that somebody works on the job; commands come too late now."""
        with self.database.transaction(self.actor) as transaction:
            commands = reports.report_progress(transaction, job.id, job.token, state, {}, sample=False)
            for command in commands:
                reports.report_command(transaction, job.id, job.token, command.id, TOO_LATE)
