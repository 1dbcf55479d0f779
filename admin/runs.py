"""A run of a job, and its folder: `<home>/collections/NAME/jobs/<job>-<timestamp14>/`.

`profile.json` and `seeds.txt` are what was run (both can be given to `ghostfleet crawl` again), `run.json` says how
far the run came.
A run that did not end is taken up by the next command that asks for the same job; one that ended stays as it is, and
the job's next run gets a folder of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from archive.dates import now_micros, timestamp14

type Status = Literal["running", "stopped", "limit", "failed", "finished"]

STATE_FILE: Final = "run.json"
PROFILE_FILE: Final = "profile.json"
SEEDS_FILE: Final = "seeds.txt"
_LOCK_FILE: Final = ".lock"
_FOLDER: Final = re.compile(r"(?P<job>.+)-(?P<timestamp>\d{14})")


class RunError(Exception):
    """A run's folder can't be used; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class RunState:
    """What run.json holds. `seconds` is the time worked so far, `limits` what it was to stop at."""

    job: str
    collection: str
    name: str
    """The run's own name, which is its folder's and the frontier's: `<job>-<timestamp14>`."""
    status: Status = "running"
    reason: str = ""
    seconds: float = 0.0
    sittings: int = 0
    """How often it was taken up, the first time included."""
    limits: Mapping[str, float] | None = None

    def is_open(self, limits: Mapping[str, float]) -> bool:
        """Whether there is more to do: it was cut off, or stopped at limits that were raised since."""
        if self.status == "limit":
            return _reach_further(self.limits or {}, limits)
        return self.status != "finished"


@dataclass(frozen=True, slots=True)
class Run:
    """One run, found or made: where it is, and how far it came before now."""

    folder: Path
    state: RunState
    resumed: bool

    @property
    def crawl_log(self) -> Path:
        """The log the reports are made from."""
        return self.folder / "crawl.log"

    def save(self, **changes: Any) -> Run:
        """The run with these changes to its state, written to disk."""
        changed = replace(self, state=replace(self.state, **changes))
        _write_json(self.folder / STATE_FILE, asdict(changed.state))
        return changed

    def discard_if_new(self) -> None:
        """Drop the folder of a run that never began."""
        if not self.resumed:
            shutil.rmtree(self.folder, ignore_errors=True)

    def save_definition(self, seeds: Sequence[str], profile: Mapping[str, Any]) -> None:
        """Keep seeds and profile as they are run now; `--seeds-file` and `--profile` read both again."""
        (self.folder / SEEDS_FILE).write_text("".join(f"{seed}\n" for seed in seeds), "utf-8")
        _write_json(self.folder / PROFILE_FILE, profile)

    def seeds(self) -> list[str]:
        """The seeds as run last."""
        path = self.folder / SEEDS_FILE
        return path.read_text("utf-8").split() if path.exists() else []


def take_up(jobs: Path, collection: str, job: str, limits: Mapping[str, float]) -> Run:
    """The job's latest run when it is open, else a new one. Raises RunError."""
    latest = next((run for run in reversed(list(find_runs(jobs))) if run.state.job == job), None)
    if latest is not None and latest.state.is_open(limits):
        return replace(latest, resumed=True)
    name = f"{job}-{timestamp14(now_micros())}"
    folder = jobs / name
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise RunError(f"{folder} was made a moment ago by another command; try again") from error
    except OSError as error:
        raise RunError(f"{folder} can't be made: {error.strerror}; choose another --home or its rights") from error
    return Run(folder, RunState(job, collection, name), resumed=False)


def find_runs(jobs: Path) -> Iterator[Run]:
    """Every run in a collection's jobs folder, oldest first. Raises RunError for one that can't be read."""
    folders = [folder for folder in jobs.iterdir() if _FOLDER.fullmatch(folder.name)] if jobs.is_dir() else []
    for folder in sorted(folders, key=lambda folder: folder.name[-14:]):
        if (folder / STATE_FILE).exists():
            yield Run(folder, _read_state(folder / STATE_FILE), resumed=False)


@contextmanager
def held(run: Run) -> Iterator[None]:
    """Nobody else works on this run meanwhile. Raises RunError when somebody does."""
    with (run.folder / _LOCK_FILE).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunError(f"job {run.state.job} is being run already; wait for it, or give another --job") from error
        yield


def _reach_further(before: Mapping[str, float], now: Mapping[str, float]) -> bool:
    """Whether limits were raised or dropped, and none was lowered or added."""
    return dict(before) != dict(now) and all(name in before and now[name] >= before[name] for name in now)


def _read_state(path: Path) -> RunState:
    try:
        return RunState(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise RunError(f"{path} is damaged ({error}); move its folder away, and the job starts afresh") from error


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Whole or not at all, and durable: a torn run.json would hide that there is work left."""
    unfinished = path.with_name(f".{path.name}.new")
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=2, ensure_ascii=False, default=str)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
