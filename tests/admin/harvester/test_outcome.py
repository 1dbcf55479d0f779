"""What a job's end is reported to be."""

from __future__ import annotations

import pytest

from admin.harvester.job_folder import JobFolderState, JobStep, StopCause
from admin.harvester.outcome import (
    HarvestError,
    default_stop_reason,
    harvest_error,
    left_by_host,
    upload_error,
    with_errors,
)
from admin.harvester.running.stillness import Stillness
from admin.harvests.dispatch.reports import JobResult
from admin.jobs.runs import RunState
from admin.jobs.states import JobState
from admin.models.job_tables import StopReason


def run(status: JobState, reason: str = "") -> RunState:
    return RunState("h1-1", "news", "h1-1-20261121081500", status, reason, ended="2026-11-21T08:15:00Z")


@pytest.mark.parametrize(
    ("state", "status", "reason", "error", "stop"),
    [
        (JobFolderState(exit_code=0), JobState.FINISHED, "", "", StopReason.COMPLETE),
        (JobFolderState(exit_code=3), JobState.GAPS, "", "", StopReason.COMPLETE),
        (JobFolderState(exit_code=4), JobState.LIMIT, "90 seconds", "", StopReason.TIME_LIMIT),
        (JobFolderState(exit_code=4), JobState.LIMIT, "500 URLs", "", StopReason.UNFINISHED),
        (JobFolderState(exit_code=4), JobState.LIMIT, "5 pages of a host, on 1 host", "", StopReason.COMPLETE),
        (JobFolderState(exit_code=5, cause=StopCause.OPERATOR), JobState.STOPPED, "", "", StopReason.UNFINISHED),
        (JobFolderState(exit_code=130, cause=StopCause.OPERATOR), JobState.INTERRUPTED, "", "", StopReason.UNFINISHED),
        (JobFolderState(exit_code=130, cause=StopCause.NO_RESPONSE), JobState.STOPPED, "", "", StopReason.UNFINISHED),
        (JobFolderState(exit_code=5, cause=StopCause.INACTIVITY), JobState.STOPPED, "", "", StopReason.UNFINISHED),
        (
            JobFolderState(exit_code=130, cause=StopCause.SHUTDOWN),
            JobState.INTERRUPTED,
            "",
            "Crawl interrupted by shutdown of the harvester",
            StopReason.UNFINISHED,
        ),
        (
            JobFolderState(exit_code=0, cause=StopCause.SHUTDOWN),
            JobState.FINISHED,
            "",
            "",
            StopReason.COMPLETE,
        ),
        (
            JobFolderState(exit_code=1),
            JobState.FAILED,
            "no seed could be captured: name not found (-6)",
            "no seed could be captured: name not found (-6)",
            StopReason.UNFINISHED,
        ),
        (
            JobFolderState(exit_code=-9),
            JobState.RUNNING,
            "",
            "the crawl's process was killed by SIGKILL",
            StopReason.UNFINISHED,
        ),
        (
            JobFolderState(exit_code=130),
            JobState.INTERRUPTED,
            "",
            "the crawl was interrupted by a signal",
            StopReason.UNFINISHED,
        ),
        (
            JobFolderState(was_killed=True, exit_code=-9, reason="stopped by an operator"),
            JobState.RUNNING,
            "",
            "the crawl did not end in time and was killed; it had been asked to end: stopped by an operator",
            StopReason.UNFINISHED,
        ),
        (
            JobFolderState(was_interrupted=True),
            JobState.FINISHED,
            "",
            "Crawl probably interrupted by shutdown of the harvester",
            StopReason.UNFINISHED,
        ),
        (
            JobFolderState(exit_code=130, cause=StopCause.GIVEN_UP, reason="job 1 is FAILED"),
            JobState.INTERRUPTED,
            "",
            "the job was given up while it was crawled: job 1 is FAILED",
            StopReason.UNFINISHED,
        ),
    ],
)
def test_an_end_has_its_error_and_its_stop_reason(
    state: JobFolderState, status: JobState, reason: str, error: str, stop: StopReason
) -> None:
    ended = run(status, reason)
    assert harvest_error(state, ended, "").short == error
    assert default_stop_reason(state, ended) is stop


