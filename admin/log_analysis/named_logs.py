"""A log has a name: that of a run of this home, or the one under which a log from elsewhere is analysed.

The analysis of a run is in the folder `analysis` of the run, that of another log in `<home>/analysis/NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from admin.jobs.runs import STATE_FILE, Run, RunError, find_runs, is_locked, read_run
from admin.jobs.states import JobState
from admin.log_analysis.columns.intake_state import has_state, read_state
from admin.log_analysis.columns.log_blocks import LogTrouble
from archive import crawl_log
from archive.names.name_rules import allowed_name
from archive.rotated_log import log_size, renamed_parts
from archive.settings.load import Settings

_FOLDER: Final = "analysis"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_RUN: Final = re.compile(r"(?P<job>.+)-(?P<time>\d{14})")
_HARVEST_JOB: Final = re.compile(r"h(?P<harvest>\d+)-(?P<number>\d+)")
"""The name of the crawl of a job of a harvest (`admin.harvester.job_folder`)."""
_MOST_CANDIDATES: Final = 50
_ENDED_BY_ITSELF: Final = (JobState.FINISHED, JobState.GAPS, JobState.LIMIT)


@dataclass(frozen=True, slots=True)
class NamedLog:
    """A log has a name, a path, and the folder of its analysis. `run` is the folder of the run; None for other logs."""

    name: str
    path: Path
    folder: Path
    run: Path | None = None

    @property
    def is_running(self) -> bool:
        """Return whether the crawl that writes the log runs on this machine."""
        return self.run is not None and is_locked(_run(self.run))


def find_log(settings: Settings, name: str) -> NamedLog:
    """Return the log of this name: of a run, of the latest run of a job, of a job by its number, or from elsewhere.

    Raises LogTrouble when there is none.
    """
    if _NAME.fullmatch(name):
        if has_state(settings.home / _FOLDER / name):
            return foreign_log(settings, name)
        if runs := _runs_of(settings, name):
            return run_log(max(runs, key=lambda each: each.name[-14:]))
    raise LogTrouble(
        f"there is no job and no analysed log {name[:100]!r} in {settings.home}; `ghostfleet job list` lists jobs,"
        " `ghostfleet log list` analysed logs"
    )


def run_log(run: Path) -> NamedLog:
    """Return the log of the run in this folder."""
    return NamedLog(run.name, run / crawl_log.FILE_NAME, run / _FOLDER, run)


def foreign_log(settings: Settings, name: str) -> NamedLog:
    """Return the log from elsewhere that was analysed under this name. Raises LogTrouble."""
    folder = settings.home / _FOLDER / name
    state = read_state(folder)
    if state is None:
        raise LogTrouble(
            f"the analysis in {folder} has not begun or is of another version; give `ghostfleet log analyse` the path"
        )
    return NamedLog(name, Path(state.source), folder)


def log_at(settings: Settings, path: Path, name: str = "") -> NamedLog:
    """Return the name for a log at this path: that of its run in this home, the one given, or one made of the path.

    A part of a rotated log of a run stands for the whole log. Raises LogTrouble when another log has the name.
    """
    path = path.absolute()
    whole = path.with_name(crawl_log.FILE_NAME)
    is_of_run = (path.parent / STATE_FILE).exists() and settings.home in path.parents
    if is_of_run and path in (whole, *(part for _, part in renamed_parts(whole))):
        return run_log(path.parent)
    own = path.parent.name if path.name.startswith(crawl_log.FILE_NAME) else path.name
    chosen = allowed_name(name or own) or "log"
    if name and chosen != name:
        raise LogTrouble(f"--name {name[:80]!r} can't be used; write for instance {chosen}")
    folder = settings.home / _FOLDER / chosen
    state = read_state(folder)
    if state is None and _runs_of(settings, chosen):
        raise LogTrouble(f"{chosen} is the name of a job or a run of this home; choose another one by --name")
    if state is not None and state.source != str(path):
        raise LogTrouble(f"{chosen} is the name of {state.source}; choose another one by --name")
    return NamedLog(chosen, path, folder)


def foreign_logs(settings: Settings) -> Iterator[NamedLog]:
    """Yield the logs from elsewhere, by name."""
    place = settings.home / _FOLDER
    for folder in sorted(place.iterdir()) if place.is_dir() else ():
        with suppress(LogTrouble):
            yield foreign_log(settings, folder.name)


def default_reference(log: NamedLog) -> NamedLog | None:
    """Return the log of the previous run of the same job, or of the same harvest; None without one.

    The run has ended by itself, and its log has lines. Jobs of one harvest differ in their seeds, so the run whose
    seeds are most alike wins, then the newest one.
    """
    found = _RUN.fullmatch(log.name) if log.run is not None else None
    if log.run is None or found is None:
        return None
    harvest = _HARVEST_JOB.fullmatch(found["job"])
    pattern = rf"h{harvest['harvest']}-\d+" if harvest is not None else re.escape(found["job"])
    earlier = [
        folder
        for folder in log.run.parent.iterdir()
        if re.fullmatch(rf"{pattern}-\d{{14}}", folder.name) and folder.name[-14:] < found["time"]
    ]
    own, best = _seeds(log.run), None
    for folder in sorted(earlier, key=lambda each: each.name[-14:], reverse=True)[:_MOST_CANDIDATES]:
        if _is_whole(folder):
            seeds = _seeds(folder)
            likeness = len(own & seeds) / max(len(own | seeds), 1)
            if best is None or likeness > best[0]:
                best = likeness, folder
    return run_log(best[1]) if best is not None else None


def running_logs(settings: Settings) -> Iterator[NamedLog]:
    """Yield the logs of the runs that a command executes now."""
    place = settings.home / "collections"
    for collection in sorted(place.iterdir()) if place.is_dir() else ():
        try:
            for run in find_runs(collection / "jobs"):
                if is_locked(run):
                    yield run_log(run.folder)
        except RunError:
            continue


def _is_whole(run: Path) -> bool:
    """Return whether a run ended by itself, and its log has lines."""
    try:
        return read_run(run).state.status in _ENDED_BY_ITSELF and log_size(run / crawl_log.FILE_NAME) > 0
    except (RunError, OSError):
        return False


def _runs_of(settings: Settings, name: str) -> list[Path]:
    """Return the folders of the runs with this name, of this job, or of the job of a harvest with this number."""
    runs = [*_folders(settings, name), *_folders(settings, f"{name}-*")]
    if name.isdecimal():
        runs += _folders(settings, f"h*-{name}-*")
    return [each for each in runs if _fits(each.name, name)]


def _folders(settings: Settings, pattern: str) -> list[Path]:
    return [path.parent for path in settings.home.glob(f"collections/*/jobs/{pattern}/{STATE_FILE}")]


def _fits(folder: str, name: str) -> bool:
    """Return whether a run has this name, is of the job with this name, or of the job with this number."""
    found = _RUN.fullmatch(folder)
    if found is None:
        return False
    harvest = _HARVEST_JOB.fullmatch(found["job"])
    return name in (folder, found["job"], harvest["number"] if harvest is not None else "")


def _run(folder: Path) -> Run:
    from admin.jobs.runs import RunState

    return Run(folder, RunState("", "", folder.name), resumed=False)


def _seeds(folder: Path) -> frozenset[str]:
    try:
        return frozenset((folder / "seeds.txt").read_text("utf-8", "replace").split()[:100_000])
    except OSError:
        return frozenset()


def job_number(name: str) -> int | None:
    """Return the number of the harvest's job whose run has this name; None for other logs. Pure."""
    found = _RUN.fullmatch(name)
    harvest = _HARVEST_JOB.fullmatch(found["job"]) if found is not None else None
    return int(harvest["number"]) if harvest is not None else None
