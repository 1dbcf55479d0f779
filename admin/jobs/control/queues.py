"""Operators see and change the queues of a job from another process, while the job runs and after it was stopped.

A change is acknowledged with a sentence and noted in the run's `operator.log`. The frontier of a stopped job is in the
home's private Redis, which is started for the time of the command, or in the Redis of the setting `redis.url`.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from admin.jobs.control.operator_log import BEGUN, login_name, note_change
from admin.jobs.control.steering import FoundJob, NotRunning
from admin.units import counted
from archive.files import replacement
from frontier.control import FOREVER_SECONDS
from frontier.definition.edits import ProfileEdit
from frontier.definition.job import JobError, Limits
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.definition.scope import Accepted, Candidate, Priority, Rejected
from frontier.private_redis.server import EmbeddedRedis, running_url
from frontier.queue import Frontier
from frontier.queues.desk import RestoredUrl, SeenBlock
from frontier.queues.entry import ENTRY_STATES, EntryState, QueueEntry
from frontier.queues.lines import (
    LONGEST_LINE,
    OpenedLines,
    QueueHead,
    SeenMarks,
    block_line,
    head_line,
    numbered_lines,
    opened_lines,
    read_line,
    seen_line,
    url_line,
)
from frontier.queues.url_search import SearchTimeOver, TimedSearch, UrlSearch
from frontier.reports import HostQueue
from frontier.shards import frontier_of
from frontier.store import FrontierLost

_CHUNK: Final = 500
MOST_PROBLEMS: Final = 1_000
"""Lines of a file that are named because they can't be used; further ones are counted."""
_NAMED_LINES: Final = 20
"""Lines that are named to people."""
_LOOKED_AT: Final = 1_000_000
"""Hosts, and resting URLs, that are looked at."""
_ENDED: Final = "the job has ended its work, so that nothing was added; crawl the job again"


@dataclass(frozen=True, slots=True)
class HostContent:
    """The content of a host's queue: its state, the first URLs in their order, and those that rest or are visited."""

    queue: HostQueue
    leased: Sequence[QueueEntry]
    waiting: Sequence[QueueEntry]
    resting: Sequence[QueueEntry]


@dataclass(slots=True)
class ExportCount:
    """An export has written so many URLs by state, fingerprints, and blocks of a Bloom filter."""

    urls: Counter[str] = field(default_factory=Counter)
    seen: int = 0
    blocks: int = 0
    with_seen: bool = False
    """Fingerprints were asked for."""

    def line(self, file: str) -> str:
        """Return the counts in one line, which names the file."""
        seen = f" and {counted(self.seen, 'fingerprint')}" if self.with_seen else ""
        if self.blocks:
            seen = f", {counted(self.seen, 'fingerprint')} and {counted(self.blocks, 'block')} of the Bloom filter"
        states = ", ".join(f"{self.urls[state]} {state}" for state in ENTRY_STATES if self.urls[state])
        return f"{counted(self.urls.total(), 'URL')}{seen} written to {file}{f': {states}' if states else ''}"


@dataclass(slots=True)
class ImportCount:
    """An import has read so many lines, and has done this with their URLs."""

    queued: int = 0
    ended: int = 0
    """URLs that had failed, or were excluded, before the export."""
    known: int = 0
    """URLs that the job had seen."""
    refused: Counter[str] = field(default_factory=Counter)
    """URLs that are out of scope, by the reason."""
    seen: int = 0
    """New fingerprints."""
    blocks: int = 0
    """Blocks of a Bloom filter that were added to that of the job."""
    unusable: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)
    """The numbers of lines that can't be used, with the reasons."""

    def line(self) -> str:
        """Return the counts in one line."""
        parts = [f"{counted(self.queued, 'URL')} queued", f"{self.known} known"]
        if self.ended:
            parts.append(f"{self.ended} kept as ended")
        parts += [f"{number} refused ({reason})" for reason, number in sorted(self.refused.items())]
        if self.seen:
            parts.append(f"{counted(self.seen, 'fingerprint')} added")
        if self.blocks:
            parts.append(f"{counted(self.blocks, 'block')} of the Bloom filter added")
        if self.unusable:
            parts.append(f"{counted(self.unusable, 'line')} can't be used")
        return ", ".join(parts)

    def problem_lines(self, file: str) -> Iterator[str]:
        """Yield a line for each of the first lines that can't be used, and their number when there are more."""
        for number, why in self.problems[:_NAMED_LINES]:
            yield f"{file} line {number}: {why}"
        if (more := self.unusable - _NAMED_LINES) > 0:
            yield f"and {counted(more, 'more line')} that can't be used"


