"""Users are notified of a harvester whose disk is full, and of patterns that a crawl switched off."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select
from support.admin.harvesters import Admin, RunningHarvester, Wanted, told
from support.admin.notifying import Notifying
from support.origins.chain_site import ChainSite
from support.processes.waiting import until

from admin.harvester.dispatch_link import DispatchLink
from admin.harvester.incident_reports import IncidentReports
from admin.harvester.job_folder import JobFolder
from admin.harvests.dispatch.harvesters import Registration, announce, register
from admin.harvests.dispatch.incidents import PATTERNS_OFF, RENDERS_LATE, report_killed_crawl, report_slow_patterns
from admin.harvests.dispatch.listing import job_samples
from admin.harvests.dispatch.queue import claim_job
from admin.models.errors import IllegalState
from admin.models.job_tables import HarvesterState
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE
from archive.dates import now_micros
from archive.settings.load import Settings
from frontier.lease import RenderProgress


def test_subscribers_hear_once_of_a_harvester_without_disk_space(settings: Settings, admin: Admin) -> None:
    site = Notifying(admin.database)
    site.subscribe(
        site.person("ada", Role.OPERATOR), "harvester.dormant", way="webhook", target="https://example.org/hook"
    )
    with RunningHarvester(settings.home, GHOSTFLEET_HARVESTER__MIN_SPACE_LEFT=str(10**18)):
        until(site.rows, what="a message in the outbox", within=60)
        until(lambda: admin.harvester().why, what="the reason of the dormant harvester", within=60)
    (row,) = site.rows()
    assert row.event == "harvester.dormant"
    assert row.subject.startswith("Harvester h1 is dormant: ")
    assert row.body["facts"]["min_space_left"] == 10**18


def test_a_pattern_that_a_crawl_switched_off_is_shown_audited_and_told_once(
    settings: Settings, admin: Admin, site: ChainSite
) -> None:
    outbox = Notifying(admin.database)
    outbox.hear(outbox.person("ada", Role.OPERATOR), "https://example.org/hook", event="trap.too-slow")
    blows_up = "(x+x+)+y"
    slow = [f"http://www.example.org/{'x' * 1_000}{number}" for number in range(4)]
    job = admin.job([Wanted("example.org")], ["http://www.example.org/", *slow], profile={"exclude": [blows_up]})
    site.hold("/2")
    resolve = f"*.example.org=127.0.0.1:{urlsplit(site.url).port}"

    def shown() -> list[str]:
        admin.submit()
        with admin.database.transaction(COMMAND_LINE) as transaction:
            return [
                text for sample in job_samples(transaction, job) for text in sample.progress.get("patterns_off", ())
            ]

    with RunningHarvester(settings.home, "--jobs", "1", "--resolve", resolve) as harvester:
        assert until(shown, what="the pattern on the live page", within=100)[0] == blows_up
        site.let_go("/2")
        ended = admin.ended(job)
        assert harvester.ended() == 0, harvester.said
    (row,) = outbox.rows()
    assert row.subject == f"A pattern was switched off in job {job}, as the search took too long: {blows_up}"
    assert row.body["facts"]["url"] in slow
    with admin.database.transaction(COMMAND_LINE) as transaction:
        (entry,) = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == PATTERNS_OFF)).all()
    assert entry.new == {blows_up: row.body["facts"]["url"]}
    assert ended.run_name is not None
    report = told(settings.collection("news") / "jobs" / ended.run_name / "report.json")
    assert report["switched_off_patterns"] == entry.new


def test_an_incident_that_is_reported_again_counts_once_and_only_with_the_token_of_the_job(admin: Admin) -> None:
    outbox = Notifying(admin.database)
    ada = outbox.person("ada", Role.OPERATOR)
    for event in ("job.killed", "trap.too-slow"):
        outbox.hear(ada, "https://example.org/hook", event=event)
    admin.job([Wanted("example.org")], ["http://www.example.org/"])
    with admin.database.transaction(COMMAND_LINE) as transaction:
        register(transaction, Registration("h1", "FOCUSED", "localhost", 1, 10**12))
        announce(transaction, "h1", HarvesterState.READY)
    assert admin.submit() == 1
    with admin.database.transaction(COMMAND_LINE) as transaction:
        job = claim_job(transaction, "h1")
        assert job is not None
    reports = [
        lambda transaction: report_killed_crawl(transaction, job.id, job.token, "by ada"),
        lambda transaction: report_slow_patterns(transaction, job.id, job.token, {"a": "http://a/", "b": "http://b/"}),
        lambda transaction: report_slow_patterns(transaction, job.id, job.token, {"b": "http://b/2"}),
        lambda transaction: report_slow_patterns(transaction, job.id, job.token, {"b": "x", "c" * 3_000: "http://c/"}),
    ]
    for expected in ([True, True, False, True], [False] * 4):
        for report, is_new in zip(reports, expected, strict=True):
            with admin.database.transaction(COMMAND_LINE) as transaction:
                assert report(transaction) is is_new
    assert [row.event for row in outbox.rows()] == ["job.killed", "trap.too-slow", "trap.too-slow"]
    assert outbox.rows()[1].subject == f"2 patterns were switched off in job {job.id}, as the search took too long: a"
    with (
        admin.database.transaction(COMMAND_LINE) as transaction,
        pytest.raises(IllegalState, match="another harvester"),
    ):
        report_slow_patterns(transaction, job.id, "wrong", {"d": "http://d/"})


def test_late_renders_are_told_once_until_they_are_over(admin: Admin, tmp_path: Path) -> None:
    outbox = Notifying(admin.database)
    outbox.hear(outbox.person("ada", Role.OPERATOR), "https://example.org/hook", event="job.renders-late")
    admin.job([Wanted("example.org")], ["http://www.example.org/"])
    with admin.database.transaction(COMMAND_LINE) as transaction:
        register(transaction, Registration("h1", "FOCUSED", "localhost", 1, 10**12))
        announce(transaction, "h1", HarvesterState.READY)
    assert admin.submit() == 1
    with admin.database.transaction(COMMAND_LINE) as transaction:
        job = claim_job(transaction, "h1")
        assert job is not None
    link = DispatchLink(admin.database, "h1", "FOCUSED")
    folder = JobFolder.make(tmp_path, job, now_micros(), lambda _: None)

    def look(reports: IncidentReports, *ages: float) -> None:
        for age in ages:
            reports.note_renders(RenderProgress(queued=7, oldest_seconds=age))
            reports.send()

    look(IncidentReports(link, folder), 10, 3500, 4000, 5000)
    look(IncidentReports(link, folder), 6000)  # after a restart of the harvester
    assert [row.subject for row in outbox.rows()] == [
        f"Renders of job {job.id} are late: a page has waited for 4000 s, and 7 are queued"
    ]
    look(IncidentReports(link, folder), 20, 4100)
    assert len(outbox.rows()) == 2
    with admin.database.transaction(COMMAND_LINE) as transaction:
        entries = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == RENDERS_LATE)).all()
    assert [(entry.new or {})["is_late"] for entry in entries] == [True, False, True]
