"""A harvester as the dispatch sees it: the messages of the real one, in its order, without a crawl.

`messages` follows `admin.harvester.harvester` and `admin.harvester.finishing`: what a harvester says, and what it does
with the answer. What is on its disk survives its death. The model of the dispatch decides what becomes of each message.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Final

from admin.harvester.dispatch_link import DispatchLink
from admin.harvests.dispatch.queue import ClaimedJob
from admin.harvests.dispatch.reports import DomainResult, JobResult
from admin.models.errors import DatabaseRefused, IllegalState, NotFound, UseCaseError
from admin.models.job_tables import HarvesterState, StopReason

ROOM: Final = 10**12
PROGRESS: Final = 2
"""Reports of progress of each crawl."""


@dataclass(frozen=True)
class Message:
    """One call to the dispatch, which any link of the same harvester can make."""

    text: str
    call: Callable[[DispatchLink], Any]


type Messages[T] = Generator[Message, Any, T]


@dataclass
class Folder:
    """What the disk has of a job."""

    job: ClaimedJob
    result: JobResult | None = None


@dataclass
class Crawls:
    """Which jobs are crawled and were, seen from nowhere: no harvester knows it of the others."""

    begun: dict[int, list[str]] = field(default_factory=dict)
    running: dict[int, str] = field(default_factory=dict)
    doubled: list[str] = field(default_factory=list)
    reported: dict[int, int] = field(default_factory=dict)
    """How often the answer to the report of a job's end was that it counted."""

    def begin(self, job_id: int, run: str) -> None:
        """A crawl begins."""
        self.begun.setdefault(job_id, []).append(run)
        if job_id in self.running:
            self.doubled.append(f"job {job_id} is crawled by {self.running[job_id]} and by {run}")
        self.running[job_id] = run

    def end(self, job_id: int) -> None:
        """A crawl ends, in order or not."""
        self.running.pop(job_id, None)


@dataclass
class ModelledHarvester:
    """A harvester's name and disk; `messages` is one life of it."""

    name: str
    crawls: Crawls
    disk: dict[int, Folder] = field(default_factory=dict)
    lives: int = 0
    is_idle: bool = False

    def messages(self) -> Messages[None]:
        """Everything that one life says; answers that are exceptions are thrown in."""
        self.lives += 1
        yield Message("register", lambda link: link.register(ROOM))
        yield from self._leftovers()
        while True:
            yield from self._say(HarvesterState.READY)
            job = yield from self._claim()
            self.is_idle = job is None
            if job is not None:
                yield from self._work(job)

    def die(self) -> None:
        """Its crawl hears it, and ends too."""
        for job_id in self.disk:
            self.crawls.end(job_id)

    def _claim(self) -> Messages[ClaimedJob | None]:
        try:
            job: ClaimedJob | None = yield Message("claim", lambda link: link.claim())
        except NotFound:
            yield from _whatever(Message("register again", lambda link: link.register(ROOM)))
        except IllegalState:
            try:
                yield from self._leftovers()
            except (DatabaseRefused, UseCaseError):
                return None
        except (DatabaseRefused, UseCaseError):
            pass
        else:
            return job
        return None

    def _work(self, job: ClaimedJob) -> Messages[None]:
        folder = self.disk[job.id] = Folder(job)
        self.crawls.begin(job.id, f"{self.name}, life {self.lives}")
        given_up = ""
        for number in range(PROGRESS):
            view = {"urls": number, "bytes": 100 * number}
            try:
                commands = yield Message("progress", lambda link, view=view: link.progress(job, "running", view))
            except (IllegalState, NotFound) as error:
                given_up = f"the job was given up while it was crawled: {error}"
                break
            except (DatabaseRefused, UseCaseError):
                continue
            for command in commands:
                yield from _whatever(
                    Message("command done", lambda link, id=command.id: link.command_done(job, id, "done"))
                )
        self.crawls.end(job.id)
        folder.result = _result(job, error=given_up, objects=10)
        yield from self._finish(folder)

    def _finish(self, folder: Folder) -> Messages[None]:
        assert folder.result is not None
        job, result = folder.job, folder.result
        yield from self._say(HarvesterState.UPLOADING, job.id)
        yield from _whatever(Message("touch", lambda link: link._touch(job, "finishing")))
        while True:
            try:
                counted = yield Message("end", lambda link: link.end(job, result))
            except (IllegalState, NotFound):
                break
            except (DatabaseRefused, UseCaseError):
                continue
            self.crawls.reported[job.id] = self.crawls.reported.get(job.id, 0) + bool(counted)
            break
        del self.disk[job.id]

    def _leftovers(self) -> Messages[None]:
        for folder in list(self.disk.values()):
            if folder.result is None:
                self.crawls.end(folder.job.id)
                folder.result = _result(folder.job, error="Crawl probably interrupted", objects=3)
            yield from self._finish(folder)
        jobs: list[ClaimedJob] = yield Message("unfinished", lambda link: link.unfinished())
        for job in jobs:
            self.disk[job.id] = Folder(job, _result(job, error="Crawl probably interrupted", objects=0))
            yield from self._finish(self.disk[job.id])

    def _say(self, state: HarvesterState, job_id: int | None = None) -> Messages[None]:
        yield from _whatever(Message(f"announce {state}", lambda link: link.announce(state, ROOM, job_id=job_id)))


def _whatever(message: Message) -> Messages[None]:
    """Say something whose refusal changes nothing."""
    try:
        yield message
    except (DatabaseRefused, UseCaseError):
        return


def _result(job: ClaimedJob, *, error: str, objects: int) -> JobResult:
    domains = [
        DomainResult(each.domain_name, objects, 100 * objects, 50 * objects, StopReason.UNFINISHED)
        for each in job.domains
    ]
    return JobResult(
        succeeded=not error,
        harvest_error=error,
        domains=domains,
        objects=objects * len(domains),
        bytes=100 * objects * len(domains),
    )
