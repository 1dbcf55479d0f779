"""A job has a folder on its harvester's machine: `<home>/harvester/jobs/<job>_<milliseconds>/`.

It holds what the job is (`claim.json`, which is secret, `harvestInfo.json`, `seeds.txt`, `profile.json`), how far the
work has come (`state.json`) and what was reported (`result.json`). Every step is durable before the next one begins,
so that a harvester that was killed goes on where it was. When the end was reported, the folder moves to
`<home>/harvester/oldjobs/`.

All processes of the crawl hold a lock on `alive.lock`; nobody has the lock when they have ended.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self

from admin.harvests.dispatch.queue import ClaimedDomain, ClaimedJob
from admin.harvests.dispatch.reports import DomainResult, JobResult
from admin.models.job_tables import StopReason
from archive.dates import Micros
from archive.file_lock import is_locked, lock, try_lock
from archive.files import make_folder, replacement, sync_folder

log = logging.getLogger(__name__)

_FOLDER: Final = re.compile(r"(?P<job>\d+)_(?P<millis>\d+)")
_CLAIM: Final = "claim.json"
_STATE: Final = "state.json"
_RESULT: Final = "result.json"
_OWNER_LOCK: Final = "owner.lock"
_ALIVE_LOCK: Final = "alive.lock"
_UNBORN_SECONDS: Final = 3_600.0
INFO_FILE: Final = "harvestInfo.json"
SEEDS_FILE: Final = "seeds.txt"
PROFILE_FILE: Final = "profile.json"


class FolderError(Exception):
    """A job's folder can't be made or used; the message says why, and what to do."""


class JobStep(StrEnum):
    """The work on a job has come to the end of this step; they follow each other in this order."""

    TAKEN = "taken"
    """The job is this harvester's, and its folder is there."""
    PREPARED = "prepared"
    """harvestInfo, seeds and profile are written."""
    CRAWLING = "crawling"
    """The crawl's process was started."""
    CRAWLED = "crawled"
    """All processes of the crawl have ended, and its files are whole."""
    COUNTED = "counted"
    """The reports and the statistics of the domains are made."""
    DOCUMENTED = "documented"
    """The metadata file is in the archive."""
    UPLOADED = "uploaded"
    """The data files were handed over, or why not is known."""
    METADATA_UPLOADED = "metadata-uploaded"
    """The same of the metadata file."""
    REPORTED = "reported"
    """The end was reported."""

    def is_before(self, other: JobStep) -> bool:
        """Return whether this step comes before the other."""
        order = list(JobStep)
        return order.index(self) < order.index(other)


class StopCause(StrEnum):
    """A crawl was asked to end before its time for this cause."""

    NONE = ""
    OPERATOR = "operator"
    NO_RESPONSE = "no-response"
    INACTIVITY = "inactivity"
    SHUTDOWN = "shutdown"
    """The harvester itself was asked to end."""
    GIVEN_UP = "given-up"
    """The job does not belong to this harvester any more."""


@dataclass(frozen=True, slots=True)
class JobFolderState:
    """state.json holds these values."""

    step: JobStep = JobStep.TAKEN
    pid: int = 0
    """Of the crawl's process."""
    run_name: str = ""
    run_folder: str = ""
    cause: StopCause = StopCause.NONE
    reason: str = ""
    """Why the crawl was asked to end, for people."""
    refusal: str = ""
    """Why the crawl could not begin."""
    exit_code: int | None = None
    was_killed: bool = False
    """The crawl's process did not end in time, and was killed."""
    was_cut_off: bool = False
    """The crawl's process ended without the reports of its run."""
    patterns_off: Mapping[str, str] = field(default_factory=dict)
    """Patterns that the crawl switched off, as their search took too long, each with such a URL."""
    late_renders: int = 0
    """Number of renders that were queued when pages began to wait too long for theirs; 0 when no page does."""
    late_seconds: float = 0.0
    """How long the oldest of these pages had waited then."""
    domain_limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Limits that operators gave to domains, by the names `bytes` and `objects`; -1 is no limit."""
    was_interrupted: bool = False
    """The harvester ended, or was killed, while the crawl went on."""
    seen_objects: int = 0
    """The objects that crawl.log told of while the crawl went on."""
    log_sizes: Mapping[str, int] = field(default_factory=dict)
    """Sizes of the home's log files before the crawl."""
    bad_seeds: tuple[str, ...] = ()
    metadata_name: str = ""
    upload_errors: Mapping[str, str] = field(default_factory=dict)
    """Files that were not handed over, and why."""
    troubles: Mapping[str, str] = field(default_factory=dict)
    """Steps that failed, and why."""


