"""admin/harvests/dispatch: jobs reach one harvester each, and their results are stored once."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text, update
from support.admin.harvest_database import MINUTE, SECOND, MovableClock
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.admin.notifying import Notifying
from support.each_value import each_value
from support.processes.waiting import until

from admin.harvests.dispatch import listing, steering
from admin.harvests.dispatch.harvesters import Registration, announce, list_harvesters, register
from admin.harvests.dispatch.job_status import TRANSITIONS, check_transition, may_follow
from admin.harvests.dispatch.queue import ClaimedJob, claim_job, claimed, resubmit, resubmit_after_restart, submit_jobs
from admin.harvests.dispatch.reports import DomainResult, JobResult, fail_silent_jobs, report_end, report_progress
from admin.harvests.dispatch.steering import JobCommandInput, Verb
from admin.models.database import Database
from admin.models.errors import Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.job_tables import DomainHistory, HarvesterState, HarvestJob, JobSample, JobStatus, StopReason
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door, Transaction

DONE = JobResult(
    succeeded=True,
    objects=12,
    bytes=3400,
    domains=(DomainResult("example.org", 12, 3400, 3000, StopReason.COMPLETE),),
)


@pytest.fixture
def jobs(database: Database) -> list[int]:
    """Five NEW jobs in channel FOCUSED, which harvester h1 listens to; one in SNAPSHOT, which nobody listens to."""
    with database.transaction(COMMAND_LINE) as transaction:
        focused, snapshot = add_channel(transaction), add_channel(transaction, "SNAPSHOT")
        add_domain(transaction, "example.org")
        harvest = add_harvest(transaction, focused)
        numbers = [add_job(transaction, harvest).id for _ in range(5)]
        add_job(transaction, add_harvest(transaction, snapshot, "everything"))
        for name in ("h1", "h2"):
            register(transaction, Registration(name, "FOCUSED", "machine", 1))
            announce(transaction, name, HarvesterState.READY)
    return numbers


def statuses(database: Database) -> list[JobStatus]:
    with database.transaction(COMMAND_LINE) as transaction:
        return [JobStatus(each) for each in transaction.session.scalars(select(HarvestJob.status).order_by("id"))]


def started(transaction: Transaction, harvester: str = "h1") -> ClaimedJob:
    submit_jobs(transaction)
    job = claim_job(transaction, harvester)
    assert job is not None
    return job


@each_value(("before", "after"), list(itertools.product(JobStatus, repeat=2)))
def test_states_follow_each_other_as_the_table_says(before: JobStatus, after: JobStatus) -> None:
    assert may_follow(before, after) is (after in TRANSITIONS[before])
    if not may_follow(before, after):
        with pytest.raises(IllegalState, match=f"job 7 is {before} and can't become {after}"):
            check_transition(7, before, after)


def test_jobs_of_a_channel_without_harvesters_stay_new(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        assert submit_jobs(transaction) == 5
    assert statuses(database) == [JobStatus.SUBMITTED] * 5 + [JobStatus.NEW]


def test_jobs_of_harvesters_that_went_silent_stay_new(database: Database, jobs: list[int], clock: MovableClock) -> None:
    clock.move(6 * MINUTE)
    with database.transaction(COMMAND_LINE) as transaction:
        assert submit_jobs(transaction) == 0
        assert all(each.is_silent for each in list_harvesters(transaction))


def test_a_limit_of_waiting_jobs_holds(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        assert submit_jobs(transaction, per_channel=2) == 2
        assert submit_jobs(transaction, per_channel=2) == 0


def test_a_harvester_gets_the_oldest_job_with_all_that_it_needs(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started(transaction)
    assert (job.id, job.harvest_name, job.channel, job.seeds) == (
        jobs[0],
        "weekly news",
        "FOCUSED",
        ("http://www.example.org/",),
    )
    assert [each.domain_name for each in job.domains] == ["example.org"]


@pytest.mark.parametrize("character", "\v\f\x1c\x1d\x1e\x85\u2028\u2029")
def test_a_line_of_a_job_s_seeds_is_one_seed(sqlite_database: Database, character: str) -> None:
    """The permission of the line's first URL must not let a second one be fetched."""
    seeds = (f"http://www.example.org/{character}http://barred.example/", "http://example.net/")
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        job = add_job(transaction, add_harvest(transaction, add_channel(transaction)))
        transaction.session.execute(update(HarvestJob).values(seeds="\n".join(seeds)))
        assert claimed(transaction, job.id).seeds == seeds
        transaction.session.execute(update(HarvestJob).values(seeds=""))
        assert claimed(transaction, job.id).seeds == ()


