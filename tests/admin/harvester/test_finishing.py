"""What follows a crawl, step by step and without a crawl: its run's folder and WARC are made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from support.admin.harvesters import Admin, Wanted, folders
from support.archive.oracles import fastwarc_check, warcio_kinds
from support.processes.waiting import until
from support.stores.postgres_server import PostgresServer

from admin.harvester import finishing
from admin.harvester.dispatch_link import DispatchLink
from admin.harvester.documents.harvest_info import harvest_info
from admin.harvester.finishing import Finishing
from admin.harvester.harvester import HarvesterProcess
from admin.harvester.job_folder import INFO_FILE, JobFolder, JobStep, StopCause
from admin.harvests.dispatch.queue import TOO_LATE
from admin.harvests.dispatch.steering import Verb
from admin.jobs.interrupts import Interrupts
from admin.jobs.runs import RunState, find_runs, resume_or_create
from admin.jobs.states import EXIT_CODES, JobState
from admin.models.database import Database, database_url
from admin.models.job_tables import HarvesterState, JobStatus, StopReason
from archive.capture import Body, Context
from archive.crawl_log import CrawlLog, LogLine
from archive.dates import now_micros
from archive.settings.load import Settings
from archive.warc import cdxj
from archive.warc.reading.reader import records
from archive.warc.records.derived import resource_record
from archive.warc.upkeep.check import check
from archive.warc.writing.writer import WarcWriter

NAMES = {
    "/crawl/logs/crawl.log",
    "/crawl/logs/local-errors.log",
    "/crawl/logs/progress-statistics.log",
    "/crawl/logs/runtime-errors.log",
    "/crawl/logs/uri-errors.log",
    "/crawl/logs/heritrix.out",
    "/crawl/reports/crawl-report.txt",
    "/crawl/reports/frontier-summary-report.txt",
    "/crawl/reports/hosts-report.txt",
    "/crawl/reports/mimetype-report.txt",
    "/crawl/reports/processors-report.txt",
    "/crawl/reports/responsecode-report.txt",
    "/crawl/reports/seeds-report.txt",
    "/crawl/reports/archivefiles-report.txt",
    "/crawl/setup/harvestInfo.json",
    "/crawl/setup/seeds.txt",
    "/crawl/setup/profile.json",
    "/crawl/setup/duplicatereductionjobs",
    "/crawl/setup/aliases",
    "/crawl/index/cdx",
}
"""Row N55, in the places where NetarchiveSuite has them."""


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as entered:
        yield entered


def taken(admin: Admin, settings: Settings, **values: Any) -> tuple[JobFolder, DispatchLink]:
    """A job that was taken and whose crawl was killed after two objects."""
    job = admin.job([Wanted("example.org")], ["http://www.example.org/", "no url"], **values)
    admin.submit()
    link = DispatchLink(admin.database, "h1", "FOCUSED")
    link.register(0)
    link.announce(HarvesterState.READY, 0)
    admin.submit()
    claim = link.claim()
    assert claim is not None
    assert claim.id == job
    folder = JobFolder.make(settings.home / "harvester", claim, now_micros(), lambda _: None)
    folder.write_setup(harvest_info(claim, settings, folder.job_name, 1), ["http://www.example.org/"], claim.profile)
    folder.save(step=JobStep.CRAWLING, was_interrupted=True, bad_seeds=("seed 'no url' can't be used",))
    return folder, link


def crawled(settings: Settings, folder: JobFolder) -> RunState:
    """What a crawl that was killed leaves: a run that is `running`, a log, and a WARC file that is not closed."""
    run = resume_or_create(settings.collection("news") / "jobs", "news", folder.job_name, {})
    run = run.save(started="2026-11-21T08:15:00Z")
    run.append_seeds(["http://www.example.org/"])
    seed = "http://www.example.org/"
    named = settings.archive.model_copy(update={"warc_name": f"{folder.file_prefix}{{timestamp17}}-{{random}}"})
    writer = WarcWriter(settings.model_copy(update={"archive": named}), "news")
    lines = []
    for name in ("", "a"):
        record = resource_record(
            "resource", f"{seed}{name}", "text/plain", Body((b"hello",), length=5), date=now_micros(),
            context=Context("news"), warcinfo_id=writer.warcinfo_id,
        )  # fmt: skip
        (capture,) = writer.append([record])
        extra = {"contentSize": 105, "warcFilename": capture.filename, "warcFileOffset": capture.offset}
        lines.append(LogLine(1, 200, 5, f"{seed}{name}", source=seed, extra=extra).text())
    writer.sync()
    lines.append(LogLine(1, -4, None, f"{seed}slow", source=seed).text())
    CrawlLog(run.folder).append(lines)
    with run.crawl_log.open("a") as log:
        log.write("half a li")
    assert writer._file is not None
    writer._file.abandon()
    return run.state


def finish(settings: Settings, folder: JobFolder, link: DispatchLink, interrupts: Interrupts) -> bool:
    return Finishing(settings, folder, link, interrupts).run()


def addresses(settings: Settings, job: int) -> list[str]:
    (path,) = settings.archive_dir("news").glob(f"{job}-metadata-*.warc")
    return [record.url for record in records(path) if record.kind == "resource"]


def content(settings: Settings, job: int, name: str) -> str:
    (path,) = settings.archive_dir("news").glob(f"{job}-metadata-*.warc")
    for record in records(path):
        if record.kind == "resource" and urlsplit(record.url).path.endswith(name):
            return b"".join(record.block()).decode()
    raise AssertionError(f"no record of {name}")


def test_a_crawl_that_was_killed_is_counted_documented_and_reported(
    settings: Settings, admin: Admin, interrupts: Interrupts
) -> None:
    folder, link = taken(admin, settings, duplicate_reduction_jobs=[11, 12], aliases={"example.net": "example.org"})
    state = crawled(settings, folder)
    job = folder.claim.id
    assert finish(settings, folder, link, interrupts)
    ended = admin.show(job)
    assert ended.status is JobStatus.FAILED
    assert ended.harvest_error == "Crawl probably interrupted by shutdown of the harvester"
    assert ended.run_name == state.name
    assert admin.results(job)["example.org"] == (2, 210, 210, StopReason.UNFINISHED)
    assert {urlsplit(address).path for address in addresses(settings, job)} >= NAMES
    assert addresses(settings, job) == sorted(addresses(settings, job))
    assert content(settings, job, "/duplicatereductionjobs") == "11,12"
    assert content(settings, job, "/aliases") == "example.net is an alias of example.org\n"
    assert content(settings, job, "/local-errors.log").split()[3] == "http://www.example.org/slow"
    assert "no url" in content(settings, job, "/uri-errors.log")
    assert "2 210 www.example.org" in content(settings, job, "/hosts-report.txt")
    assert "interrupted" in content(settings, job, "/crawl-report.txt")
    (metadata,) = settings.archive_dir("news").glob("*metadata*")
    fastwarc_check(metadata)
    assert set(warcio_kinds(metadata)) == {"warcinfo", "resource"}
    assert list(check(settings.archive_dir("news"))) == []


@pytest.mark.parametrize(("lost", "stop"), [(0, StopReason.COMPLETE), (3, StopReason.UNFINISHED)])
def test_a_domain_is_not_complete_when_queued_urls_were_lost(
    settings: Settings, admin: Admin, interrupts: Interrupts, lost: int, stop: StopReason
) -> None:
    folder, link = taken(admin, settings)
    crawled(settings, folder)
    (run,) = find_runs(settings.collection("news") / "jobs")
    run.save_report({"frontier": {"lost": lost}, "hosts": []})
    run.save(status=JobState.GAPS, ended="2026-11-21T08:16:00Z")
    folder.save(was_interrupted=False, exit_code=EXIT_CODES[JobState.GAPS])
    assert finish(settings, folder, link, interrupts)
    assert admin.show(folder.claim.id).status is JobStatus.DONE
    assert admin.results(folder.claim.id)["example.org"] == (2, 210, 210, stop)


@pytest.mark.parametrize("tries", [1, 2])
def test_a_crawl_that_crashes_after_it_was_asked_to_end_is_an_error(
    settings: Settings, admin: Admin, interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch, tries: int
) -> None:
    folder, link = taken(admin, settings)
    crawled(settings, folder)
    folder.save(was_interrupted=False, cause=StopCause.OPERATOR, reason="stopped by anna", exit_code=-11)
    if tries == 2:  # the first harvester is killed before the statistics are kept
        with monkeypatch.context() as patch:
            patch.setattr(JobFolder, "save_result", raise_killed)
            with pytest.raises(KeyboardInterrupt):
                finish(settings, folder, link, interrupts)
        folder.close(is_over=False)
        again = JobFolder.take_over(folder.path, lambda _: None)
        assert again is not None
        folder = again
    assert finish(settings, folder, link, interrupts)
    ended = admin.show(folder.claim.id)
    assert (ended.status, ended.harvest_error) == (JobStatus.FAILED, "the crawl's process was killed by SIGSEGV")


def test_a_job_that_can_not_begin_is_reported_when_the_disk_has_room_again(
    settings: Settings, admin: Admin, interrupts: Interrupts
) -> None:
    folder, link = taken(admin, settings)
    (folder.path / INFO_FILE).unlink()
    full = folder.path / "state.json.new"
    full.mkdir()  # in the way of each save of the state
    said = list[str]()

    def note(line: str) -> None:
        said.append(line)
        if "it is tried again" in line:
            full.rmdir()

    harvester = HarvesterProcess(
        settings, admin.database, channel="FOCUSED", name="h1", interrupts=interrupts, note=note
    )
    unusable = replace(folder.claim, seeds=("no url",))
    folder.claim = unusable
    harvester._prepare(folder)
    harvester._finish(folder)
    assert any("it is tried again" in line for line in said)
    assert admin.show(unusable.id).harvest_error.startswith("the crawl could not begin: none of the 1 seeds")
    assert link.unfinished() == []


def test_a_step_that_succeeds_when_there_is_room_again_is_no_trouble(
    settings: Settings, admin: Admin, interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, link = taken(admin, settings)
    full = folder.path / "state.json.new"

    def fail(*_: object) -> None:
        full.mkdir()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(JobFolder, "save_result", fail)
        with pytest.raises(OSError, match=r"state\.json"):
            finish(settings, folder, link, interrupts)
    full.rmdir()
    assert finish(settings, folder, link, interrupts)
    assert folder.state.troubles == {}


def raise_killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_the_index_of_each_data_file_finds_every_record(
    settings: Settings, admin: Admin, interrupts: Interrupts
) -> None:
    folder, link = taken(admin, settings)
    crawled(settings, folder)
    finish(settings, folder, link, interrupts)
    job = folder.claim.id
    (address,) = [each for each in addresses(settings, job) if "/index/cdx" in each]
    query = parse_qs(urlsplit(address).query)
    (data,) = [path for path in settings.archive_dir("news").iterdir() if "metadata" not in path.name]
    assert query["filename"] == [data.name]
    assert query["majorversion"] == ["2"]
    head, *lines = content(settings, job, "/index/cdx").splitlines()
    assert head == " CDX N b a m s k r M S V g"
    found = {(line.split()[2], int(line.split()[9]), int(line.split()[8]), line.split()[10]) for line in lines}
    captures = cdxj.captures_of(data, "news")
    assert found == {(each.url, each.offset, each.length, data.name) for each in captures}
    report = content(settings, job, "/archivefiles-report.txt").splitlines()
    assert report[0] == "[ARCHIVEFILE] [Opened] [Closed] [Size]"
    assert report[1].split()[0] == data.name
    assert int(report[1].split()[3]) == data.stat().st_size


def test_a_job_whose_crawl_never_began_is_documented_too(
    settings: Settings, admin: Admin, interrupts: Interrupts
) -> None:
    folder, link = taken(admin, settings)
    assert finish(settings, folder, link, interrupts)
    job = folder.claim.id
    assert {urlsplit(address).path for address in addresses(settings, job)} >= NAMES - {"/crawl/index/cdx"}
    assert content(settings, job, "/duplicatereductionjobs") == ""
    ended = admin.show(job)
    assert ended.harvest_error.endswith("before the crawl had begun")
    assert admin.results(job)["example.org"] == (0, 0, 0, StopReason.UNFINISHED)


def test_a_report_that_was_sent_twice_counts_once(settings: Settings, admin: Admin, interrupts: Interrupts) -> None:
    folder, link = taken(admin, settings)
    crawled(settings, folder)
    assert finish(settings, folder, link, interrupts)
    folder.save(step=JobStep.METADATA_UPLOADED)
    assert not finish(settings, folder, link, interrupts)
    assert admin.results(folder.claim.id)["example.org"][0] == 2


@pytest.mark.parametrize(
    ("step", "broken", "field"),
    [
        (JobStep.CRAWLED, "repair", "harvest_error"),
        (JobStep.COUNTED, "domain_results", "harvest_error"),
        (JobStep.DOCUMENTED, "make_documents", "upload_error"),
        (JobStep.UPLOADED, "data_files", "upload_error"),
        (JobStep.METADATA_UPLOADED, "hand_over", "upload_error"),
    ],
)
def test_a_step_that_fails_keeps_nothing_from_being_reported(
    settings: Settings,
    admin: Admin,
    interrupts: Interrupts,
    monkeypatch: pytest.MonkeyPatch,
    step: JobStep,
    broken: str,
    field: str,
) -> None:
    folder, link = taken(admin, settings)
    crawled(settings, folder)
    folder.save(was_interrupted=False, exit_code=0)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(finishing, broken, fail)
    assert finish(settings, folder, link, interrupts)
    ended = admin.show(folder.claim.id)
    assert ended.status is JobStatus.FAILED
    assert "No space left on device" in getattr(ended, field)
    assert folder.state.troubles.keys() >= {step}
    assert folder.state.step is JobStep.REPORTED
    assert [path for path in settings.archive_dir("news").iterdir() if "metadata" not in path.name], "the data is kept"


def test_commands_that_come_too_late_are_answered(
    settings: Settings, admin: Admin, interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, link = taken(admin, settings)
    number = admin.command(folder.claim.id, Verb.PAUSE)
    finish(settings, folder, link, interrupts)
    assert admin.outcome(folder.claim.id, number) == TOO_LATE


def test_files_of_other_jobs_are_not_taken_for_the_jobs(
    settings: Settings, admin: Admin, interrupts: Interrupts
) -> None:
    folder, link = taken(admin, settings)
    crawled(settings, folder)
    other = WarcWriter(settings, "news", prefix="11-1")
    other.append(
        [
            resource_record(
                "resource", "http://other.test/", "text/plain", Body((b"x",), length=1), date=1,
                context=Context("news"), warcinfo_id=other.warcinfo_id,
            )
        ]
    )  # fmt: skip
    finish(settings, folder, link, interrupts)
    other.close()
    assert "other.test" not in content(settings, folder.claim.id, "/index/cdx")
    assert folders(settings.home) == [folder.path]
    assert Path(folder.state.run_folder).is_dir()


@contextmanager
def database_away(settings: Settings, request: pytest.FixtureRequest) -> Iterator[None]:
    """Take the admin's database away until the end of the block: its file, or the whole server."""
    if settings.database.url:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        server.stop()
        yield
        server.start()
        return
    file, away = settings.home / "admin.db", settings.home / "away.db"
    for suffix in ("", "-wal", "-shm"):
        if Path(f"{file}{suffix}").exists():
            Path(f"{file}{suffix}").rename(f"{away}{suffix}")
    file.mkdir()
    yield
    file.rmdir()
    for suffix in ("", "-wal", "-shm"):
        if Path(f"{away}{suffix}").exists():
            Path(f"{away}{suffix}").rename(f"{file}{suffix}")