@dataclass(frozen=True, slots=True)
class AddAnswer:
    """The answer to one URL that was added. `outcome` is queued, known or refused; `reason` names the rule."""

    url: str
    outcome: str
    reason: str = ""


@contextmanager
def opened(target: FoundJob) -> Iterator[Frontier]:
    """Yield the frontier of a job, which may run or not. Raises NotRunning when Redis has no frontier of the job."""
    settings = target.settings
    with ExitStack() as stack:
        url = settings.redis.url or running_url(settings.home)
        if url is None:
            if not (settings.home / "redis").is_dir():
                raise NotRunning(target.ended_line())
            url = stack.enter_context(EmbeddedRedis(settings.home)).url
        try:
            frontier = frontier_of(url, target.name, settings.frontier, timeout_seconds=settings.redis.timeout_seconds)
            stack.enter_context(closing(frontier))
            frontier.segments.folder = target.segment_folder
            yield frontier
        except FrontierLost:
            raise NotRunning(f"{target.ended_line()}; Redis has no queues of it") from None


def host_queues(frontier: Frontier, most: int) -> list[HostQueue]:
    """Return the hosts with the longest queues, and those that are set aside, longest first."""
    found = frontier.reports.longest_queues(most, looked_at=_LOOKED_AT)
    return [queue for queue in found if queue.queued or queue.aside or queue.visits]


def host_content(frontier: Frontier, host: str, most: int, *, looked_at: int = _LOOKED_AT) -> HostContent:
    """Return the URLs of a host, at most `most` of each kind. So many resting URLs of all hosts are looked at."""
    desk = frontier.desk
    return HostContent(
        frontier.reports.host_queue(host),
        desk.leased_of(host, most),
        desk.waiting(host, most),
        desk.resting_of(host, most, looked_at=looked_at),
    )


def search(frontier: Frontier, expression: str, states: Sequence[EntryState]) -> Iterator[QueueEntry]:
    """Yield the URLs in these states in which the expression is found, as a stream. Raises JobError."""
    yield from frontier.desk.entries(states, UrlSearch(expression).finds)


def export(
    target: FoundJob,
    frontier: Frontier,
    path: Path,
    *,
    with_seen: bool,
    by: str = "",
    tell: Callable[[int], None] = lambda _: None,
) -> ExportCount:
    """Write the URLs of a job into a file of JSON lines, which takes the place of an older one when it is whole.

    A file whose name ends with .gz is compressed. Only the owner can read the file, as it has cookies of redirects.
    `by` is who asked for the export, when that is not the login name, and `tell` gets the number of URLs so far.
    Raises OSError.
    """
    found = ExportCount(with_seen=with_seen)
    with ExitStack() as stack:
        file: BinaryIO = stack.enter_context(replacement(path, mode=0o600))
        if path.name.endswith(".gz"):
            packed = gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=5)
            file = cast(BinaryIO, stack.enter_context(packed))
        file.write(head_line(target.name, frontier.job.collection))
        for entry in frontier.desk.entries():
            file.write(url_line(entry))
            found.urls[entry.state] += 1
            if (written := found.urls.total()) % _CHUNK == 0:
                tell(written)
        # Fingerprints come last: an import would take the URLs above for known ones.
        for marks in frontier.desk.seen() if with_seen else ():
            file.write(seen_line(marks))
            found.seen += len(marks)
        for block in frontier.desk.seen_blocks() if with_seen else ():
            file.write(block_line(block))
            found.blocks += 1
    _note(target, "export", {"file": str(path.absolute())}, f"{counted(found.urls.total(), 'URL')} written", by=by)
    return found


