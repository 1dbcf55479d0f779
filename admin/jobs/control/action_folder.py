"""An operator puts files of URLs into the folder `action` of a run, and the running crawl takes them.

The endings and their meanings are those of Heritrix's action directory:

| ending | the URLs of the file |
|---|---|
| `.seeds` | become seeds, which extend the scope |
| `.schedule` | are queued when they are in scope and new |
| `.force` | are queued when they are in scope, also when they were visited |
| `.include` | are marked as seen, so that they are not visited |
| `.recover` | a recovery journal of Heritrix: URLs of `Fs` are marked as seen, other URLs of `F+` are queued |

A line has a URL, or a line of a journal: a tag such as `F+`, the URL, the hop path and the referring URL. Text that
begins with # is a comment. A file is taken when its size and its time have not changed between two looks. A file that
is done lies in `action/done`, beside a result. When the crawl is killed before, the file is read again from its first
line: URLs that were queued are known then, and a second visit is asked for once (`QueueDesk.forget_seen`).
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import batched
from pathlib import Path
from typing import BinaryIO, Final

from admin.jobs.control.operator_log import note_change
from admin.units import counted
from archive.dates import now_micros, timestamp14
from archive.files import replacement, sync_folder
from frontier.definition.job import JobError, Seed
from frontier.definition.scope import LINK_HOPS, Accepted, Candidate, Priority, Rejected, ScopeDecision
from frontier.links.memory import SEEN_REASONS
from frontier.queue import Frontier
from frontier.queues.lines import numbered_lines, opened_lines

FOLDER: Final = "action"
DONE: Final = "done"
LOOK_SECONDS: Final = 2.0
_WORK_SECONDS: Final = 0.2
"""A look takes lines for this time, so that the crawl is watched meanwhile."""
_CHUNK: Final = 200
_MOST_PROBLEMS: Final = 1_000
_ENDING: Final = re.compile(r"[^.].*\.(seeds|schedule|force|include|recover)(?:\.gz)?", re.DOTALL)
_TAG: Final = re.compile(r"(F[+a-z])\s+(\S+)(?:\s+(\S+))?(?:\s+(\S+))?")
_PATH: Final = re.compile(r"(?:\d{1,6}\+)?[A-Z]{1,100}")


@dataclass(frozen=True, slots=True)
class ActionLine:
    """An action line has a URL of a file. `tag` is the tag of a journal; empty without one."""

    candidate: Candidate
    tag: str = ""


@dataclass(slots=True)
class ActionResult:
    """The result counts the URLs of a file by their outcome."""

    outcomes: Counter[str] = field(default_factory=Counter)
    unusable: int = 0
    problems: list[str] = field(default_factory=list)
    """Lines that can't be used or were refused, with their numbers or URLs."""

    def line(self) -> str:
        """Return the counts in one line."""
        parts = [f"{counted(number, 'URL')} {name}" for name, number in sorted(self.outcomes.items())]
        if self.unusable:
            parts.append(f"{counted(self.unusable, 'line')} can't be used")
        return ", ".join(parts) or "no URL"

    def note(self, text: str) -> None:
        """Keep a problem, unless there are too many."""
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(text)


class _JobOver(Exception):
    """The job has ended its work, so that the file stays where it is."""


