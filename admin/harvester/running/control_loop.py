"""The control loop watches over the crawl of one job: limits of domains, both time-outs, reports, commands, the end.

A domain whose limit is reached gets nothing more handed out. What it gets beyond its limit is what ends until
crawl.log is looked at again (`harvester.look_seconds`), and the visits of the domain that go on at that time, with what
their pages embed: as many as `frontier.per_host` for each of its hosts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

from admin.harvester.crawl_process import CrawlProcess
from admin.harvester.dispatch_link import DispatchLink
from admin.harvester.incident_reports import IncidentReports
from admin.harvester.job_folder import JobFolder, StopCause
from admin.harvester.running.domain_tally import DomainTally, hosts_to_set_aside, limits_of
from admin.harvester.running.host_notes import MOST_HOSTS, HostNotes
from admin.harvester.running.job_observer import JobObserver
from admin.harvester.running.operator_commands import (
    NOT_RUNNING,
    QUOTA,
    CommandOutcome,
    carry_out,
    wake_domain,
    wanted_domain_limits,
)
from admin.harvester.running.stillness import Stillness
from admin.harvests.dispatch.reports import PendingCommand
from admin.jobs.interrupts import Interrupts
from admin.jobs.progress.tally import LogFollower
from admin.models.errors import DatabaseRefused, IllegalState, NotFound, UseCaseError
from archive import crawl_log
from archive.json_text import parsed_object
from archive.settings.load import Settings
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.lease import JobProgress
from frontier.links.rejections import SLOW_PATTERN
from frontier.private_redis.server import running_url
from frontier.queue import Frontier
from frontier.shards import frontier_of
from frontier.store import FrontierLost, FrontierUnavailable

log = logging.getLogger(__name__)

_CLOSE_SECONDS: Final = 0.02
"""Time between two readings of the log while a domain is close to its limit."""
_STALLED_SECONDS: Final = 10.0
"""Visits of a crawl that stands still get so long to end, or `no_response_seconds` when these are fewer."""
_SHOWN_PATTERNS: Final = 20
_SHOWN_GROUPS: Final = 100
_HURRIED_SECONDS: Final = 30.0
"""From the last request to end now to the kill."""


class ControlLoop:
    """A control loop watches over one crawl until its process has ended."""

    def __init__(
        self, settings: Settings, folder: JobFolder, process: CrawlProcess, link: DispatchLink, interrupts: Interrupts
    ) -> None:
        self._settings = settings
        self._rules = settings.harvester
        self._folder = folder
        self._process = process
        self._link = link
        self._interrupts = interrupts
        self._notes = HostNotes()
        self._incidents = IncidentReports(link, folder)
        self._observer = JobObserver(settings.collection(folder.claim.collection), folder.file_prefix)
        self._tally = DomainTally(limits_of(folder.claim), self._rules.disregard_seed_url)
        self._still = Stillness(self._rules.no_response_seconds, self._rules.inactivity_seconds)
        self._log: LogFollower | None = None
        self._frontier: Frontier | None = None
        self._progress: JobProgress | None = None
        self._was_running = False
        self._asked_at: float | None = None
        self._grace = self._rules.process_seconds
        self._stop_wanted = ""
        self._signals_wanted = 0
        self._signalled_at = 0.0
        self._next_report = 0.0
        self._last_view: tuple[float, int, int] = (time.monotonic(), 0, 0)
        self._seen_signals = 0

    def run(self) -> None:
        """Return when the crawl's process has ended; how is in the folder's state."""
        try:
            while self._process.exit_code is None:
                try:
                    self._watch_limits(min(self._rules.look_seconds, self._rules.loop_seconds))
                    self._look()
                except OSError as error:  # a full disk: the crawl pauses by itself, and the state is kept later
                    log.warning("job %d: %s", self._folder.claim.id, error)
        finally:
            if self._frontier is not None:
                self._frontier.close()
        self._read_log()
        self._folder.try_save(
            exit_code=self._process.exit_code,
            refusal=self._process.refusal,
            seen_objects=self._tally.total.objects,
        )

    def _watch_limits(self, seconds: float) -> None:
        """Wait until the next look. While a domain is close to its limit, read the log again and again meanwhile.

        A fast site gives dozens of objects in a second, so a domain must be held as soon as it has reached its limit.
        """
        ends = time.monotonic() + seconds
        while (left := ends - time.monotonic()) > 0 and self._process.exit_code is None:
            if not self._tally.is_close_to_limit:
                self._interrupts.wait(left)
                return
            self._interrupts.wait(min(left, _CLOSE_SECONDS))
            try:
                self._hold_at_once()
            except OSError:  # the look tells of it
                self._interrupts.wait(max(ends - time.monotonic(), 0.0))
                return

    def _hold_at_once(self) -> None:
        held = self._tally.at_limit
        self._hear_of_run()
        self._read_log()
        if self._tally.at_limit != held:
            with self._frontier_of_run() as frontier:
                if frontier is not None:
                    self._hold_to_limits(frontier)

    def _read_log(self) -> None:
        if self._log is not None:
            for line in self._log.lines():
                self._tally.add(line)
                self._notes.add(line)

    def _look(self) -> None:
        self._hear_of_run()
        self._read_log()
        self._tally.note_look()
        with self._frontier_of_run() as frontier:
            if frontier is not None:
                self._progress = frontier.reports.progress()
                self._was_running = True
                self._hold_to_limits(frontier)
                self._time_out(self._progress)
                self._incidents.note_renders(self._progress.renders)
                if SLOW_PATTERN in self._progress.rejected:
                    self._incidents.note_patterns(frontier.reports.switched_off_patterns())
        self._heed_signals()
        if time.monotonic() >= self._next_report:
            self._next_report = time.monotonic() + self._rules.loop_seconds
            self._report()
        with self._frontier_of_run() as frontier:
            self._pursue_end(frontier)

    def _hear_of_run(self) -> None:
        if self._log is None and (place := self._process.run_folder) is not None:
            self._folder.try_save(run_name=place.name, run_folder=str(place))
            self._log = LogFollower(place / crawl_log.FILE_NAME)

    @contextmanager
    def _frontier_of_run(self) -> Iterator[Frontier | None]:
        """Yield the crawl's frontier; None while it is not there yet, or not any more.

        What fails in the block since the frontier has gone is left out, and tried again with the next look.
        """
        if self._frontier is None:
            self._frontier = self._connected()
        try:
            yield self._frontier
        except (FrontierLost, FrontierUnavailable) as error:
            log.debug("job %d: %s", self._folder.claim.id, error)
            if self._frontier is not None:
                self._frontier.close()
            self._frontier = self._progress = None

    def _connected(self) -> Frontier | None:
        settings, name = self._settings, self._folder.state.run_name
        url = (settings.redis.url or running_url(settings.home)) if name else None
        if url is None:
            return None
        try:
            return frontier_of(url, name, settings.frontier, timeout_seconds=settings.redis.timeout_seconds)
        except (FrontierLost, FrontierUnavailable):
            return None

    def _hold_to_limits(self, frontier: Frontier) -> None:
        if not self._tally.at_limit:
            return
        for host, domain in hosts_to_set_aside(self._tally, frontier.reports.waiting_hosts()).items():
            if frontier.controls.set_host_aside(host, f"{QUOTA} {domain}"):
                log.info("job %d: host %s is set aside, %s is at its limit", self._folder.claim.id, host, domain)

    def _time_out(self, progress: JobProgress) -> None:
        got, visits, is_paused = self._tally.total.bytes, progress.visits, progress.paused is not None
        is_waiting = progress.revisits > 0 and not (progress.queued or visits)  # for URLs to be due again
        cause = self._still.look(time.monotonic(), got_bytes=got, visits=visits, is_paused=is_paused or is_waiting)
        if cause is not StopCause.NONE:
            grace = min(_STALLED_SECONDS, self._rules.no_response_seconds)
            self._ask(cause, self._still.reason(cause), grace=grace)

    def _heed_signals(self) -> None:
        """Hand signals that this harvester gets on to the crawl."""
        if (count := self._interrupts.count) > self._seen_signals:
            self._seen_signals = count
            self._ask(StopCause.SHUTDOWN, "the harvester was asked to end", signals=min(count, 2))

    def _ask(self, cause: StopCause, reason: str, *, grace: float | None = None, signals: int = 0) -> None:
        """Ask the crawl to end. The first cause is the one that counts."""
        if self._asked_at is None:
            log.warning("job %d is stopped: %s", self._folder.claim.id, reason)
            self._asked_at, self._stop_wanted = time.monotonic(), reason
            self._folder.try_save(cause=cause, reason=reason)
            self._grace = self._rules.process_seconds if grace is None else min(grace, self._rules.process_seconds)
        self._signals_wanted = max(self._signals_wanted, signals)

    def _pursue_end(self, frontier: Frontier | None) -> None:
        """Ask the crawl to end in the way that it can hear; more urgently when its time has passed."""
        if self._asked_at is None:
            return
        if frontier is not None and self._stop_wanted:
            frontier.controls.stop(self._stop_wanted)
            self._stop_wanted = ""
        now = time.monotonic()
        is_late = now - self._asked_at > self._grace
        if frontier is None and self._stop_wanted:
            self._signals_wanted = max(self._signals_wanted, 1)  # it is starting: nobody asks the frontier yet
        wanted = 2 if is_late else self._signals_wanted
        if self._process.signals < wanted:
            self._process.ask_to_end()
            self._signalled_at = now
        elif is_late and now - self._signalled_at > min(_HURRIED_SECONDS, self._rules.process_seconds):
            log.error("the crawl of job %d does not end and is killed", self._folder.claim.id)
            self._folder.try_save(was_killed=True)
            self._process.kill()
            self._report()

    def _report(self) -> None:
        view, hosts = self._view()
        seen = self._observer.look(self._folder.run_folder)
        state = str(view.get("state", "starting"))
        job = self._folder.claim
        now, before = time.monotonic(), self._last_view
        total = self._tally.total
        view["bytes_per_second"] = (total.bytes - before[2]) / max(now - before[0], 0.001)
        self._last_view = (now, total.objects, total.bytes)
        self._incidents.send()
        try:
            run_name = self._folder.state.run_name
            commands = self._link.progress(job, state, view, hosts, run_name=run_name, seen=seen)
        except (IllegalState, NotFound) as error:
            self._ask(StopCause.GIVEN_UP, str(error), signals=2)
            return
        except (DatabaseRefused, UseCaseError) as error:
            log.warning("job %d: its progress could not be reported: %s", job.id, error)
            self._observer.show_log_again()
            return
        for command in commands:
            with self._frontier_of_run() as frontier:
                outcome = self._limits_set(command, frontier) or self._carried_out(command, frontier)
                if outcome.text == NOT_RUNNING and self._is_starting:
                    continue  # it comes again with the next report
                if outcome.stops:
                    self._ask(StopCause.OPERATOR, outcome.stops, signals=2 if outcome.at_once else 0)
                log.info("job %d: %s: %s", job.id, command.verb, outcome.text)
                try:
                    self._link.command_done(job, command.id, outcome.text, outcome.answer)
                except (DatabaseRefused, UseCaseError) as error:
                    log.warning("job %d: command %d: %s", job.id, command.id, error)

    @property
    def _is_starting(self) -> bool:
        """Return whether the crawl has not answered yet, and nobody has asked it to end."""
        return not self._was_running and self._asked_at is None

    def _limits_set(self, command: PendingCommand, frontier: Frontier | None) -> CommandOutcome | None:
        """Give a domain other limits, and let its hosts be visited again below these; None for another command."""
        if (wanted := wanted_domain_limits(command)) is None:
            return None
        domain, changes = wanted
        if frontier is None:
            return CommandOutcome(NOT_RUNNING)
        if domain not in self._tally.limits:
            return CommandOutcome(f"not carried out: {domain} is no domain of this job")
        known = self._folder.state.domain_limits
        self._folder.save(domain_limits={**known, domain: {**known.get(domain, {}), **changes}})
        limits = self._tally.change_limits(domain, changes)
        woken = 0 if domain in self._tally.at_limit else wake_domain(frontier, domain)
        again = f"; {woken} of its hosts are visited again" if woken else ""
        said = [f"{name} {most if most >= 0 else 'none'}" for name, most in limits.in_force().items()]
        return CommandOutcome(f"limits of {domain}: {', '.join(said)}{again}")

    def _carried_out(self, command: PendingCommand, frontier: Frontier | None) -> CommandOutcome:
        lists, database_url = self._settings.home / LIST_FOLDER, self._settings.database_url
        return carry_out(command, frontier, lists=lists, database_url=database_url)

    def _view(self) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
        """Return the numbers of the progress view, and the hosts with the longest queues."""
        total, progress = self._tally.total, self._progress
        view: dict[str, Any] = {"urls": total.objects, "bytes": total.bytes, "new_bytes": total.new_bytes}
        hosts: list[Mapping[str, Any]] = []
        with self._frontier_of_run() as frontier:
            if frontier is not None:
                told = parsed_object(frontier.controls.stored_view())
                view = told | view
                view["limits"] = frontier.reports.limits()
                view["groups"] = [asdict(group) for group in frontier.reports.groups()[:_SHOWN_GROUPS]]
                queues = frontier.reports.longest_queues(MOST_HOSTS)
                paused = progress.paused if progress is not None else None
                hosts = self._notes.rows(queues, job=frontier.job.name, paused=paused or "")
        if progress is not None:
            view["state"] = "stopping" if progress.stopped else "paused" if progress.paused else "running"
            view |= {"queued": progress.queued, "in_flight": progress.visits, "failed": progress.failed}
            view["revisits"] = progress.revisits
            view["spilled"] = progress.spilled
            if progress.revisits and progress.next_due_seconds is not None:
                view["next_due_seconds"] = progress.next_due_seconds
        if self._asked_at is not None:
            state = "killed" if self._folder.state.was_killed else "stopping"
            view |= {"state": state, "stopping_because": self._folder.state.reason}
        view["patterns_off"] = list(self._folder.state.patterns_off)[:_SHOWN_PATTERNS]
        view["domains_at_limit"] = len(self._tally.at_limit)
        return view, hosts