def import_file(
    target: FoundJob,
    frontier: Frontier,
    path: Path,
    *,
    any_scope: bool,
    by: str = "",
    tell: Callable[[int], None] = lambda _: None,
) -> ImportCount:
    """Add the URLs of a file to a job. A line that can't be used is noted with its number, and the rest goes on.

    URLs that are not in scope are refused, unless `any_scope` is set. After a kill, the same import can be repeated: no
    URL is queued twice. `by` is who asked for the import, when that is not the login name, and `tell` gets the bytes of
    the file that were read so far. Raises OSError for the file, and JobError when the job has ended its work.
    """
    found, arguments = ImportCount(), {"file": str(path.absolute()), "any_scope": any_scope}
    try:
        with opened_lines(path) as file:
            _note(target, "import", arguments, BEGUN, by=by)
            try:
                _take_lines(frontier, file, found, any_scope=any_scope, tell=tell)
            finally:
                _note(target, "import", arguments, found.line(), by=by)
    except _JobOver as error:
        raise JobError(_ENDED) from error
    except OSError as error:
        if found == ImportCount():
            raise
        raise OSError(f"{error}; until there, {found.line()}") from error
    return found


def matching(frontier: Frontier, expression: str) -> int:
    """Return the number of queued URLs, and of renders, in which the expression is found. Raises JobError."""
    return sum(1 for _ in _deletable(frontier, UrlSearch(expression).finds))


def delete(target: FoundJob, frontier: Frontier, expression: str, *, by: str = "") -> int:
    """Delete the queued URLs, and the renders, in which the expression is found. Return how many were deleted.

    They count as excluded. URLs that are being visited stay. Raises JobError for an expression that can't be used.
    """
    deleted, _ = delete_matching(frontier, expression)
    _note(target, "delete", {"expression": expression}, f"{counted(deleted, 'URL')} deleted", by=by)
    return deleted


def delete_matching(frontier: Frontier, expression: str, *, seconds: float = FOREVER_SECONDS) -> tuple[int, bool]:
    """Delete the queued URLs, and the renders, in which the expression is found.

    Return how many were deleted, and whether all URLs were looked at within the time. Raises JobError.
    """
    deleted, is_whole = 0, True
    desks = (frontier.desk, frontier.desk.renders())
    pending: tuple[list[str], list[str]] = ([], [])
    try:
        for place, entry in _deletable(frontier, TimedSearch(expression, seconds).finds):
            pending[place].append(entry.url)
            if len(pending[place]) >= _CHUNK:
                deleted += desks[place].delete(pending[place])
                pending[place].clear()
    except SearchTimeOver:
        is_whole = False
    return deleted + sum(desk.delete(urls) for desk, urls in zip(desks, pending, strict=True)), is_whole


def add(
    target: FoundJob, frontier: Frontier, urls: Sequence[str], *, priority: Priority, force: bool
) -> list[AddAnswer]:
    """Queue URLs of the scope, without widening it; with `force` also those that were visited. Raises JobError."""
    answers = added(frontier, urls, priority=priority, force=force)
    outcomes = Counter(answer.outcome for answer in answers)
    said = ", ".join(f"{number} {name}" for name, number in sorted(outcomes.items()))
    _note(target, "add", {"urls": list(urls), "priority": priority.name.lower(), "force": force}, said)
    return answers


def added(frontier: Frontier, urls: Sequence[str], *, priority: Priority, force: bool) -> list[AddAnswer]:
    """Queue URLs of the scope, without widening it; with `force` also those that were visited. Raises JobError."""
    decisions = frontier.add_urls([Candidate(url, priority=priority, force=force) for url in urls])
    if urls and not decisions:
        raise JobError(_ENDED)
    answers = []
    for url, decision in zip(urls, decisions, strict=True):
        match decision:
            case Accepted():
                answers.append(AddAnswer(url, "queued"))
            case Rejected(reason="seen"):
                why = "it is queued or being visited" if force else "it is queued or was visited"
                answers.append(AddAnswer(url, "known", why))
            case Rejected(reason="perhaps-seen"):
                why = "it was visited, or the Bloom filter of seen URLs is in error; --force visits the URL"
                answers.append(AddAnswer(url, "known", why))
            case Rejected(reason=reason, rule=rule):
                answers.append(AddAnswer(url, "refused", f"{reason} ({rule})" if rule else reason))
    return answers