@dataclass(slots=True)
class JobFolder:
    """A job folder is the folder of one job, held by the process that works on the job."""

    path: Path
    claim: ClaimedJob
    state: JobFolderState
    _owner_fd: int = -1
    on_step: Callable[[JobStep], None] = lambda _: None

    @classmethod
    def make(cls, harvester: Path, claim: ClaimedJob, now: Micros, on_step: Callable[[JobStep], None]) -> Self:
        """Make the folder of a job that was just taken.

        Raises FolderError when the job was begun before: a job runs once, and is resubmitted as a new one.
        """
        for place in ("jobs", "oldjobs"):
            for other in (harvester / place).glob(f"{claim.id}_*"):
                if (other / INFO_FILE).exists() and _token_in(other) == claim.token:
                    raise FolderError(f"{other / INFO_FILE} exists already: job {claim.id} is not started twice")
        jobs = harvester / "jobs"
        try:
            make_folder(jobs)
            path = jobs / f"{claim.id}_{now // 1000}"
            fresh = jobs / f".{path.name}.new"
            fresh.mkdir()
            owner_fd = _locked(fresh / _OWNER_LOCK)
            assert owner_fd is not None
            _write_json(fresh / _CLAIM, asdict(claim), is_private=True)
            _write_json(fresh / _STATE, asdict(JobFolderState()))
            if path.exists():
                raise FileExistsError(errno.EEXIST, "it exists already")
            fresh.rename(path)
            sync_folder(jobs)
        except OSError as error:
            raise FolderError(f"the folder of job {claim.id} can't be made in {jobs}: {error.strerror}") from error
        folder = cls(path, claim, JobFolderState(), owner_fd, on_step)
        on_step(JobStep.TAKEN)
        return folder

    @classmethod
    def take_over(cls, path: Path, on_step: Callable[[JobStep], None]) -> Self | None:
        """Return a folder that was left behind; None when its owner lives.

        A folder that can't be read moves to `damaged`: what the crawl fetched is not in it.
        """
        fd = _locked(path / _OWNER_LOCK)
        if fd is None:
            return None
        try:
            claim = _claim(json.loads((path / _CLAIM).read_text("utf-8")))
            state = _state(json.loads((path / _STATE).read_text("utf-8")))
        except (OSError, ValueError, TypeError, KeyError) as error:
            os.close(fd)
            aside = path.parent.parent / "damaged"
            make_folder(aside)
            path.rename(aside / path.name)
            log.error("%s can't be read (%s); it is now in %s", path, error, aside)
            return None
        return cls(path, claim, state, fd, on_step)

    @property
    def job_name(self) -> str:
        """Return the name of the crawl's job, which no other job of the database has."""
        return f"h{self.claim.harvest_id}-{self.claim.id}"

    @property
    def file_prefix(self) -> str:
        """Return how the names of the job's WARC files begin, as NetarchiveSuite names them."""
        return f"{self.claim.id}-{self.claim.harvest_id}-"

    @property
    def run_folder(self) -> Path | None:
        """Return the folder of the crawl's logs and reports; None when the crawl did not come so far."""
        return Path(self.state.run_folder) if self.state.run_folder else None

    def save(self, **changes: Any) -> None:
        """Keep these changes of the state, durably; then tell of the step when it is another one."""
        before = self.state.step
        self.state = replace(self.state, **changes)
        _write_json(self.path / _STATE, asdict(self.state))
        if self.state.step is not before:
            self.on_step(self.state.step)

    def try_save(self, **changes: Any) -> None:
        """Keep these changes as `save` does; what a full disk does not take is kept with the next save."""
        try:
            self.save(**changes)
        except OSError as error:
            log.warning("job %d: its state is kept later: %s", self.claim.id, error)

    def write_setup(self, info: Mapping[str, Any], seeds: Sequence[str], profile: Mapping[str, Any]) -> None:
        """Write harvestInfo and what the crawl needs. Raises FolderError when harvestInfo is there already."""
        path = self.path / INFO_FILE
        if path.exists():
            raise FolderError(f"{path} exists already: job {self.claim.id} is not started twice")
        _write_text(self.path / SEEDS_FILE, "".join(f"{seed}\n" for seed in seeds))
        _write_json(self.path / PROFILE_FILE, profile, is_private="headers" in profile)
        _write_json(path, info)

    def save_result(self, result: JobResult) -> None:
        """Keep the result, which is reported until the report arrives."""
        _write_json(self.path / _RESULT, asdict(result))

    def result(self) -> JobResult | None:
        """Return the result that was kept; None when there is none that can be read."""
        try:
            found = json.loads((self.path / _RESULT).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        domains = [DomainResult(**each | {"stop_reason": StopReason(each["stop_reason"])}) for each in found["domains"]]
        return JobResult(**found | {"domains": domains})

    def close(self, *, is_over: bool) -> None:
        """Let go of the folder; one whose end was reported moves to `oldjobs`."""
        if is_over:
            old = self.path.parent.parent / "oldjobs"
            make_folder(old)
            self.path.rename(old / self.path.name)
            sync_folder(old)
            sync_folder(self.path.parent)
        if self._owner_fd >= 0:
            os.close(self._owner_fd)
            self._owner_fd = -1

    @contextmanager
    def presence(self) -> Iterator[int]:
        """Yield a descriptor for the crawl's processes: as long as one of them has it open, `is_alive` is true."""
        fd = os.open(self.path / _ALIVE_LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock(fd, waits=False)
            yield fd
        finally:
            os.close(fd)

    @property
    def is_alive(self) -> bool:
        """Return whether a process of the crawl lives."""
        return is_locked(self.path / _ALIVE_LOCK)

    def kill_processes(self) -> int:
        """Kill the crawl's processes, which are known by the lock that they hold; how many were found."""
        path, killed = os.path.realpath(self.path / _ALIVE_LOCK), 0
        for entry in Path("/proc").iterdir() if Path("/proc/self/fd").exists() else ():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            if _has_open(entry, path):
                with suppress(OSError):
                    os.kill(int(entry.name), signal.SIGKILL)
                    killed += 1
        return killed


def _has_open(process: Path, path: str) -> bool:
    """Return whether the process of this folder of /proc has the file open; it may close other files meanwhile."""
    with suppress(OSError):
        for fd in (process / "fd").iterdir():
            with suppress(OSError):
                if os.readlink(fd) == path:
                    return True
    return False


def is_here(harvester: Path, claim: ClaimedJob) -> bool:
    """Return whether a folder of this job is there, so that its owner or the next start finishes the job."""
    return any(_token_in(path) == claim.token for path in (harvester / "jobs").glob(f"{claim.id}_*"))


def leftovers(harvester: Path, on_step: Callable[[JobStep], None]) -> Iterator[JobFolder]:
    """Yield the folders of jobs whose end was not reported and on which nobody works, oldest first."""
    jobs = harvester / "jobs"
    _remove_unborn(jobs)
    for path in sorted(jobs.iterdir(), key=_age) if jobs.is_dir() else ():
        if _FOLDER.fullmatch(path.name) and (folder := JobFolder.take_over(path, on_step)) is not None:
            yield folder


def _remove_unborn(jobs: Path) -> None:
    """Remove folders whose making was cut off an hour ago or earlier: nothing was done in them."""
    for path in jobs.glob(".*.new"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _UNBORN_SECONDS:
                shutil.rmtree(path)


def _age(path: Path) -> tuple[int, str]:
    found = _FOLDER.fullmatch(path.name)
    return (int(found["millis"]) if found else 0, path.name)


def _token_in(path: Path) -> str | None:
    try:
        return str(json.loads((path / _CLAIM).read_text("utf-8"))["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _locked(path: Path) -> int | None:
    """Return a descriptor that holds the lock; None when another process has it, or when the folder is gone."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return None
    if try_lock(fd):
        return fd
    os.close(fd)
    return None


def _claim(found: dict[str, Any]) -> ClaimedJob:
    domains = tuple(ClaimedDomain(**each) for each in found.pop("domains"))
    seeds, earlier = tuple(found.pop("seeds")), tuple(found.pop("duplicate_reduction_jobs"))
    return ClaimedJob(**found, seeds=seeds, duplicate_reduction_jobs=earlier, domains=domains)


def _state(found: dict[str, Any]) -> JobFolderState:
    step, cause = JobStep(found.pop("step")), StopCause(found.pop("cause"))
    return JobFolderState(**found | {"bad_seeds": tuple(found["bad_seeds"])}, step=step, cause=cause)


def _write_json(path: Path, value: Mapping[str, Any], *, is_private: bool = False) -> None:
    _write_text(path, json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n", is_private=is_private)


def _write_text(path: Path, text: str, *, is_private: bool = False) -> None:
    """Write the file whole or not at all, and durably."""
    with replacement(path, mode=0o600 if is_private else 0o644) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
