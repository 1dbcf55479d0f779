"""The scheduler reads the crawl.log of running jobs, and tells people once of each anomaly.

A note in the database says what was told, so that a restart tells nothing twice; the note goes when the anomaly is over
or the job has ended. Only logs in this home are read: a harvester on another machine has its own.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from sqlalchemy import select

from admin.log_analysis.alerts import LogAlert
from admin.log_analysis.columns.engine import is_installed
from admin.log_analysis.columns.intake import take_in
from admin.log_analysis.columns.log_blocks import LogTrouble
from admin.log_analysis.columns.readings import open_reading
from admin.log_analysis.named_logs import run_log
from admin.log_analysis.questions import present_alerts
from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.people_tables import InstallationValue
from admin.models.transaction import SCHEDULER, Transaction
from admin.notifications.events import Event
from admin.notifications.outbox import notify
from archive.steady_work import SteadyWork

_TOLD: Final = "told-alert:"
_JOB_SECONDS: Final = 60.0
"""One look reads the log of one job so long; the next look goes on."""
_MOST_NAMED: Final = 10
_LOG: Final = logging.getLogger("ghostfleet.scheduler")


def watch_logs(database: Database, stop: threading.Event) -> None:
    """Look at the logs of running jobs every logs.alert_seconds until `stop` is set."""
    seconds = database.settings.logs.alert_seconds
    if not seconds:
        return
    if not is_installed():
        _LOG.info("logs of running jobs are not searched for anomalies, because the extra `analysis` is not installed")
        return

    def unless_away() -> None:
        try:
            look_at_logs(database, stop)
        except DatabaseRefused as error:
            _LOG.debug("the logs of running jobs wait: %s", error)

    look = SteadyWork("the search of running jobs' logs", unless_away)
    while not stop.wait(seconds):
        look()


def look_at_logs(database: Database, stop: threading.Event) -> list[tuple[int, str]]:
    """Look once at the logs of all running jobs; return the jobs and rules that people were told of now."""
    with database.reading(SCHEDULER) as transaction:
        query = select(HarvestJob.id, HarvestJob.collection, HarvestJob.run_name)
        running = transaction.session.execute(query.where(HarvestJob.status == JobStatus.STARTED)).all()
    told: list[tuple[int, str]] = []
    for job_id, collection, run_name in running:
        folder = database.settings.collection(collection) / "jobs" / (run_name or "")
        if stop.is_set() or not run_name or not folder.is_dir():
            continue
        log = run_log(folder)
        ends = time.monotonic() + _JOB_SECONDS
        try:
            take_in(log.path, log.folder, is_ended=lambda ends=ends: stop.is_set() or time.monotonic() > ends)  # type: ignore[misc]
            with open_reading(log.folder) as reading, database.reading(SCHEDULER) as transaction:
                found = present_alerts(reading, log, transaction.now)
            with database.transaction(SCHEDULER) as transaction:
                told += [(job_id, rule) for rule in tell_of_alerts(transaction, job_id, found)]
        except DatabaseRefused:
            raise
        except LogTrouble as error:
            _LOG.debug("the log of job %d was not searched: %s", job_id, error)
        except Exception:  # whatever is wrong with one log: the jobs after this one have their alerts
            _LOG.exception("the log of job %d could not be searched", job_id)
    with database.transaction(SCHEDULER) as transaction:
        _forget_ended(transaction, {job_id for job_id, _, _ in running})
    return told


def tell_of_alerts(transaction: Transaction, job_id: int, found: Iterable[LogAlert]) -> list[str]:
    """Tell of the rules that find something in the job's log for the first time. Return these rules."""
    by_rule: Mapping[str, list[LogAlert]] = defaultdict(list)
    for each in found:
        by_rule[each.rule].append(each)
    prefix = f"{_TOLD}{job_id}:"
    session = transaction.session
    notes = session.scalars(select(InstallationValue).where(InstallationValue.name.startswith(prefix))).all()
    known = {note.name.removeprefix(prefix): note for note in notes}
    for rule in known.keys() - by_rule.keys():
        session.delete(known[rule])
    fresh = sorted(by_rule.keys() - known.keys())
    job = session.get(HarvestJob, job_id)
    for rule in fresh:
        alerts = by_rule[rule]
        first = alerts[0]
        subject = f"Job {job_id}: {first.subject + ': ' if first.subject else ''}{first.text}"
        facts = {"rule": rule} | {each.subject or "crawl": each.text for each in alerts[:_MOST_NAMED]}
        session.add(InstallationValue(name=prefix + rule, value=str(transaction.now)))
        harvest_id = job.harvest_id if job is not None else None
        notify(transaction, Event.CRAWL_ALERT, subject, facts, harvest_id=harvest_id, job_id=job_id)
    return fresh


def _forget_ended(transaction: Transaction, running: set[int]) -> None:
    """Remove the notes about jobs that don't run any more."""
    query = select(InstallationValue).where(InstallationValue.name.startswith(_TOLD))
    for note in transaction.session.scalars(query):
        number = note.name.removeprefix(_TOLD).partition(":")[0]
        if int(number) not in running:
            transaction.session.delete(note)
