"""A job's end follows from how its crawl ended: what went wrong, and why its domains stopped. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from admin.fleet.process import exit_text
from admin.harvester.job_folder import JobFolderState, JobStep, StopCause
from admin.harvests.dispatch.reports import DomainResult, JobResult
from admin.jobs.results.ending import SeedEnd, is_time_limit
from admin.jobs.runs import RunState
from admin.jobs.states import EXIT_CODES, HostState, JobState, SeedState
from admin.models.job_tables import StopReason
from admin.units import counted

_SHORT: Final = 300
_LONG: Final = 10_000
_GAPS: Final = 1_000
_SHOWN: Final = 5
_WITH_GAPS: Final = (JobState.GAPS, JobState.LIMIT, JobState.STOPPED, JobState.INTERRUPTED)
"""A run with one of these states has left something out, and has lines that say what."""
_STEP_TEXTS: Final = {
    JobStep.CRAWLED: "the closing of the crawl",
    JobStep.COUNTED: "the counting of the domains",
    JobStep.DOCUMENTED: "the writing of the metadata file",
    JobStep.UPLOADED: "the upload of data files",
    JobStep.METADATA_UPLOADED: "the upload of the metadata file",
}
_UPLOAD_STEPS: Final = (JobStep.DOCUMENTED, JobStep.UPLOADED, JobStep.METADATA_UPLOADED)
"""A failure in these steps concerns the files and not the harvest."""
_ORDERLY: Final = frozenset(
    EXIT_CODES[state] for state in (JobState.FINISHED, JobState.GAPS, JobState.LIMIT, JobState.STOPPED)
)
_INTERRUPTED: Final = EXIT_CODES[JobState.INTERRUPTED]
_WELL_ASKED: Final = (StopCause.OPERATOR, StopCause.NO_RESPONSE, StopCause.INACTIVITY)
"""A crawl that ends for one of these causes ends as it should: what it has is kept, and the job is done."""
PROBABLY_INTERRUPTED: Final = "Crawl probably interrupted by shutdown of the harvester"


@dataclass(frozen=True, slots=True)
class HarvestError:
    """The error says what went wrong with a harvest, in a line and with all that is known; empty when nothing did."""

    short: str = ""
    details: str = ""


def harvest_error(state: JobFolderState, run: RunState | None, last_words: str) -> HarvestError:
    """Return what went wrong with the crawl. `run` is None when the crawl did not come so far."""
    if state.refusal:
        return _error(f"the crawl could not begin: {state.refusal}", last_words)
    if state.was_interrupted:
        where = "" if run is not None else " before the crawl had begun"
        return _error(f"{PROBABLY_INTERRUPTED}{where}", state.reason)
    if state.was_killed:
        return _error(f"the crawl did not end in time and was killed; it had been asked to end: {state.reason}", "")
    if state.cause is StopCause.SHUTDOWN and state.exit_code == _INTERRUPTED:
        return _error("Crawl interrupted by shutdown of the harvester", state.reason)
    if state.cause is StopCause.GIVEN_UP:
        return _error(f"the job was given up while it was crawled: {state.reason}", "")
    if state.exit_code in _ORDERLY or (state.exit_code == _INTERRUPTED and state.cause in _WELL_ASKED):
        return HarvestError()
    if run is not None and run.status is JobState.FAILED and state.exit_code == EXIT_CODES[JobState.FAILED]:
        return _error(run.reason or "the crawl failed", "\n".join(run.missing))
    if state.cause in _WELL_ASKED and run is not None and not state.was_cut_off:
        return HarvestError()
    if state.exit_code == _INTERRUPTED:
        return _error("the crawl was interrupted by a signal", last_words)
    return _error(f"the crawl's process {exit_text(state.exit_code)}", last_words)


def loss_of_files(seen: int, counted_objects: int, removed: Mapping[str, int]) -> HarvestError:
    """Return what was removed from the home while the job ran, with counts; empty when nothing was.

    `seen` objects were told of while the crawl went on, and crawl.log has `counted_objects` now. `removed` are WARC
    files that are not there, each with the number of its objects.
    """
    all_objects = max(seen, counted_objects)
    lost = all_objects - counted_objects + sum(removed.values())
    if not lost:
        return HarvestError()
    what = "files of the collection were removed while the job ran"
    details = [f"{name}: {counted(objects, 'object')}" for name, objects in removed.items()]
    if seen > counted_objects:
        details.insert(0, f"crawl.log: {counted(seen - counted_objects, 'object')} with their WARC files")
    return _error(f"{what}: {lost} of {counted(all_objects, 'object')} are lost", "\n".join(details))


def default_stop_reason(state: JobFolderState, run: RunState | None, *, is_lost: bool = False) -> StopReason:
    """Return why the harvest of those domains ended that reached no limit of their own.

    `is_lost` tells that files of the job were removed while it ran, or that queued URLs were lost: nobody knows of
    which domains these were.
    """
    if is_lost or run is None or state.was_interrupted or state.was_killed or state.refusal:
        return StopReason.UNFINISHED
    if run.status in (JobState.FINISHED, JobState.GAPS):
        return StopReason.COMPLETE
    if is_time_limit(run.status, run.reason):
        return StopReason.TIME_LIMIT
    if run.status is JobState.LIMIT and _is_limit_of_hosts(run):
        return StopReason.COMPLETE
    return StopReason.UNFINISHED


def ended_in_order(state: JobFolderState) -> bool:
    """Return whether the crawl came to an end of its own, so that nothing of it is left in Redis."""
    return state.exit_code in _ORDERLY and not state.was_killed


def left_by_host(report: Mapping[str, Any], run: RunState | None) -> dict[str, int] | None:
    """Return the URLs that were not visited, by host, as report.json says; None when the crawl wrote none."""
    if run is None or not run.ended or "hosts" not in report:
        return None
    return {
        str(host["host"]): int(host["left"])
        for host in report["hosts"]
        if host["left"] and host["state"] != HostState.VISITED
    }


def seed_ends(report: Mapping[str, Any]) -> list[SeedEnd] | None:
    """Return the ends of the seeds, as report.json has them; None when the crawl wrote none."""
    found = report.get("seeds")
    return [SeedEnd(each["url"], SeedState(each["state"]), int(each["code"])) for each in found] if found else None


def gaps_of(run: RunState | None, domains: Sequence[DomainResult]) -> str:
    """Return what is missing in a job that ended, the domains without a good answer first; empty for nothing."""
    dead = [each.domain_name for each in domains if each.stop_reason is StopReason.NO_GOOD_ANSWER]
    lines = list(run.missing) if run is not None and run.status in _WITH_GAPS else []
    if dead:
        more = f" and {len(dead) - _SHOWN} more" if len(dead) > _SHOWN else ""
        lines.insert(0, f"no good answer from {counted(len(dead), 'domain')}: {', '.join(dead[:_SHOWN])}{more}")
    return "; ".join(lines)[:_GAPS]


def upload_error(errors: Mapping[str, str]) -> HarvestError:
    """Return what went wrong with the upload, in a line and with all files; empty when nothing did."""
    if not errors:
        return HarvestError()
    name, why = next(iter(errors.items()))
    short = f"{len(errors)} file{'' if len(errors) == 1 else 's'} not uploaded; {name}: {why}"
    return HarvestError(short[:_SHORT], "\n".join(f"{name}: {why}" for name, why in errors.items())[:_LONG])


def with_errors(
    result: JobResult, troubles: Mapping[str, str], upload: HarvestError, *, allow_upload_failures: bool
) -> JobResult:
    """Return the result with what went wrong after the crawl, each kind in its own fields.

    `troubles` are the steps that failed, and why. Only the two uploads and the metadata file count as upload.
    """
    of_upload = {step: why for step, why in troubles.items() if step in _UPLOAD_STEPS}
    of_harvest = {step: why for step, why in troubles.items() if step not in _UPLOAD_STEPS}
    harvest_texts = [f"{_STEP_TEXTS[JobStep(step)]} failed: {why}" for step, why in of_harvest.items()]
    upload_texts = [f"{_STEP_TEXTS[JobStep(step)]} failed: {why}" for step, why in of_upload.items()]
    harvest_short = "; ".join(filter(None, (result.harvest_error, *harvest_texts)))[:_SHORT]
    upload_short = "; ".join(filter(None, (upload.short, *upload_texts)))[:_SHORT]
    return replace(
        result,
        succeeded=not harvest_short and (allow_upload_failures or not upload_short),
        harvest_error=harvest_short,
        harvest_error_details="\n".join(filter(None, (result.harvest_error_details, *harvest_texts)))[:_LONG],
        upload_error=upload_short,
        upload_error_details="\n".join(filter(None, (upload.details, *upload_texts)))[:_LONG],
    )


def _is_limit_of_hosts(run: RunState) -> bool:
    """Return whether nothing is left but what lies beyond the limit of pages of single hosts."""
    return " pages of a host" in run.reason


def _error(short: str, details: str) -> HarvestError:
    """Return the error; what does not fit into its short form stands in the details."""
    whole = short if len(short) <= _SHORT else f"{short}\n{details}".strip()
    return HarvestError(short[:_SHORT], details if whole == short else whole)