def block(target: FoundJob, frontier: Frontier, host: str, seconds: float | None) -> None:
    """Let no job of the shard visit a host for some seconds; None until `unblock`. The URLs of the host stay queued."""
    frontier.controls.block_host(host, FOREVER_SECONDS if seconds is None else seconds)
    _note(target, "block", {"host": host, "seconds": seconds}, "blocked")


def unblock(target: FoundJob, frontier: Frontier, host: str) -> bool:
    """End the block of a host, and take it back into the job when it was set aside. Return whether that was so."""
    changed = frontier.controls.wake_host(host)
    _note(target, "unblock", {"host": host}, "unblocked" if changed else "was not blocked")
    return changed


def budget(target: FoundJob, frontier: Frontier, changes: Mapping[str, float | None]) -> Limits:
    """Change limits of a job; None removes one. Return the limits in force. Raises JobError."""
    if not changes:
        return frontier.stored_job().profile.limits
    limits = frontier.set_limits(changes, by=login_name())
    _note(target, "budget", {name: "none" if value is None else value for name, value in changes.items()}, "set")
    return limits


def edit(target: FoundJob, frontier: Frontier, values: Mapping[str, Any]) -> list[ProfileEdit]:
    """Change keys of a job's profile, nested as in a profile file. Return the edits. Raises JobError."""
    edits = frontier.edit(values, by=login_name(), lists=target.settings.home / LIST_FOLDER)
    for each in edits:
        line = {"line": each.line} if each.line else {}
        _note(target, "edit", {"key": each.key, **line, "from": each.before, "to": each.after}, "set")
    return edits


def _deletable(frontier: Frontier, finds: Callable[[str], bool]) -> Iterator[tuple[int, QueueEntry]]:
    """Yield the entries that `delete` deletes: 0 and a queued URL, or 1 and a render."""
    for place, desk in enumerate((frontier.desk, frontier.desk.renders())):
        for entry in desk.entries(("queued", "excluded"), finds):
            if not entry.code:  # a URL that ended as excluded has a code
                yield place, entry


def _take_lines(
    frontier: Frontier, file: OpenedLines, found: ImportCount, *, any_scope: bool, tell: Callable[[int], None]
) -> None:
    chunk: list[RestoredUrl] = []
    for number, text in numbered_lines(file.lines):
        try:
            if text is None:
                raise JobError(f"the line has more than {LONGEST_LINE:,} bytes; split it")
            match read_line(text):
                case RestoredUrl() as url:
                    chunk.append(url)
                case SeenMarks() | SeenBlock() as seen:
                    _restore(frontier, chunk, found, any_scope=any_scope)
                    chunk = []
                    if isinstance(seen, SeenMarks):
                        found.seen += frontier.desk.add_seen(seen.marks)
                    else:
                        frontier.desk.add_seen_block(seen)
                        found.blocks += 1
                case QueueHead():
                    pass
        except JobError as error:
            found.unusable += 1
            if len(found.problems) < MOST_PROBLEMS:
                found.problems.append((number, str(error)))
        if len(chunk) >= _CHUNK:
            _restore(frontier, chunk, found, any_scope=any_scope)
            chunk = []
        if number % _CHUNK == 0:
            tell(file.read_bytes)
    _restore(frontier, chunk, found, any_scope=any_scope)


def _restore(frontier: Frontier, chunk: Sequence[RestoredUrl], found: ImportCount, *, any_scope: bool) -> None:
    if not chunk:
        return
    decisions = frontier.decide([each.candidate for each in chunk], len(chunk))
    wanted = []
    for each, decision in zip(chunk, decisions, strict=True):
        if isinstance(decision, Rejected) and not any_scope:
            found.refused[decision.reason] += 1
        else:
            wanted.append(each)
    answers = frontier.desk.restore(wanted)
    if answers is None:
        raise _JobOver
    for each, is_new in zip(wanted, answers, strict=True):
        found.known += not is_new
        found.queued += is_new and each.state == "queued"
        found.ended += is_new and each.state != "queued"


class _JobOver(Exception):
    """The job has ended its work; no further line can be taken."""


def _note(target: FoundJob, command: str, arguments: Mapping[str, Any], outcome: str, *, by: str = "") -> None:
    """Note a change in the folder of the run."""
    if target.run is not None:
        note_change(target.run.folder, f"queue {command}", arguments, outcome, by=by)
