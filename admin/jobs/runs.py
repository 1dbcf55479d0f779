"""A run of a job has a folder: `<home>/collections/NAME/jobs/<job>-<timestamp14>/`.

`profile.json` and `seeds.txt` have the definition; `ghostfleet crawl` accepts both files as options. `run.json` has
the state of the run. The next command for the same job resumes a run that has not ended. A run that has ended is not
changed any more, and the next run of the job gets a folder of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import batched, chain
from pathlib import Path
from typing import Any, Final

from admin.jobs.states import JobState
from archive import file_lock
from archive.dates import now_micros, timestamp14
from archive.file_lock import lock_or_not
from archive.files import drop_torn_line, make_folder, replacement, sync_folder
from archive.json_text import compact_json
from frontier.definition.seeds import SeedFile

STATE_FILE: Final = "run.json"
PROFILE_FILE: Final = "profile.json"
SEEDS_FILE: Final = "seeds.txt"
REPORT_FILE: Final = "report.json"
SEED_ENDS_FILE: Final = "seeds.jsonl"
_CHUNK: Final = 200_000
_LOCK_FILE: Final = ".lock"
_FOLDER: Final = re.compile(r"(?P<job>.+)-(?P<timestamp>\d{14})")


class RunError(Exception):
    """The folder of a run can't be used. The message names the folder, the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class RunState:
    """The content of run.json. `seconds` is the duration of all attempts, `limits` are the profile's limits."""

    job: str
    collection: str
    name: str
    """The name of the run in the frontier and of its folder: `<job>-<timestamp14>`."""
    status: JobState = JobState.RUNNING
    reason: str = ""
    seconds: float = 0.0
    sittings: int = 0
    """The number of attempts: the first start, and each time that the run was resumed. run.json uses this name."""
    limits: Mapping[str, float] | None = None
    started: str = ""
    """When the first attempt began (ISO, UTC)."""
    ended: str = ""
    """When the last attempt ended; empty while one is in progress, and after it was killed."""
    pages: int = 0
    """Documents that were visited."""
    urls: int = 0
    """Archived URLs: pages and the URLs that they embed."""
    bytes: int = 0
    left: int = 0
    """URLs in scope that were not visited."""
    failed: int = 0
    """URLs that failed after all tries."""
    missing: tuple[str, ...] = ()
    """One line for each thing that is missing, as in the summary."""
    allow_private: bool = False
    """The last attempt fetched from private addresses, too (`--allow-private`)."""
    resolve: Mapping[str, str] = field(default_factory=dict)
    """The addresses that the last attempt used instead of DNS (`--resolve`)."""
    upstream_ca: str = ""
    """The file of further authorities that the last attempt trusted (`--upstream-ca`)."""
    settings_file: str = ""
    """The further settings file of the last attempt (`--settings`)."""

    def can_resume(self, limits: Mapping[str, float]) -> bool:
        """Return whether the run can be resumed: it was cut off, or ended by limits that have been raised since."""
        if self.status is JobState.LIMIT:
            return _are_higher(self.limits or {}, limits)
        return self.status not in (JobState.FINISHED, JobState.GAPS)


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its folder and its state. `resumed` is true when an earlier attempt exists."""

    folder: Path
    state: RunState
    resumed: bool

    @property
    def crawl_log(self) -> Path:
        """The log from which the reports are made."""
        return self.folder / "crawl.log"

    def save(self, **changes: Any) -> Run:
        """Write these changes of the state to disk; return the changed run."""
        changed = replace(self, state=replace(self.state, **changes))
        _write_json(self.folder / STATE_FILE, asdict(changed.state))
        return changed

    def discard_if_new(self) -> None:
        """Delete the folder of a run that never began."""
        if not self.resumed:
            shutil.rmtree(self.folder, ignore_errors=True)

    def save_profile(self, profile: Mapping[str, Any]) -> None:
        """Write the profile, which `--profile` can read."""
        _write_json(self.folder / PROFILE_FILE, profile, is_private="headers" in profile)

    def append_seeds(self, urls: Iterable[str]) -> int:
        """Append seeds that the run does not have yet to the file, which `--seeds-file` can read. Return their number.

        `urls` has each seed once. The seeds are compared as a stream, and no seed is kept in memory for long. A part of
        a line, which a power cut within an earlier append has left, is removed first.
        """
        path = self.folder / SEEDS_FILE
        if not path.exists():
            with replacement(path) as new_file:
                new_file.writelines(f"{url}\n".encode() for url in urls)
            return len(self.seeds())
        drop_torn_line(path)
        new, left = 0, iter(urls)
        # The command that resumes a run has the same list again, so that usually nothing is left after this.
        for known, url in zip(self.seeds().urls(), left, strict=False):
            if known != url:
                left = chain([url], left)
                break
        for chunk in batched(left, _CHUNK):
            wanted = dict.fromkeys(chunk)
            for url in self.seeds().urls():
                wanted.pop(url, None)
            if wanted:
                with path.open("a", encoding="utf-8", newline="\n") as file:
                    file.writelines(f"{url}\n" for url in wanted)
                    file.flush()
                    os.fsync(file.fileno())
            new += len(wanted)
        return new

    def save_report(self, report: Mapping[str, Any], seeds: Iterable[Mapping[str, Any]] = ()) -> None:
        """Write the final states and totals that `job show --json` prints, with those of each seed in a file apart."""
        _write_json(self.folder / REPORT_FILE, report)
        with replacement(self.folder / SEED_ENDS_FILE, durable=False) as file:
            file.writelines(f"{compact_json(seed)}\n".encode() for seed in seeds)

    def seed_ends(self) -> Iterator[dict[str, Any]]:
        """Yield the final state and the totals of each seed; nothing for a run that never ended."""
        try:
            file = (self.folder / SEED_ENDS_FILE).open(encoding="utf-8", newline="\n")
        except FileNotFoundError:
            yield from self.report().get("seeds", ())  # releases before this file had the seeds in the report
            return
        with file:
            yield from map(json.loads, file)

    def report(self) -> dict[str, Any]:
        """Return the report that `save_report` wrote; empty for a run that never ended."""
        try:
            found = json.loads((self.folder / REPORT_FILE).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def seeds(self) -> SeedFile:
        """Return the seeds, with those that were added while the run went on."""
        return SeedFile(self.folder / SEEDS_FILE)


def resume_or_create(jobs: Path, collection: str, job: str, limits: Mapping[str, float], *, anew: bool = False) -> Run:
    """Return the job's latest run when it can be resumed, else, or with `anew`, a new run. Raises RunError.

    The name of a new run is durable when this function returns, so before the first record: a power cut leaves no
    record whose run nobody knows.
    """
    runs = [] if anew else list(find_runs(jobs))
    latest = next((run for run in reversed(runs) if run.state.job == job), None)
    if latest is not None and latest.state.can_resume(limits):
        return replace(latest, resumed=True)
    name = f"{job}-{timestamp14(now_micros())}"
    folder = jobs / name
    run = Run(folder, RunState(job, collection, name), resumed=False)
    try:
        make_folder(jobs)
        folder.mkdir()
        sync_folder(jobs)
        return run.save()
    except FileExistsError as error:
        raise RunError(f"{folder} was created a moment ago by another command; run the command again") from error
    except OSError as error:
        raise RunError(f"{folder} can't be created: {error.strerror}; check its permissions or --home") from error


def find_runs(jobs: Path) -> Iterator[Run]:
    """Yield every run in a collection's jobs folder, oldest first. Raises RunError for a run that can't be read."""
    folders = [folder for folder in jobs.iterdir() if _FOLDER.fullmatch(folder.name)] if jobs.is_dir() else []
    for folder in sorted(folders, key=lambda folder: folder.name[-14:]):
        if (folder / STATE_FILE).exists():
            yield read_run(folder)


def read_run(folder: Path) -> Run:
    """Return the run in this folder. Raises RunError when its state can't be read."""
    return Run(folder, _read_state(folder / STATE_FILE), resumed=False)