class ActionFolder:
    """The folder of one run. `look` is called again and again by the command that runs the job."""

    def __init__(self, run_folder: Path, frontier: Frontier, note: Callable[[str], None]) -> None:
        """`note` shows a notice."""
        self._run_folder = run_folder
        self._folder = run_folder / FOLDER
        self._frontier = frontier
        self._note = note
        self._stamps: dict[str, tuple[int, int, int]] = {}
        """Size, time and inode of each file at the last look."""
        self._marks: dict[str, str] = {}
        """The mark of each file whose second visits were asked for, until the file is done."""
        self._refused: set[str] = set()
        """Files that can't be read, or came too late."""
        self._work: Iterator[None] | None = None
        self._next_look = 0.0

    def prepare(self) -> None:
        """Make the folder. Raises OSError."""
        (self._folder / DONE).mkdir(parents=True, exist_ok=True)

    def look(self) -> None:
        """Take lines for a fifth of a second, of a file that is whole. Raises FrontierUnavailable and FrontierLost.

        After such an error, the file is read again from its first line.
        """
        if self._work is None:
            if time.monotonic() < self._next_look:
                return
            self._next_look = time.monotonic() + LOOK_SECONDS
            try:
                path = self._next_file()
            except OSError as error:
                if self._folder.name not in self._refused:
                    self._refuse(self._folder, f"{self._folder} can't be read: {error}; no file is taken from it")
                return
            if path is None:
                return
            self._work = self._take(path)
        work, self._work = self._work, None
        ends = time.monotonic() + _WORK_SECONDS
        for _ in work:
            if time.monotonic() >= ends:
                self._work = work
                return

    def left(self) -> list[str]:
        """Return the names of the files that were not taken."""
        try:
            return sorted(self._files())
        except OSError:
            return []

    def _files(self) -> dict[str, os.stat_result]:
        found = {}
        with suppress(FileNotFoundError), os.scandir(self._folder) as entries:
            for entry in entries:
                if _ENDING.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        found[entry.name] = entry.stat(follow_symlinks=False)
        return found

    def _next_file(self) -> Path | None:
        """Return a file that has not changed since the last look, the first by name; None when there is none."""
        stamps = {name: (stat.st_size, stat.st_mtime_ns, stat.st_ino) for name, stat in self._files().items()}
        before, self._stamps = self._stamps, stamps
        whole = [name for name, stamp in stamps.items() if before.get(name) == stamp and name not in self._refused]
        return self._folder / min(whole) if whole else None

    def _take(self, path: Path) -> Iterator[None]:
        """Take a file, and pause after each few lines."""
        result = ActionResult()
        found = _ENDING.fullmatch(path.name)
        assert found is not None
        stamp = self._stamps[path.name]
        mark = self._marks.setdefault(path.name, f"{path.name} {stamp[1]} {stamp[2]}")
        try:
            for tags in ("Fs", "F+") if found[1] == "recover" else ("",):
                # A journal is read twice. A line that can't be used is named once.
                with opened_lines(path) as file:
                    for chunk in batched(_lines(file.lines, tags, result, names=tags != "F+"), _CHUNK):
                        kind = {"Fs": "include", "F+": "schedule"}.get(tags, found[1])
                        self._act(kind, mark, [line.candidate for line in chunk], result)
                        yield
            stat = path.stat(follow_symlinks=False)
            if (stat.st_size, stat.st_mtime_ns, stat.st_ino) == stamp:
                self._finish(path, result)
                self._frontier.desk.drop_marks()
                self._marks.pop(path.name, None)
        except OSError as error:
            self._refuse(path, f"{path} can't be taken: {error}; correct it and give it another name")
        except _JobOver:
            self._refuse(path, f"{path} was not taken, as the job has ended its work")

    def _act(self, kind: str, mark: str, candidates: Sequence[Candidate], result: ActionResult) -> None:
        """Do with some URLs as the ending of the file says."""
        frontier = self._frontier
        decisions: Sequence[ScopeDecision]
        match kind:
            case "include":
                frontier.mark_seen(each.url for each in candidates)
                result.outcomes["marked as seen"] += len(candidates)
                return
            case "seeds":
                decisions = frontier.add_seeds([Seed(url=each.url) for each in candidates])
            case "force":
                wanted = frontier.decide(candidates, len(candidates))
                urls = [each.candidate.url for each in wanted if isinstance(each, Accepted)]
                frontier.desk.forget_seen(mark, urls)
                decisions = frontier.add_urls(candidates)
            case _:
                decisions = frontier.add_urls(candidates)
        if candidates and not decisions:
            raise _JobOver
        for decision in decisions:
            if isinstance(decision, Accepted):
                result.outcomes["queued"] += 1
            elif decision.reason in SEEN_REASONS:
                result.outcomes["known"] += 1
            else:
                result.outcomes["refused"] += 1
                result.note(_refusal(decision))

    def _finish(self, path: Path, result: ActionResult) -> None:
        """Write the result and move the file. Raises OSError."""
        target = self._folder / DONE / f"{timestamp14(now_micros())}.{path.name}"
        lines = [f"{path.name}: {result.line()}", *result.problems]
        with replacement(target.with_name(f"{target.name}.result")) as file:
            file.writelines(f"{line}\n".encode("utf-8", "replace") for line in lines)
        path.replace(target)
        sync_folder(self._folder)
        sync_folder(target.parent)
        self._note(f"{FOLDER}/{path.name} was taken: {result.line()}")
        note_change(self._run_folder, "action", {"file": path.name}, result.line())

    def _refuse(self, path: Path, why: str) -> None:
        self._refused.add(path.name)
        self._note(why)


def read_action_line(text: str) -> ActionLine:
    """Return the URL of a line. Raises JobError."""
    found = _TAG.fullmatch(text)
    if found is None:
        return ActionLine(Candidate(Seed.parse(text).url, priority=Priority.STANDARD))
    tag, url, path, via = found.groups()
    hops = path if path and _PATH.fullmatch(path) else ""
    depth = sum(hop in LINK_HOPS for hop in hops)
    return ActionLine(Candidate(Seed.parse(url).url, hop_path=hops, via=via if hops else None, depth=depth), tag)


def _lines(file: BinaryIO, tag: str, result: ActionResult, *, names: bool) -> Iterator[ActionLine]:
    """Yield the lines with this tag; all lines for "". With `names`, the lines that can't be used are noted."""
    for number, raw in numbered_lines(file):
        try:
            if raw is None:
                raise JobError("the line is too long; write one URL on each line")
            text = raw.decode("utf-8").lstrip("\ufeff").partition(" #")[0].strip()
            if not text or text.startswith("#"):
                continue
            line = read_action_line(text)
        except (JobError, UnicodeDecodeError) as error:
            if names:
                result.unusable += 1
                result.note(f"line {number}: {' '.join(str(error).split())[:500]}")
            continue
        if not tag or line.tag == tag:
            yield line


def _refusal(decision: Rejected) -> str:
    rule = f" ({decision.rule})" if decision.rule else ""
    return f"refused: {decision.candidate.url[:2_000]}: {decision.reason}{rule}"