def test_a_harvester_has_one_job_at_a_time(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        started(transaction)
        with pytest.raises(IllegalState, match=f"still works on job {jobs[0]}"):
            claim_job(transaction, "h1")


def test_an_unknown_channel_is_refused(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction, pytest.raises(NotFound, match="no channel 'NONE'"):
        register(transaction, Registration("h9", "NONE", "machine", 1))


@pytest.mark.both_databases
def test_harvesters_that_race_never_get_the_same_job(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        for number in range(8):
            register(transaction, Registration(f"r{number}", "FOCUSED", "machine", 1))
        submit_jobs(transaction)
    taken: list[int] = []
    problems: list[BaseException] = []
    begin = threading.Barrier(8)

    def race(name: str) -> None:
        try:
            begin.wait()
            with database.transaction(COMMAND_LINE) as transaction:
                job = claim_job(transaction, name)
            if job is not None:
                taken.append(job.id)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=race, args=(f"r{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(taken) == len(set(taken))
    with database.transaction(COMMAND_LINE) as transaction:
        rows = transaction.session.scalars(select(HarvestJob).where(HarvestJob.status == JobStatus.STARTED)).all()
        assert sorted(row.id for row in rows) == sorted(taken)
        assert len({row.harvester for row in rows}) == len(rows)


@pytest.mark.both_databases
def test_after_a_restart_submitted_jobs_are_new_jobs_with_lineage(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        submit_jobs(transaction)
        assert len(resubmit_after_restart(transaction)) == 5
    with database.transaction(COMMAND_LINE) as transaction:
        rows = {row.id: row for row in transaction.session.scalars(select(HarvestJob))}
        old = [rows[number] for number in jobs]
        assert [row.status for row in old] == [JobStatus.RESUBMITTED] * 5
        new = [rows[row.resubmitted_as_id or 0] for row in old]
        assert [(row.status, row.resubmission_of_id, row.continuation_of_id) for row in new] == [
            (JobStatus.NEW, number, None) for number in jobs
        ]
        assert [row.seeds for row in new] == [row.seeds for row in old]
        assert [len(row.configurations) for row in new] == [1] * 5
        assert resubmit_after_restart(transaction) == []


@pytest.mark.both_databases
def test_the_end_of_a_job_is_stored_once(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started(transaction)
    for counted in (True, False, False):
        with database.transaction(COMMAND_LINE) as transaction:
            assert report_end(transaction, job.id, job.token, DONE) is counted
    with database.transaction(COMMAND_LINE) as transaction:
        (row,) = transaction.session.scalars(select(DomainHistory))
        assert (row.objects, row.bytes, row.new_bytes, row.stop_reason) == (12, 3400, 3000, "complete")
        assert listing.show_job(transaction, job.id).status is JobStatus.DONE
        assert claim_job(transaction, "h1") is not None


def test_a_report_with_another_token_is_refused(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started(transaction)
        with pytest.raises(IllegalState, match="belongs to another harvester"):
            report_end(transaction, job.id, "wrong", DONE)
        with pytest.raises(IllegalState):
            report_progress(transaction, job.id, "", "running", {})


def test_results_of_domains_that_are_not_of_the_job_are_not_counted(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "other.org")
        job = started(transaction)
        other = DomainResult("other.org", 1, 1, 1, StopReason.COMPLETE)
        report_end(transaction, job.id, job.token, JobResult(succeeded=True, domains=(*DONE.domains, other)))
        assert len(transaction.session.scalars(select(DomainHistory)).all()) == 1


def test_errors_of_harvest_and_upload_are_kept_apart_and_short(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started(transaction)
        report_end(
            transaction,
            job.id,
            job.token,
            JobResult(False, "h" * 1000, "H" * 99_999, "u" * 1000, "U" * 99_999),
        )
        found = listing.show_job(transaction, job.id)
    assert found.status is JobStatus.FAILED
    assert [len(text) for text in (found.harvest_error, found.harvest_error_details)] == [300, 10_000]
    assert [len(text) for text in (found.upload_error, found.upload_error_details)] == [300, 10_000]


@pytest.mark.both_databases
def test_a_silent_job_fails_and_its_late_report_brings_the_statistics(
    database: Database, jobs: list[int], clock: MovableClock
) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started(transaction)
    clock.move(10 * MINUTE - SECOND)
    with database.transaction(COMMAND_LINE) as transaction:
        assert fail_silent_jobs(transaction, 10 * MINUTE) == []
    clock.move(2 * SECOND)
    with database.transaction(COMMAND_LINE) as transaction:
        assert fail_silent_jobs(transaction, 10 * MINUTE) == [job.id]
        with pytest.raises(IllegalState, match="must stop its work"):
            report_progress(transaction, job.id, job.token, "running", {})
    for counted in (True, False):
        with database.transaction(COMMAND_LINE) as transaction:
            assert report_end(transaction, job.id, job.token, DONE) is counted
    with database.transaction(COMMAND_LINE) as transaction:
        found = listing.show_job(transaction, job.id)
        assert found.status is JobStatus.FAILED
        assert "has said nothing for 601 s" in found.harvest_error
        assert len(transaction.session.scalars(select(DomainHistory)).all()) == 1


def test_commands_reach_the_harvester_of_a_running_job_only(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        with pytest.raises(IllegalState, match="only a STARTED job takes commands"):
            steering.give_command(transaction, jobs[1], JobCommandInput(verb=Verb.PAUSE))
        job = started(transaction)
        steering.give_command(transaction, job.id, JobCommandInput(verb=Verb.BLOCK_HOST, host="www.example.org"))
        (command,) = report_progress(transaction, job.id, job.token, "running", {"urls": 3, "bytes": 9})
        assert (command.verb, command.arguments) == ("block-host", {"host": "www.example.org"})
        assert [each.progress["urls"] for each in listing.job_samples(transaction, job.id)] == [3]


def test_the_curve_of_a_job_has_its_first_and_newest_sample_and_no_more_points_than_asked_for(
    database: Database, jobs: list[int]
) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started(transaction)
        assert listing.job_curve(transaction, job.id) == []
        for urls in range(11):
            report_progress(transaction, job.id, job.token, "running", {"urls": urls}, hosts=[{"host": f"h{urls}"}])
        chosen = listing.job_curve(transaction, job.id, points=6)
        assert [each.progress["urls"] for each in chosen] == [0, 2, 4, 6, 8, 10]
        assert [each.hosts for each in chosen] == [[]] * 5 + [[{"host": "h10"}]]
        assert len(listing.job_curve(transaction, job.id)) == 11


@pytest.fixture
def running_job(sqlite_database: Database) -> int:
    """A job of example.org that a harvester has begun; its number."""
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        add_job(transaction, add_harvest(transaction, add_channel(transaction)))
        register(transaction, Registration("h1", "FOCUSED", "machine", 1))
        announce(transaction, "h1", HarvesterState.READY)
        return started(transaction).id


@each_value(
    ("given", "field"),
    [
        (JobCommandInput(verb=Verb.ADD_URLS), "urls"),
        (JobCommandInput(verb=Verb.ADD_URLS, urls=("no url",)), "urls"),
        (JobCommandInput(verb=Verb.BLOCK_HOST), "host"),
        (JobCommandInput(verb=Verb.UNBLOCK_HOST, host="ftp://x/"), "host"),
        (JobCommandInput(verb=Verb.SHOW_QUEUE, host="no host"), "host"),
        (JobCommandInput(verb=Verb.ADD_REJECT, expression="("), "expression"),
        (JobCommandInput(verb=Verb.ADD_REJECT, expression="(a+)+$"), "expression"),
        (JobCommandInput(verb=Verb.SEARCH_QUEUES, expression="(" * 990 + ")" * 990), "expression"),
        (JobCommandInput(verb=Verb.SET_LIMITS, limits={"moons": 3}), "limits.moons"),
        (JobCommandInput(verb=Verb.SET_LIMITS, limits={"urls": 0}), "limits.urls"),
        (JobCommandInput(verb=Verb.SET_GROUPS, groups=("shop",)), "groups"),
        (JobCommandInput(verb=Verb.SET_GROUPS, groups=("a x.org delay=1",) * 1001), "groups"),
        (JobCommandInput(verb=Verb.SET_LIMITS), "limits"),
        (JobCommandInput(verb=Verb.SET_DOMAIN_LIMITS, domain="example.org", limits={"urls": 3}), "limits.urls"),
        (JobCommandInput(verb=Verb.SET_DOMAIN_LIMITS, domain="example.org", limits={"bytes": 1e400}), "limits.bytes"),
        (JobCommandInput(verb=Verb.SET_DOMAIN_LIMITS, domain="example.org"), "limits"),
        (JobCommandInput(verb=Verb.SET_DOMAIN_LIMITS, domain="elsewhere.org", limits={"bytes": 3}), "domain"),
        (JobCommandInput(verb=Verb.SET_DOMAIN_LIMITS, domain="no domain", limits={"bytes": 3}), "domain"),
    ],
)
def test_commands_that_can_not_be_carried_out_are_refused(
    sqlite_database: Database, running_job: int, given: JobCommandInput, field: str
) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction, pytest.raises(InvalidInput) as caught:
        steering.give_command(transaction, running_job, given)
    assert {each.field for each in caught.value.problems} == {field}


@each_value(
    ("named", "host"),
    [
        (" WWW.Example.org. ", "www.example.org"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("www.example.org:80", "www.example.org"),
        ("www.example.org:443", "www.example.org"),
        ("www.example.org:8080", "www.example.org:8080"),
        ("https://www.example.org/news", "www.example.org"),
    ],
)
def test_a_command_names_a_host_as_the_queues_do(
    sqlite_database: Database, running_job: int, named: str, host: str
) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        for verb in (Verb.BLOCK_HOST, Verb.UNBLOCK_HOST, Verb.SHOW_QUEUE):
            given = steering.give_command(transaction, running_job, JobCommandInput(verb=verb, host=named))
            assert given.arguments == {"host": host}


def test_a_reader_can_not_steer(database: Database, jobs: list[int]) -> None:
    with database.transaction(Actor("rita", Role.READER, Door.WEB)) as transaction:
        with pytest.raises(Forbidden):
            steering.resubmit(transaction, jobs[0])
        with pytest.raises(Forbidden):
            steering.reject(transaction, jobs[0])


def test_a_rejection_can_be_undone_and_a_failed_job_resubmitted_as_its_continuation(
    database: Database, jobs: list[int]
) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started(transaction)
        report_end(transaction, job.id, job.token, JobResult(False, "it broke"))
        steering.reject(transaction, job.id, "known")
        with pytest.raises(IllegalState, match="FAILED_REJECTED and can't become RESUBMITTED"):
            resubmit(transaction, job.id)
        steering.undo_reject(transaction, job.id)
        new = resubmit(transaction, job.id)
        assert listing.show_job(transaction, new).continuation_of_id == job.id
        actions = transaction.session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)).all()
        assert actions[-3:] == ["job.reject", "job.undo_reject", "job.resubmit"]


@pytest.mark.both_databases
@pytest.mark.parametrize("tables_url", ["postgresql"], indirect=True)
def test_a_job_that_a_harvester_takes_at_this_moment_is_not_cancelled(database: Database, jobs: list[int]) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    def is_waiting() -> bool:
        with database.reading(COMMAND_LINE) as reading:
            return bool(reading.session.scalar(text(waiting)))

    def cancel() -> None:
        with database.transaction(COMMAND_LINE) as transaction:
            steering.fail_job(transaction, jobs[0], "not wanted")

    with ThreadPoolExecutor(1) as thread:
        with database.transaction(COMMAND_LINE) as transaction:
            assert started(transaction).id == jobs[0]
            cancelled = thread.submit(cancel)
            until(is_waiting, what="the wait for the row of the job")
        with pytest.raises(IllegalState, match="is STARTED"):
            cancelled.result()
    assert statuses(database)[0] is JobStatus.STARTED


def test_lists_are_paged_and_filtered(database: Database, jobs: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        first = listing.list_jobs(transaction, harvest_id=1, limit=2)
        assert ([each.id for each in first.items], first.next, first.total) == (jobs[:2:-1], str(jobs[3]), 5)
        second = listing.list_jobs(transaction, harvest_id=1, limit=3, after=first.next)
        assert ([each.id for each in second.items], second.next) == (jobs[2::-1], None)
        assert listing.list_jobs(transaction, domain="example.org").total == 6
        assert listing.list_jobs(transaction, domain="none.org").items == []
        assert listing.list_jobs(transaction, status=JobStatus.DONE).items == []
        with pytest.raises(InvalidInput):
            listing.list_jobs(transaction, after="1; DROP TABLE jobs")


def test_only_the_newest_sample_keeps_its_hosts(database: Database, jobs: list[int], clock: MovableClock) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        job = started(transaction)
    for number in range(3):
        clock.move(20 * SECOND)
        with database.transaction(COMMAND_LINE) as transaction:
            report_progress(transaction, job.id, job.token, "running", {"urls": number}, [{"host": f"h{number}"}])
    with database.transaction(COMMAND_LINE) as transaction:
        kept = transaction.session.scalars(select(JobSample.hosts).order_by(JobSample.id)).all()
        assert kept == [[], [], [{"host": "h2"}]]
        report_progress(transaction, job.id, job.token, "finishing", {}, sample=False)
        row = transaction.session.get_one(HarvestJob, job.id)
        assert row.objects == 2, "a report without numbers changes none"


@pytest.mark.parametrize(
    ("result", "events"),
    [
        (DONE, ["job.ended"]),
        (
            JobResult(succeeded=True, domains=[DomainResult("example.org", 1, 2, 2, StopReason.NO_GOOD_ANSWER)]),
            ["job.ended", "job.no-good-answer"],
        ),
        (JobResult(succeeded=False, harvest_error="no seed answered"), ["job.failed"]),
        (JobResult(succeeded=False, upload_error="the storage is away"), ["job.failed", "job.upload-failed"]),
    ],
)
def test_subscribers_hear_of_the_end_of_a_job(
    database: Database, jobs: list[int], result: JobResult, events: list[str]
) -> None:
    site = Notifying(database)
    ada = site.person("ada", Role.OPERATOR)
    for event in ("job.ended", "job.failed", "job.no-good-answer", "job.upload-failed"):
        site.subscribe(ada, event, way="webhook", target="https://example.org/hook")
    with database.transaction(COMMAND_LINE) as transaction:
        job = started(transaction)
        for _ in range(2):
            report_end(transaction, job.id, job.token, result)
    assert sorted(row.event for row in site.rows()) == events
