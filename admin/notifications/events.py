"""Events are what people and programs can be told of: those of NetarchiveSuite, and the end of a job."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """The severity says how urgently a person must look."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Event(StrEnum):
    """An event has a name, a severity, and a description for the page on which people subscribe."""

    severity: Severity
    description: str

    def __new__(cls, name: str, severity: Severity, description: str) -> Event:
        """Make the member, whose value is its name."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.severity = severity
        member.description = description
        return member

    HARVEST_DEACTIVATED = (
        "harvest.deactivated",
        Severity.ERROR,
        "A harvest was deactivated, because its jobs could not be made.",
    )
    HARVEST_WITHOUT_JOBS = ("harvest.no-jobs", Severity.WARNING, "A run of a harvest made no jobs.")
    HARVEST_RUNS_SKIPPED = (
        "harvest.runs-skipped",
        Severity.WARNING,
        "Runs of a harvest were skipped, because their dates had passed.",
    )
    HARVEST_SCHEDULE_ENDED = (
        "harvest.schedule-ended",
        Severity.INFO,
        "A harvest had its last run, because its schedule has no further date.",
    )
    HARVEST_STILL_SCHEDULING = (
        "harvest.still-scheduling",
        Severity.WARNING,
        "The jobs of a harvest's previous run are still being made.",
    )
    CHANNEL_WITHOUT_HARVESTER = (
        "channel.no-harvester",
        Severity.WARNING,
        "Jobs wait for a channel that has no harvester.",
    )
    HARVESTER_DORMANT = (
        "harvester.dormant",
        Severity.ERROR,
        "A harvester takes no jobs, because its disk is too full.",
    )
    HARVESTER_READY_AGAIN = ("harvester.ready-again", Severity.INFO, "A harvester that took no jobs takes jobs again.")
    HARVESTER_SILENT = ("harvester.silent", Severity.ERROR, "A harvester has said nothing for a long time.")
    HARVESTER_REFUSED = (
        "harvester.refused",
        Severity.WARNING,
        "A harvester wanted to register for a channel that does not exist.",
    )
    JOB_ENDED = ("job.ended", Severity.INFO, "A job ended and its results are kept.")
    JOB_FAILED = ("job.failed", Severity.ERROR, "A job failed.")
    JOB_SILENT = ("job.silent", Severity.ERROR, "A job failed, because nobody had heard of it for a long time.")
    JOB_KILLED = (
        "job.killed",
        Severity.WARNING,
        "The crawl of a job did not end when it was asked to, and was killed.",
    )
    DOMAINS_UNANSWERED = (
        "job.no-good-answer",
        Severity.WARNING,
        "Domains of a job that ended gave no good answer to any of their seeds.",
    )
    UPLOAD_FAILED = ("job.upload-failed", Severity.ERROR, "Files of a job could not be uploaded.")
    TRAP_TOO_SLOW = (
        "trap.too-slow",
        Severity.WARNING,
        "A crawler trap was switched off in a job, because its regular expression took too long.",
    )
    RENDERS_LATE = (
        "job.renders-late",
        Severity.WARNING,
        "Pages of a job have waited too long for their render in a browser.",
    )
    LETTER = ("permission.letter", Severity.INFO, "A curator wrote a letter to the owner of a site.")
    CRAWL_ALERT = (
        "job.crawl-alert",
        Severity.WARNING,
        "The crawl.log of a running job shows an anomaly, such as a trap, a burst of errors or silence.",
    )
    QA_DONE = ("qa-done", Severity.INFO, "A QA session has judged all of its pages.")
    TEST = ("test", Severity.INFO, "Somebody asked for a test message.")


EVENTS: Final[Mapping[str, Event]] = {event.value: event for event in Event}
"""Events by their names."""
SUBSCRIBABLE: Final[Mapping[str, Event]] = {
    name: event for name, event in EVENTS.items() if event not in (Event.TEST, Event.LETTER)
}