def test_a_crawl_that_never_began_is_said_to_have_been_interrupted_before() -> None:
    state = JobFolderState(was_interrupted=True)
    assert harvest_error(state, None, "").short.endswith("before the crawl had begun")
    assert default_stop_reason(state, None) is StopReason.UNFINISHED
    refused = JobFolderState(refusal="port 80 is taken", exit_code=1)
    assert harvest_error(refused, None, "its log").short == "the crawl could not begin: port 80 is taken"


def test_a_long_error_is_whole_in_the_details() -> None:
    error = harvest_error(JobFolderState(refusal="x" * 500), None, "last words")
    assert len(error.short) == 300
    assert "x" * 500 in error.details
    assert "last words" in error.details


def test_what_is_left_of_hosts_is_known_only_from_a_report() -> None:
    report = {
        "hosts": [{"host": "a.test", "left": 5, "state": "aside"}, {"host": "b.test", "left": 0, "state": "left"}]
    }
    assert left_by_host(report, run(JobState.GAPS)) == {"a.test": 5}
    assert left_by_host({}, run(JobState.GAPS)) is None
    assert left_by_host(report, None) is None


def test_upload_errors_are_apart_from_harvest_errors() -> None:
    result = JobResult(succeeded=True, harvest_error="")
    error = upload_error({"1-1-a.warc.gz": "the storage is away", "1-1-b.warc.gz": "the storage is full"})
    assert error.short == "2 files not uploaded; 1-1-a.warc.gz: the storage is away"
    reported = with_errors(result, {}, error, allow_upload_failures=False)
    assert (reported.succeeded, reported.harvest_error) == (False, "")
    assert "1-1-b.warc.gz: the storage is full" in reported.upload_error_details
    assert with_errors(result, {}, error, allow_upload_failures=True).succeeded
    assert upload_error({}) == HarvestError()


@pytest.mark.parametrize(
    "step", [JobStep.CRAWLED, JobStep.COUNTED, JobStep.DOCUMENTED, JobStep.UPLOADED, JobStep.METADATA_UPLOADED]
)
def test_a_step_that_failed_makes_the_job_fail_in_the_field_it_concerns(step: JobStep) -> None:
    reported = with_errors(
        JobResult(succeeded=True), {step: "OSError: no room"}, HarvestError(), allow_upload_failures=False
    )
    assert not reported.succeeded
    fields = (reported.harvest_error, reported.upload_error)
    assert [bool(each) for each in fields] == [
        step in (JobStep.CRAWLED, JobStep.COUNTED),
        step not in (JobStep.CRAWLED, JobStep.COUNTED),
    ]
    assert "failed: OSError: no room" in "".join(fields)


def test_no_bytes_for_too_long_ends_a_crawl_and_any_byte_puts_it_off() -> None:
    still = Stillness(no_response_seconds=10, inactivity_seconds=100)
    moments = [(0, 0), (9, 0), (10, 5), (19, 5), (20, 5)]
    for now, size in moments:
        assert still.look(now, got_bytes=size, visits=1, is_paused=False) is StopCause.NONE
    assert still.look(20.1, got_bytes=5, visits=1, is_paused=False) is StopCause.NO_RESPONSE
    assert "no bytes came for 10 s" in still.reason(StopCause.NO_RESPONSE)


def test_no_visit_for_too_long_ends_a_crawl() -> None:
    still = Stillness(no_response_seconds=1000, inactivity_seconds=10)
    assert still.look(0, got_bytes=0, visits=0, is_paused=False) is StopCause.NONE
    assert still.look(9, got_bytes=0, visits=1, is_paused=False) is StopCause.NONE
    assert still.look(19, got_bytes=0, visits=0, is_paused=False) is StopCause.NONE
    assert still.look(19.1, got_bytes=0, visits=0, is_paused=False) is StopCause.INACTIVITY


def test_a_pause_begins_both_times_anew() -> None:
    still = Stillness(no_response_seconds=10, inactivity_seconds=10)
    still.look(0, got_bytes=0, visits=0, is_paused=False)
    assert still.look(500, got_bytes=0, visits=0, is_paused=True) is StopCause.NONE
    assert still.look(509, got_bytes=0, visits=0, is_paused=False) is StopCause.NONE
    assert still.look(511, got_bytes=0, visits=0, is_paused=False) is not StopCause.NONE
