"""A harvester that is killed at any point: its job is reported once, its data is kept, and the next job runs."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select
from support.admin.crawl_log_sums import summed
from support.admin.harvesters import Admin, RunningHarvester, Wanted, folders, told
from support.admin.killed_harvester import POINTS
from support.admin.notifying import Notifying
from support.origins.chain_site import ChainSite
from support.processes.waiting import until

from admin.harvests.dispatch.incidents import CRAWL_KILLED
from admin.harvests.dispatch.listing import job_samples
from admin.harvests.dispatch.steering import Verb
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import Settings
from archive.warc.reading.reader import records
from archive.warc.upkeep.check import check

QUICK = ("claimed", "sent")
"""Points of the short form: nothing is on the disk, and the report has arrived."""
CUT_OFF = ("claimed", "folded", "taken", "half-prepared", "prepared", "started", "crawling")
"""Points before the end of the crawl."""
POINTS_IN_FULL = [point if point in QUICK else pytest.param(point, marks=pytest.mark.slow) for point in POINTS]


def flags(site: ChainSite) -> list[str]:
    return ["--resolve", f"*.example.org=127.0.0.1:{urlsplit(site.url).port}"]


def add(admin: Admin) -> int:
    return admin.job([Wanted("example.org")], ["http://www.example.org/"])


def reports_of(admin: Admin, job: int) -> int:
    with admin.database.transaction(COMMAND_LINE) as transaction:
        found = select(AuditEntry.id).where(AuditEntry.action == "job.end", AuditEntry.entity_id == str(job))
        return len(transaction.session.scalars(found).all())


@pytest.mark.parametrize("point", POINTS_IN_FULL)
def test_a_harvester_killed_at_a_point_of_its_work(
    settings: Settings, admin: Admin, site: ChainSite, tmp_path: Path, point: str
) -> None:
    first, second = add(admin), add(admin)
    admin.submit()
    storage = tmp_path / "storage"
    storage.mkdir()
    stored = {"GHOSTFLEET_STORAGE__URL": str(storage)}
    program = ("-m", "support.admin.killed_harvester", point)
    with RunningHarvester(settings.home, *flags(site), program=program, PYTHONPATH="tests", **stored) as killed:
        until(lambda: admin.submit() or killed.process.poll() is not None, what=f"the end at {point}", within=110)
        assert killed.ended() == -signal.SIGKILL, killed.said
    with RunningHarvester(settings.home, *flags(site), "--jobs", "1", **stored) as harvester:
        admin.ended(second, within=110)
        assert harvester.ended() == 0, harvester.said
    ended = [admin.show(job) for job in (first, second)]
    assert reports_of(admin, first) == reports_of(admin, second) == 1
    assert ended[1].status is JobStatus.DONE
    was_cut_off = point in CUT_OFF
    assert ended[0].status is (JobStatus.FAILED if was_cut_off else JobStatus.DONE), ended[0].harvest_error
    if was_cut_off:
        assert ended[0].harvest_error.startswith("Crawl probably interrupted by shutdown of the harvester")
    assert folders(settings.home) == []
    assert Counter(path.name.partition("_")[0] for path in folders(settings.home, "oldjobs")) == {
        str(first): 1,
        str(second): 1,
    }
    archive = settings.archive_dir("news")
    for job in (first, second):
        (metadata,) = archive.glob(f"{job}-metadata-*.warc")
        assert any("/setup/harvestInfo.json" in record.url for record in records(metadata) if record.kind == "resource")
    assert list(check(archive)) == []
    assert not list(archive.glob("*.open"))
    files = {path.name: path.read_bytes() for path in archive.glob("*.warc*")}
    assert {path.name: path.read_bytes() for path in (storage / "news" / "archive").glob("*.warc*")} == files
    objects, size, new, _ = admin.results(first)["example.org"]
    assert (ended[0].objects, ended[0].bytes) == (objects, size)
    logged = (0, 0, 0)
    if ended[0].run_name:
        logged = summed(settings.collection("news") / "jobs" / ended[0].run_name, "example.org")
    assert (objects, size, new) == logged, "the statistics are those of crawl.log"
    if not was_cut_off:
        assert objects == 13
    with admin.database.transaction(COMMAND_LINE) as transaction:
        assert not transaction.session.scalars(
            select(HarvestJob.id).where(HarvestJob.status == JobStatus.STARTED)
        ).all(), "no job is left with a harvester"


def test_a_harvester_killed_in_mid_crawl_keeps_what_was_fetched(
    settings: Settings, admin: Admin, site: ChainSite
) -> None:
    first, second = add(admin), add(admin)
    site.hold("/2")
    with RunningHarvester(settings.home, *flags(site)) as killed:
        admin.await_status(first, JobStatus.STARTED)
        until(lambda: "/2" in site.asked, what="the third page", within=100)
        killed.kill()
        with RunningHarvester(settings.home, *flags(site), "--jobs", "1") as harvester:
            until(lambda: "was left behind" in harvester.said, what="the job that was left behind")
            assert admin.show(first).status is JobStatus.STARTED, "its crawl goes on"
            site.let_go("/2")
            interrupted, done = admin.ended(first), admin.ended(second)
            assert harvester.ended() == 0, harvester.said
    assert interrupted.status is JobStatus.FAILED
    assert interrupted.harvest_error == "Crawl probably interrupted by shutdown of the harvester"
    assert admin.results(first)["example.org"][0] > 4
    assert reports_of(admin, first) == 1
    assert done.status is JobStatus.DONE
    assert list(check(settings.archive_dir("news"))) == []


def test_a_crawl_that_dies_costs_its_own_job_only(settings: Settings, admin: Admin, site: ChainSite) -> None:
    first, second = add(admin), add(admin)
    site.hold("/2")
    with RunningHarvester(settings.home, *flags(site), "--jobs", "2") as harvester:
        admin.await_status(first, JobStatus.STARTED)
        until(lambda: "/2" in site.asked, what="the third page", within=100)
        (folder,) = folders(settings.home)
        os.kill(told(folder / "state.json")["pid"], signal.SIGKILL)
        site.let_go("/2")
        failed, done = admin.ended(first), admin.ended(second)
        assert harvester.ended() == 0, harvester.said
    assert (failed.status, failed.exit_code) == (JobStatus.FAILED, -signal.SIGKILL)
    assert failed.harvest_error == "the crawl's process was killed by SIGKILL"
    assert admin.results(first)["example.org"][0] > 4
    assert done.status is JobStatus.DONE
    assert failed.run_name is not None
    reports = {path.name for path in (settings.collection("news") / "jobs" / failed.run_name).iterdir()}
    assert {"crawl-report.txt", "hosts-report.txt", "report.json"} <= reports, "made from the crawl.log"
    assert list(check(settings.archive_dir("news"))) == []


def test_a_crawl_that_hangs_is_killed_when_its_time_to_end_has_passed(
    settings: Settings, admin: Admin, site: ChainSite
) -> None:
    job = add(admin)
    site.hold("/2")
    outbox = Notifying(admin.database)
    outbox.hear(outbox.person("ada", Role.OPERATOR), "https://example.org/hook", event="job.killed")
    hurried = {"GHOSTFLEET_HARVESTER__PROCESS_SECONDS": "1"}
    with RunningHarvester(settings.home, *flags(site), "--jobs", "1", **hurried) as harvester:
        admin.await_status(job, JobStatus.STARTED)
        until(lambda: "/2" in site.asked, what="the third page", within=100)
        (folder,) = folders(settings.home)
        os.kill(told(folder / "state.json")["pid"], signal.SIGSTOP)
        admin.command(job, Verb.STOP_AFTER_PAGE)
        ended = admin.ended(job)
        site.let_go("/2")
        assert harvester.ended() == 0, harvester.said
    assert (ended.status, ended.exit_code) == (JobStatus.FAILED, -signal.SIGKILL)
    assert ended.harvest_error.startswith("the crawl did not end in time and was killed")
    (row,) = outbox.rows()
    why = "stopped by an operator"
    assert row.subject == f"The crawl of job {job} did not end in time and was killed; it had been asked to end: {why}"
    with admin.database.transaction(COMMAND_LINE) as transaction:
        (entry,) = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == CRAWL_KILLED)).all()
        assert (entry.entity_id, entry.new) == (str(job), {"asked_to_end": why})
        assert "killed" in [sample.state for sample in job_samples(transaction, job)]
    assert admin.results(job)["example.org"][0] > 4
    assert list(check(settings.archive_dir("news"))) == []


def test_a_job_that_was_given_up_meanwhile_brings_its_statistics_late(
    settings: Settings, admin: Admin, site: ChainSite
) -> None:
    from admin.harvests.dispatch.reports import fail_silent_jobs

    job = add(admin)
    site.hold("/2")
    with RunningHarvester(settings.home, *flags(site), "--jobs", "1") as harvester:
        admin.await_status(job, JobStatus.STARTED)
        until(lambda: "/2" in site.asked, what="the third page", within=100)
        with admin.database.transaction(COMMAND_LINE) as transaction:
            assert fail_silent_jobs(transaction, -60_000_000) == [job]
        assert harvester.ended() == 0, harvester.said
        site.let_go("/2")
    ended = admin.show(job)
    assert ended.status is JobStatus.FAILED
    assert "has said nothing for" in ended.harvest_error
    assert admin.results(job)["example.org"][0] > 4