def find_job_names(jobs: Path) -> list[str]:
    """Return the names of all runs in a collection's jobs folder, even when their state can't be read."""
    folders = jobs.iterdir() if jobs.is_dir() else ()
    return sorted(folder.name for folder in folders if _FOLDER.fullmatch(folder.name))


@contextmanager
def locked(run: Run) -> Iterator[None]:
    """Hold the lock of a run. Raises RunError when another command holds it."""
    with lock_or_not(run.folder / _LOCK_FILE) as is_held:
        if not is_held:
            raise RunError(f"job {run.state.job} is already running; wait for its end, or give another --job")
        yield


def is_locked(run: Run) -> bool:
    """Return whether a command executes this run now. A run whose state is `running` without a lock was killed."""
    return file_lock.is_locked(run.folder / _LOCK_FILE)


def _are_higher(before: Mapping[str, float], now: Mapping[str, float]) -> bool:
    """Return whether limits were raised or removed, and none was lowered or added."""
    return dict(before) != dict(now) and all(name in before and now[name] >= before[name] for name in now)


def _read_state(path: Path) -> RunState:
    try:
        found = json.loads(path.read_text("utf-8"))
        status, missing = JobState(found.pop("status", JobState.RUNNING)), tuple(found.pop("missing", ()))
        return RunState(**found, status=status, missing=missing)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is damaged ({error}); move its folder away, then the job begins a new run") from error


def _write_json(path: Path, value: Mapping[str, Any], *, is_private: bool = False) -> None:
    """Replace the file atomically and durably, because a job with a damaged run.json can't be resumed.

    A private file may hold secrets, so only its owner can read it.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    with replacement(path, mode=0o600 if is_private else 0o666) as file:
        file.write(f"{text}\n".encode())
