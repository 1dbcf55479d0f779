"""The hosts of a running job are reported with what each waits for, in words for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from admin.harvester.running.operator_commands import BLOCKED, QUOTA
from admin.jobs.status_names import is_failure, status_text
from archive import crawl_log
from archive.url import host_of
from frontier.definition.quotas import reached_text
from frontier.lease import WaitKind
from frontier.reports import HostQueue

MOST_HOSTS: Final = 100
_MOST_NOTED: Final = 200_000
"""Hosts of which counts are kept."""


@dataclass(slots=True)
class HostNote:
    """A host note counts the lines of crawl.log about one host."""

    objects: int = 0
    failed: int = 0
    robots: int = 0
    """URLs that the host's robots.txt forbids."""
    last_failure: int = 0


@dataclass(slots=True)
class HostNotes:
    """Host notes count the lines of crawl.log by host."""

    hosts: dict[str, HostNote] = field(default_factory=dict)

    def add(self, line: crawl_log.LogLine) -> None:
        """Count one line."""
        if line.extra.get(crawl_log.ANNOTATES) or not line.url.startswith("http"):
            return
        host = host_of(line.url)
        note = self.hosts.get(host)
        if note is None:
            if len(self.hosts) >= _MOST_NOTED:
                return
            note = self.hosts[host] = HostNote()
        note.objects += line.code > 0
        note.robots += line.code == crawl_log.ROBOTS
        if is_failure(line.code):
            note.failed += 1
            note.last_failure = line.code

    def rows(self, queues: Sequence[HostQueue], *, job: str, paused: str) -> list[Mapping[str, Any]]:
        """Return the hosts of a report: those with queues first, then those that were tried last, at most 100.

        `paused` is why the whole job is paused; empty when it is not.
        """
        rows = [self._row(queue.host, queue, _reason(queue, job, paused)) for queue in queues[:MOST_HOSTS]]
        shown = {queue.host for queue in queues}
        for host in reversed(self.hosts):
            if len(rows) >= MOST_HOSTS:
                break
            if host not in shown:
                rows.append(self._row(host, None, ("nothing-queued", self._ended_why(host))))
        return rows

    def _row(self, host: str, queue: HostQueue | None, reason: tuple[str, str]) -> Mapping[str, Any]:
        note = self.hosts.get(host, HostNote())
        why = reason[1]
        if note.robots and queue is not None:
            why += f"; robots.txt forbids {note.robots} of its URLs"
        return {
            "host": host,
            "queued": queue.queued if queue is not None else 0,
            "objects": note.objects,
            "failed": note.failed,
            "robots": note.robots,
            "kind": reason[0],
            "why": why,
        }

    def _ended_why(self, host: str) -> str:
        note = self.hosts[host]
        parts = ["no URL is queued"]
        if note.robots:
            parts.append(f"robots.txt forbids {note.robots} of its URLs")
        if note.failed:
            parts.append(f"the last failure: {status_text(note.last_failure)}")
        return "; ".join(parts)


def _reason(queue: HostQueue, job: str, paused: str) -> tuple[str, str]:
    """Return the kind of the reason for which a host waits, and the reason in words."""
    if queue.aside:
        return _aside_reason(queue.aside)
    if queue.is_beyond:
        return "limit", "the job's limit of pages is reached"
    wait = queue.wait
    if wait is not None and wait.kind is WaitKind.BLOCKED:
        return "blocked", f"blocked for {math.ceil(wait.seconds)} s"
    if paused:
        return "paused", f"the job is paused: {paused}"
    if wait is None:
        return "ready", "can be visited now"
    seconds = f"{math.ceil(queue.due_seconds)} s"
    match wait.kind:
        case WaitKind.HELD:
            return "held", f"in use by job {wait.job}" if wait.job != job else "a visit is in progress"
        case WaitKind.VISITED:
            return "visited", "a visit is in progress"
        case WaitKind.GROUP:
            return "group", f"waits for its turn in the queue group {wait.what}"
        case WaitKind.RETRY:
            code = f" ({status_text(wait.code)})" if wait.code else ""
            return "retry", f"{queue.failures} failed visits in a row{code}; the next try is in {seconds}"
        case _:
            return "politeness", f"pause between visits; the next one is in {seconds}"


def _aside_reason(why: str) -> tuple[str, str]:
    if why == BLOCKED:
        return "blocked", BLOCKED
    if why == "failing":
        return "dead", "given up: too many failed visits in a row"
    if limit := reached_text(why):
        return "limit", f"{limit} is reached"
    if why.startswith(QUOTA):
        return "limit", f"the limit of the domain{why.removeprefix(QUOTA)} is reached"
    return "blocked", why
