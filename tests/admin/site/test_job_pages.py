"""Pages of one job and of lists of jobs: progress, hosts, log with search, pictures, commands with confirmation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event, select, update
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.web.axe_pages import opened_tab, serious_on_pages
from support.web.security_site import form_token
from support.web.site_server import RunningSite, running_site, send_form

from admin.harvester.documents.metadata_file import TEXT, MetadataOwner, MetadataPart, publish_metadata, write_metadata
from admin.harvests.dispatch.harvesters import Registration, announce, register
from admin.harvests.dispatch.job_domains import list_job_domains
from admin.harvests.dispatch.listing import JobOrder, list_jobs
from admin.harvests.dispatch.observations import (
    MOST_PICTURE_BYTES,
    MOST_PICTURES,
    MOST_TAIL_BYTES,
    LogTail,
    Observations,
    Picture,
    list_pictures,
    picture_bytes,
    show_log,
    store_observations,
)
from admin.harvests.dispatch.queue import TOO_LATE, claim_job, submit_jobs
from admin.harvests.dispatch.reports import DomainResult, JobResult, report_end, report_progress
from admin.harvests.dispatch.steering import NOT_DONE, fail_job, list_commands
from admin.harvests.statistics.overview import show_overview
from admin.models.database import Database
from admin.models.harvest_tables import Harvest
from admin.models.job_tables import (
    HarvesterState,
    HarvestJob,
    JobCommand,
    JobLog,
    JobPicture,
    JobStatus,
    StopReason,
)
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE
from archive.names.warc_paths import WarcPaths
from archive.settings.load import Settings
from dedupdb.captures.capture_index import Captures
from dedupdb.index.sidecars import Sidecars

HOSTILE = '"><script>alert(1)</script>\u202e'
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
DOMAINS = ("example.org", "example.com", "example.net")


@pytest.fixture
def site(sqlite_database: Database, tmp_path: Path) -> Iterator[RunningSite]:
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield running


@pytest.fixture
def client(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.ADMINISTRATOR) as client:
        yield client


@pytest.fixture
def job(sqlite_database: Database) -> tuple[int, str]:
    """A started job whose harvester has reported; its number and its token."""
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        for name in DOMAINS:
            add_domain(transaction, name)
        add_job(transaction, add_harvest(transaction, add_channel(transaction)), DOMAINS)
        register(transaction, Registration("h1", "FOCUSED", "machine", 1))
        announce(transaction, "h1", HarvesterState.READY)
        submit_jobs(transaction)
        found = claim_job(transaction, "h1")
        assert found is not None
    report(sqlite_database, (found.id, found.token), 40, 20)
    report(sqlite_database, (found.id, found.token), 50, 30)
    return found.id, found.token


def report(database: Database, job: tuple[int, str], urls: int, queued: int, seen: Observations | None = None) -> None:
    progress: dict[str, Any] = {
        "urls": urls,
        "bytes": urls * 1000,
        "new_bytes": urls * 600,
        "queued": queued,
        "in_flight": 2,
        "failed": 3,
        "hosts_waiting": 1,
        "duplicates": 7,
        "urls_per_second": 1.5,
        "bytes_per_second": 2500.0,
        "limits": {"bytes": 5e9, "seconds": 3600.0},
        "errors": {HOSTILE: 2, "timed out (-4)": 1},
    }
    hosts = [
        {"host": HOSTILE, "queued": 7, "objects": 1, "failed": 0, "kind": "politeness", "why": HOSTILE},
        {"host": "dead.test", "queued": 0, "objects": 0, "failed": 9, "kind": "dead", "why": "given up"},
    ]
    with database.transaction(COMMAND_LINE) as transaction:
        report_progress(transaction, *job, "running", progress, hosts, seen=seen)


def log_of(*lines: str) -> Observations:
    text = "".join(f"{line}\n" for line in lines)
    return Observations(LogTail(len(text), text))


def test_a_running_job_shows_rates_new_and_known_hosts_with_reasons_and_errors(
    client: httpx.Client, job: tuple[int, str]
) -> None:
    text = client.get(f"/jobs/{job[0]}").text
    for shown in ("1.5 per second", "2.5 kB per second", "30.0 kB new", "20.0 kB known", "7 duplicate objects"):
        assert shown in text, shown
    for shown in ("bytes 5.0 GB", "seconds 1 h 0 min", "dead.test", "given up", "timed out (-4)", "2 being visited"):
        assert shown in text, shown
    assert "<script>alert" not in text
    assert 'data-chart="{&#34;title&#34;: &#34;Objects over time&#34;' in text
    assert "Show the numbers as a table" in text
    hosts = client.get(f"/jobs/{job[0]}/hosts.csv").text.splitlines()
    assert hosts[0] == "host,queued,objects,failed,kind,why"
    assert hosts[2] == "dead.test,0,0,9,dead,given up"


def test_hosts_of_a_job_that_has_ended_wait_for_nothing(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        transaction.session.execute(update(HarvestJob).values(status=JobStatus.DONE, ended=transaction.now))

    hosts = client.get(f"/jobs/{job[0]}/hosts.csv").text.splitlines()

    assert hosts[1].endswith(",7,1,0,ended,the job has ended; 7 URLs not visited")
    assert hosts[2] == "dead.test,0,0,9,dead,given up"


def test_only_jobs_that_failed_by_themselves_need_a_person(sqlite_database: Database, job: tuple[int, str]) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        harvest = transaction.session.get_one(Harvest, transaction.session.get_one(HarvestJob, job[0]).harvest_id)
        unwanted, failed = add_job(transaction, harvest), add_job(transaction, harvest)
        fail_job(transaction, unwanted.id, "not wanted")
        failed.status, failed.harvest_error = JobStatus.FAILED, "the disk was full"
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        assert [each.id for each in show_overview(transaction).failed] == [failed.id]


def test_the_log_is_searched_by_a_regular_expression(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    path = f"/jobs/{job[0]}/log"
    assert "The harvester has not reported the log yet." in client.get(path).text
    report(sqlite_database, job, 51, 3, log_of("200 http://a.test/ one", "404 http://b.test/ two", HOSTILE))
    whole = client.get(path).text
    assert "3 lines" in whole
    assert "This is the whole log" in whole
    assert "<script>alert" not in whole
    found = client.get(path, params={"pattern": r"^404 \S+b\.test"}).text
    assert "1 line of 3 found" in found
    assert "b.test/ two" in found
    assert "a.test/ one" not in found
    part = client.get(f"{path}/live", params={"pattern": "two"})
    assert part.text.startswith("<section")
    assert "<script>" not in client.get(path, params={"pattern": "</pre><script>alert(1)</script>"}).text


def test_a_bad_pattern_is_said_beside_its_field_and_a_slow_one_ends(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    report(sqlite_database, job, 51, 3, log_of("x" * 5000))
    path = f"/jobs/{job[0]}/log"
    bad = client.get(path, params={"pattern": "("})
    assert bad.status_code == 422
    assert re.search(r'id="pattern-problem"[^>]*>[^<]*is no regular expression', bad.text)
    assert 'value="("' in bad.text
    bomb = client.get(path, params={"pattern": "(x+x+)+y"})
    assert bomb.status_code == 422
    assert "takes longer than 1 s; make it simpler" in bomb.text
    assert "write at most 500" in client.get(path, params={"pattern": "x" * 501}).text
    answer = client.get(f"/api/v1/jobs/{job[0]}/log", params={"pattern": "(x+x+)+y"})
    assert answer.status_code == 422
    assert answer.json()["problems"][0]["field"] == "pattern"


def test_what_a_harvester_shows_is_bounded_and_goes_with_the_job(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    pictures = [Picture(f"http://a.test/{number}", number, PNG) for number in range(20)]
    pictures.append(Picture("http://evil.test/", 99, b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"))
    pictures.append(Picture("http://large.test/", 99, PNG + bytes(MOST_PICTURE_BYTES)))
    report(sqlite_database, job, 51, 3, Observations(LogTail(9_000_000, "line\0\n" * 50_000), pictures))
    report(sqlite_database, job, 52, 3, Observations(None, pictures[:5]))
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        tail = transaction.session.scalars(select(JobLog.tail)).one()
        urls = [row.url for row in transaction.session.scalars(select(JobPicture).order_by(JobPicture.id))]
    assert len(tail) <= MOST_TAIL_BYTES
    assert "\0" not in tail
    assert len(urls) == MOST_PICTURES
    assert urls[-1] == "http://a.test/4"
    assert not {"http://evil.test/", "http://large.test/"} & set(urls)
    assert "the end of the log, which has 9.0 MB" in client.get(f"/jobs/{job[0]}/log").text
    give(client, job[0], verb="pause")
    end(sqlite_database, job)
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        assert transaction.session.scalars(select(JobLog)).all() == []
        assert transaction.session.scalars(select(JobPicture)).all() == []
        assert [each.outcome for each in list_commands(transaction, job[0])] == [TOO_LATE]


def test_a_running_job_can_be_paused_or_resumed_whichever_changes_something(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    def offered() -> set[str]:
        found = [re.findall(r">(Pause|Resume)<", client.get(f"/jobs/{job[0]}{part}").text) for part in ("", "/live")]
        assert found[0] == found[1]
        return set(found[0])

    assert offered() == {"Pause"}
    give(client, job[0], verb="pause")
    give(client, job[0], verb="block-host", host="a.test")
    assert offered() == {"Resume"}
    give(client, job[0], verb="resume")
    assert offered() == {"Pause"}
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        commands = list(transaction.session.scalars(select(JobCommand).order_by(JobCommand.id)))
        commands[-1].outcome = f"{NOT_DONE}: the crawl is ending"
    assert offered() == {"Resume"}


def test_the_reports_and_logs_of_an_ended_job_are_pages_with_search(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str], settings: Settings, tmp_path: Path
) -> None:
    number, _ = job
    assert "The job has not ended." in client.get(f"/jobs/{number}/documents").text
    end(sqlite_database, job)
    empty = client.get(f"/jobs/{number}/documents").text
    assert "no reports" in empty
    assert f"/jobs/{number}/documents" in client.get(f"/jobs/{number}").text
    assert f"/jobs/{number}/documents" in client.get(f"/jobs/{number}/log").text
    report_text = f"[#urls] [#bytes] [host]\n3 400 {HOSTILE}\n".encode()
    documents = [
        MetadataPart("reports", "hosts-report.txt", TEXT, report_text),
        MetadataPart("logs", "crawl.log", TEXT, f"one {HOSTILE}\ntwo\n".encode()),
    ]
    name = f"{number}-metadata-1.warc"
    owner = MetadataOwner("kb.example", "news", 1, number, "h1")
    write_metadata(tmp_path / name, name, owner, documents, settings, 1_800_000_000_000_000)
    publish_metadata(tmp_path / name, WarcPaths(settings.collection("news"), name), "news")
    with Captures(settings.database_url) as captures:
        Sidecars(settings.home, captures).reconcile("news")
    listed = client.get(f"/jobs/{number}/documents").text
    log, hosts = re.findall(r'href="(/jobs/\d+/documents/\d+)"', listed)[::-1]
    table = client.get(hosts).text
    assert '<th class="number">#urls</th>' in table
    assert '<td class="number">400</td>' in table
    found = client.get(log, params={"pattern": "^two$"}).text
    assert ">two</pre>" in found
    assert "1 line found" in found
    for path in (listed, table, client.get(log).text, found):
        assert "<script>alert" not in path
    bad = client.get(log, params={"pattern": "("})
    assert (bad.status_code, "is no regular expression" in bad.text) == (422, True)
    file = client.get(f"{log}/file")
    assert file.content == documents[1].content
    assert file.headers["Content-Disposition"] == f"attachment; filename=job-{number}-crawl.log"
    assert client.get(f"/jobs/{number}/documents/3").status_code == 404
    to_log = client.get(f"/jobs/{number}/crawl-log", params={"domain": "example.org"})
    assert (to_log.status_code, to_log.headers["Location"]) == (302, f"{log}?domain=example.org")
    rows = client.get(f"/jobs/{number}/domains.csv").text.splitlines()
    assert rows[0].startswith("domain,configuration,expected_objects,")
    assert [row.partition(",")[0] for row in rows[1:]] == sorted(DOMAINS)
    told = client.get(f"/api/v1/jobs/{number}/documents").json()["items"]
    assert [each["name"] for each in told] == ["crawl.log", "hosts-report.txt"]
    part = client.get(f"/api/v1/jobs/{number}/documents/{told[0]['offset']}", params={"pattern": "two"}).json()
    assert (part["lines"], part["next"]) == (["two"], None)


def test_a_picture_is_served_so_that_nothing_in_it_becomes_active(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    report(sqlite_database, job, 51, 3, Observations(None, [Picture(f"http://a.test/{HOSTILE}", 1, PNG)]))
    page = client.get(f"/jobs/{job[0]}").text
    source = re.search(r'<img src="(/jobs/\d+/pictures/\d+)"', page)
    assert source is not None
    assert "<script>alert" not in page
    answer = client.get(source[1])
    assert answer.content == PNG
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert client.get(f"/jobs/{job[0] + 1}/pictures/1").status_code == 404
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.scalars(select(JobPicture)).one()
        row.image = b"<html><script>alert(1)</script>"
    assert client.get(source[1]).status_code == 404


def test_both_databases_keep_what_a_harvester_shows(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        number = add_job(transaction, add_harvest(transaction, add_channel(transaction))).id
        seen = Observations(LogTail(99, "one\ntwo\0\n"), [Picture("http://a.test/\0", 5, PNG)])
        store_observations(transaction, number, seen)
        store_observations(transaction, number, Observations(LogTail(100, "two\nthree\n")))
    with database.reading(COMMAND_LINE) as transaction:
        assert show_log(transaction, number, pattern="^t").lines == ["two", "three"]
        (picture,) = list_pictures(transaction, number)
        assert (picture.size, picture.at) == (len(PNG), 5)
        assert picture_bytes(transaction, number, picture.id) == PNG


def give(client: httpx.Client, number: int, **values: str) -> httpx.Response:
    return send_form(client, f"/jobs/{number}", f"/jobs/{number}/command", **values)


def end(database: Database, job: tuple[int, str], *, succeeded: bool = True) -> None:
    results = [
        DomainResult("example.org", 10, 1000, 400, StopReason.COMPLETE),
        DomainResult("example.com", 30, 500, 500, StopReason.SIZE_LIMIT),
        DomainResult("example.net", 20, 3000, 0, StopReason.COMPLETE),
    ]
    with database.transaction(COMMAND_LINE) as transaction:
        error = "" if succeeded else "no seed answered"
        report_end(
            transaction, *job, JobResult(succeeded, error, domains=results, objects=60, bytes=4500, new_bytes=900)
        )


@pytest.mark.parametrize(
    "values", [{"verb": "stop-now"}, {"verb": "stop-after-page"}, {"verb": "add-reject", "expression": "/calendar<b>/"}]
)
def test_what_can_not_be_undone_is_asked_first_and_is_audited(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str], values: dict[str, str]
) -> None:
    asked = give(client, job[0], **values)
    assert asked.status_code == 200
    assert "Yes, " in asked.text
    assert "<b>" not in asked.text
    assert commands(sqlite_database) == []
    told = give(client, job[0], **values, confirmed="yes", reason="for the test")
    assert told.status_code == 303
    assert commands(sqlite_database) == [values["verb"]]
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        audited = select(AuditEntry.new).where(AuditEntry.action == f"job.{values['verb']}")
        entry = transaction.session.scalars(audited).one()
    assert entry is not None
    assert entry["reason"] == "for the test"
    assert "waits for the next report of the harvester" in client.get(f"/jobs/{job[0]}").text


def test_a_command_that_can_not_be_used_is_not_asked_about(client: httpx.Client, job: tuple[int, str]) -> None:
    wrong = give(client, job[0], verb="add-reject", expression="(")
    assert wrong.status_code == 422
    assert 'value="("' in wrong.text
    bad = give(client, job[0], verb="set-limits", job_urls="abc", job_bytes="5 GB")
    assert bad.status_code == 422
    assert re.search(r'id="job_urls-problem"[^>]*>[^<]*is no limit', bad.text)
    assert 'value="5 GB"' in bad.text
    assert give(client, job[0], verb="set-limits").status_code == 422


def test_limits_of_the_whole_job_are_numbers_sizes_or_none(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    given = {"job_urls": "50,000", "job_bytes": "2.5 GB", "job_seconds": "none", "job_pages": ""}
    assert give(client, job[0], verb="set-limits", **given).status_code == 303
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        (row,) = transaction.session.scalars(select(JobCommand))
        assert row.arguments == {"limits": {"urls": 50_000, "bytes": 2_500_000_000, "seconds": None}}


def test_the_limits_of_a_domain_are_given_by_the_page_and_by_the_api(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    wanted = {"verb": "set-domain-limits", "domain": "EXAMPLE.org"}
    assert give(client, job[0], **wanted, max_objects="none", max_bytes="5000").status_code == 303
    wrong = give(client, job[0], **wanted, max_objects="many")
    assert wrong.status_code == 422
    assert 'value="many"' in wrong.text
    elsewhere = give(client, job[0], verb="set-domain-limits", domain="elsewhere.org", max_bytes="1")
    assert "elsewhere.org is no domain of job" in elsewhere.text
    token = form_token(client)
    answer = client.post(
        f"/api/v1/jobs/{job[0]}/commands",
        json={"verb": "set-domain-limits", "domain": "example.net", "limits": {"bytes": 7}},
        headers={"X-CSRFToken": token},
    )
    assert answer.status_code == 202, answer.text
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        given = [row.arguments for row in transaction.session.scalars(select(JobCommand).order_by(JobCommand.id))]
    assert given == [
        {"domain": "example.org", "limits": {"objects": None, "bytes": 5000}},
        {"domain": "example.net", "limits": {"bytes": 7}},
    ]
    shown = client.get(f"/jobs/{job[0]}").text
    assert "set-domain-limits" in shown
    assert "example.net" in shown


def test_the_list_of_domains_has_the_limits_in_force_beside_the_planned_ones(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        planned = {each.domain_name: each for each in list_job_domains(transaction, job[0]).items}
    limits = (
        ("example.org", "9", "limits of"),
        ("example.org", "8000", "limits of"),
        ("example.com", "7", "not carried out"),
    )
    for domain, most, outcome in limits:
        give(client, job[0], verb="set-domain-limits", domain=domain, max_bytes=most)
        with sqlite_database.transaction(COMMAND_LINE) as transaction:
            row = transaction.session.scalars(select(JobCommand).order_by(JobCommand.id.desc())).first()
            assert row is not None
            row.done, row.outcome = transaction.now, outcome
    give(client, job[0], verb="set-domain-limits", domain="example.net", max_objects="3")  # nobody has done this yet
    found = {each["domain_name"]: each for each in client.get(f"/api/v1/jobs/{job[0]}/domains").json()["items"]}
    assert (found["example.org"]["max_bytes"], found["example.org"]["planned_max_bytes"]) == (
        8000,
        planned["example.org"].max_bytes,
    )
    for domain in ("example.com", "example.net"):
        assert (found[domain]["max_bytes"], found[domain]["planned_max_bytes"]) == (planned[domain].max_bytes, None)
        assert found[domain]["planned_max_objects"] is None
    assert "planned: " in client.get(f"/jobs/{job[0]}/domains").text


def commands(database: Database) -> list[str]:
    with database.reading(COMMAND_LINE) as transaction:
        return [row.verb for row in transaction.session.scalars(select(JobCommand).order_by(JobCommand.id))]


def test_a_failed_job_keeps_its_log_until_it_is_resubmitted_which_is_asked_first(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    report(sqlite_database, job, 51, 3, log_of("the last line"))
    end(sqlite_database, job, succeeded=False)
    assert "the last line" in client.get(f"/jobs/{job[0]}/log").text
    to = f"/jobs/{job[0]}/resubmit"
    asked = send_form(client, f"/jobs/{job[0]}", to)
    assert "Make a new job with the content" in asked.text
    assert send_form(client, f"/jobs/{job[0]}", to, confirmed="yes").headers["Location"] == f"/jobs/{job[0] + 1}"
    assert "its log is among its" in client.get(f"/jobs/{job[0]}/log").text


def test_domains_of_a_job_are_sorted_filtered_by_stop_reason_and_paged(
    sqlite_database: Database, client: httpx.Client, job: tuple[int, str]
) -> None:
    end(sqlite_database, job)
    assert "size-limit" in client.get(f"/jobs/{job[0]}").text
    path = f"/api/v1/jobs/{job[0]}/domains"

    def names(**values: object) -> list[str]:
        found, after = [], None
        while True:
            answer = client.get(path, params={**values, "limit": 1, **({"after": after} if after else {})}).json()
            found += [each["domain_name"] for each in answer["items"]]
            if (after := answer["next"]) is None:
                return found

    assert names() == ["example.com", "example.net", "example.org"]
    assert names(order="bytes") == ["example.net", "example.org", "example.com"]
    assert names(order="objects") == ["example.com", "example.net", "example.org"]
    assert names(order="expected") == ["example.com", "example.net", "example.org"]
    assert names(order="new_bytes", stop_reason="complete") == ["example.org", "example.net"]
    reasons = client.get(f"/api/v1/jobs/{job[0]}/stop-reasons").json()["items"]
    assert reasons == [{"stop_reason": "complete", "domains": 2}, {"stop_reason": "size-limit", "domains": 1}]
    shown = client.get(f"/jobs/{job[0]}/domains?order=bytes&stop_reason=size-limit").text
    assert "example.com" in shown
    assert ">example.net<" not in shown
    assert client.get(path, params={"order": "bytes", "after": "x y"}).status_code == 422


ORDERS = {
    "newest": [6, 5, 4, 3, 2, 1],
    "oldest": [1, 2, 3, 4, 5, 6],
    "harvest": [6, 5, 4, 3, 2, 1],
    "state": [6, 5, 4, 3, 2, 1],
    "channel": [6, 5, 4, 3, 2, 1],
}


def test_every_order_of_the_job_list_is_paged_without_gaps(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        add_domain(transaction, "example.com")
        harvest = add_harvest(transaction, add_channel(transaction))
        for number in range(6):
            add_job(transaction, harvest, ("example.org",) if number % 2 else ("example.org", "example.com"))

    with database.reading(COMMAND_LINE) as transaction:

        def numbers(order: str, **values: Any) -> list[int]:
            found: list[int] = []
            after: str | None = None
            while True:
                page = list_jobs(transaction, order=JobOrder(order), after=after, limit=2, **values)
                found += [job.id for job in page.items]
                if (after := page.next) is None:
                    return found

        for order, expected in ORDERS.items():
            assert numbers(order) == expected, order
            assert numbers(order, domain="example.com") == [number for number in expected if number % 2], order
            assert numbers(order, harvester="nobody") == [], order


def test_no_order_of_the_job_list_sorts_all_jobs(sqlite_database: Database) -> None:
    plans = []

    def explain(connection: Any, cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.startswith("SELECT jobs.id") and "ORDER BY" in statement:
            plans.append(str(cursor.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall()))

    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        number = add_job(transaction, add_harvest(transaction, add_channel(transaction))).id
    event.listen(sqlite_database.engine, "before_cursor_execute", explain)
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        for order in map(JobOrder, ORDERS):
            list_jobs(transaction, order=order)
            list_jobs(transaction, order=order, after=str(number))
    assert len(plans) == 2 * len(ORDERS)
    assert [plan for plan in plans if "TEMP B-TREE" in plan] == []


def test_a_filter_that_can_not_be_used_is_said_and_kept(client: httpx.Client, job: tuple[int, str]) -> None:
    assert "weekly news" in client.get("/jobs", params={"harvest": "weekly news", "run_number": "0"}).text
    assert "there is no harvest" in client.get("/jobs", params={"harvest": "none"}).text
    assert client.get("/api/v1/jobs", params={"harvest": "weekly news"}).json()["total"] == 1
    assert client.get("/api/v1/jobs", params={"harvest": "weekly news", "harvest_id": 77}).status_code == 404
    text = client.get("/jobs", params={"harvest_id": HOSTILE, "order": "sideways", "status": "GONE"}).text
    assert "is no number" in text
    assert "is none of these" in text
    assert "<script>alert" not in text
    assert "of which harvest?" in client.get("/jobs", params={"run_number": "3"}).text
    assert client.get("/jobs", params={"channel": "a\0b"}).status_code == 200
    assert client.get("/jobs", params={"after": "99"}).status_code == 200


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_axe_finds_nothing_serious_on_the_pages_of_a_job(
    sqlite_database: Database, site: RunningSite, client: httpx.Client, job: tuple[int, str]
) -> None:
    seen = Observations(LogTail(20, "200 http://a.test/\n"), [Picture("http://a.test/", 1, PNG)])
    report(sqlite_database, job, 60, 3, seen)
    give(client, job[0], verb="pause")
    number = job[0]
    paths = [f"/jobs/{number}{end}" for end in ("", "/log", "/domains", "/queues")]
    assert serious_on_pages(site.address, client, paths, refused=[f"/jobs/{number}/log?pattern=("]) == []


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_a_page_follows_its_job_and_keeps_what_a_person_has_opened(
    sqlite_database: Database, site: RunningSite, client: httpx.Client, job: tuple[int, str]
) -> None:
    with opened_tab(site.address, client) as tab:
        tab.goto(f"/jobs/{job[0]}")
        tab.get_by_text("Show the numbers as a table").click()
        tab.get_by_label("Host", exact=True).fill("typed.test")
        report(sqlite_database, job, 4321, 3)
        tab.get_by_role("region", name="Progress").get_by_text("4\u202f321").wait_for(timeout=60_000)
        assert tab.locator("#samples").get_attribute("open") is not None
        tab.wait_for_function("document.querySelectorAll('[data-chart] canvas').length === 2")
        assert tab.get_by_label("Host", exact=True).input_value() == "typed.test"


def test_the_scope_of_a_job_is_explained_by_its_page(client: httpx.Client, job: tuple[int, str]) -> None:
    assert f"/jobs/{job[0]}/scope" in client.get(f"/jobs/{job[0]}/setup").text
    text = client.get(
        f"/jobs/{job[0]}/scope", params={"urls": "http://example.invalid/a\n" + HOSTILE, "hops": "LL"}
    ).text
    assert "http://example.invalid/a" in text
    assert "<script>alert" not in text
    assert client.get("/jobs/999/scope").status_code == 404