def test_a_database_that_is_away_hears_of_the_end_when_it_is_back(
    settings: Settings,
    admin: Admin,
    interrupts: Interrupts,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
) -> None:
    folder, _ = taken(admin, settings)
    crawled(settings, folder)
    admin.database.close()
    link = DispatchLink(Database(database_url(settings)), "h1", "FOCUSED")
    with ThreadPoolExecutor(1) as thread:
        with database_away(settings, request):
            counted = thread.submit(finish, settings, folder, link, interrupts)
            until(lambda: "its end could not be reported" in caplog.text, what="the first try to report", within=60)
        assert counted.result(60)
    link.database.close()
    assert admin.show(folder.claim.id).status is JobStatus.FAILED
    assert admin.results(folder.claim.id)["example.org"][0] == 2


def test_a_job_that_was_taken_by_another_name_in_this_home_is_left_to_its_owner(
    settings: Settings, admin: Admin, interrupts: Interrupts
) -> None:
    folder, link = taken(admin, settings)
    harvester = HarvesterProcess(
        settings, admin.database, channel="FOCUSED", name="h1", interrupts=interrupts, note=lambda _: None
    )
    harvester._finish_leftovers()
    assert admin.show(folder.claim.id).status is JobStatus.STARTED, "its owner works on it"
    folder.close(is_over=False)
    harvester._finish_leftovers()
    assert admin.show(folder.claim.id).status is JobStatus.FAILED
    assert link.unfinished() == []
