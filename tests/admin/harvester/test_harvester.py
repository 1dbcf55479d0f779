"""`ghostfleet harvester` takes jobs, runs them and reports: real processes, a real Redis, a real site."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.admin.harvesters import Admin, RunningHarvester, Wanted, folders, told
from support.origins.chain_site import ChainSite
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until

from admin.harvester.job_folder import JobStep
from admin.harvests.dispatch.harvesters import forget_harvester, list_harvesters
from admin.models.job_tables import HarvesterState, JobStatus, StopReason
from admin.models.transaction import COMMAND_LINE
from archive import crawl_log
from archive.files import free_bytes
from archive.settings.load import Settings
from archive.warc.reading.reader import read_record, records
from archive.warc.upkeep.check import check
from dedupdb.captures.schema import METADATA, new_engine


def at(site: ChainSite, *names: str) -> list[str]:
    """Flags that let these names lead to the site."""
    port = urlsplit(site.url).port
    return [part for name in names for part in ("--resolve", f"{name}=127.0.0.1:{port}")]


@pytest.mark.parametrize("settings", ["sqlite", "postgresql"], indirect=True)
def test_a_job_runs_from_its_claim_to_its_report(settings: Settings, admin: Admin, site: ChainSite) -> None:
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    with RunningHarvester(
        settings.home, "--jobs", "1", *at(site, "*.example.org"), API_TOKEN="not-to-be-told"
    ) as harvester:
        ended = admin.ended(job)
        assert harvester.ended() == 0, harvester.said
    assert (ended.status, ended.harvest_error, ended.upload_error, ended.exit_code) == (JobStatus.DONE, "", "", 0)
    objects, size, new, reason = admin.results(job)["example.org"]
    assert (objects, reason) == (13, StopReason.COMPLETE), "six pages, six images, robots.txt"
    assert (ended.objects, ended.bytes) == (objects, size)
    assert new < size
    assert list(check(settings.archive_dir("news"))) == []
    (folder,) = folders(settings.home, "oldjobs")
    assert folder.name.startswith(f"{job}_")
    assert told(folder / "harvestInfo.json")["harvest_name"] == "weekly news"
    assert admin.harvester().state == HarvesterState.STOPPED
    (metadata,) = settings.archive_dir("news").glob(f"{job}-metadata-1.warc")
    said = {record.url: b"".join(record.block()) for record in records(metadata)}
    (output,) = [text for address, text in said.items() if "/logs/heritrix.out?" in address]
    assert output.startswith(b"command line: ")
    assert b"API_TOKEN=" in output
    assert b"not-to-be-told" not in metadata.read_bytes()
    token = told(folder / "claim.json")["token"]
    assert token.encode() not in metadata.read_bytes()
    (data,) = [path for path in settings.archive_dir("news").iterdir() if path != metadata]
    assert data.name.startswith(f"{job}-1-")
    with read_record(data, 0) as warcinfo:
        assert b"harvestInfo.audience: public\r\n" in b"".join(warcinfo.block())


def test_an_unknown_channel_is_one_line(home: Path, admin: Admin) -> None:
    with Command("harvester", "--channel", "NONE", home=home) as command:
        assert command.ended() == 2
    assert command.stderr == "ghostfleet: there is no channel 'NONE'\n"


@pytest.fixture
def margin(home: Path) -> Iterator[int]:
    """Mount a disk at the home, and say how many bytes of the disk may come or go by others' work.

    Where nothing can be mounted, other tests use the same disk.
    """
    mount = ["mount", "-t", "tmpfs", "-o", "size=4g", "tmpfs", str(home)]
    is_own = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    yield 200_000_000 if is_own else 1_000_000_000
    if is_own:
        subprocess.run(["umount", "-l", str(home)], check=True)


def test_a_full_disk_makes_the_harvester_dormant_until_there_is_room(
    margin: int, settings: Settings, admin: Admin, site: ChainSite
) -> None:
    least = free_bytes(settings.home) - margin
    filler = settings.home / "filler"
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    with filler.open("wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, 2 * margin)  # of memory, when the disk is there
        except OSError:
            pytest.skip(f"the disk of the tests has no room for {2 * margin} bytes")
    flags = ("--jobs", "1", *at(site, "*.example.org"))
    try:
        with RunningHarvester(
            settings.home,
            *flags,
            GHOSTFLEET_HARVESTER__MIN_SPACE_LEFT=str(least),
            GHOSTFLEET_HARVESTER__SEND_READY_SECONDS="0.2",
        ) as harvester:
            until(lambda: "dormant: " in harvester.said, what="the full disk")
            until(lambda: admin.harvester().state is HarvesterState.DORMANT, what="the harvester to be dormant")
            row = admin.harvester()
            assert f"harvester.min_space_left is {least}; make room" in row.why
            admin.submit()
            assert admin.show(job).status is not JobStatus.STARTED
            filler.unlink()
            until(lambda: "ready again: " in harvester.said, what="room on the disk")
            assert admin.ended(job).status is JobStatus.DONE
            assert harvester.ended() == 0, harvester.said
    finally:
        filler.unlink(missing_ok=True)


def test_a_crawl_that_ends_while_the_disk_is_full_is_reported_when_there_is_room(
    settings: Settings, admin: Admin, site: ChainSite
) -> None:
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    with RunningHarvester(settings.home, "--jobs", "1", *at(site, "*.example.org")) as harvester:

        def crawling() -> Path | None:
            admin.submit()
            found = folders(settings.home)
            return found[0] if found and told(found[0] / "state.json")["step"] == JobStep.CRAWLING else None

        full = until(crawling, what="the crawl") / "state.json.new"
        full.mkdir()  # in the way of each save of the state
        until(
            lambda: "can't be finished now" in harvester.said or harvester.process.poll() is not None,
            what="the end of the crawl",
            within=100,
        )
        full.rmdir()
        assert harvester.ended() == 0, harvester.said
    ended = admin.show(job)
    assert (ended.status, ended.harvest_error, ended.exit_code) == (JobStatus.DONE, "", 0)


def test_a_second_harvester_of_the_same_name_is_one_line(settings: Settings, admin: Admin) -> None:
    with RunningHarvester(settings.home) as harvester:
        until(lambda: "listens to channel FOCUSED" in harvester.said, what="the first harvester")
        with Command("harvester", "--channel", "FOCUSED", "--name", "h1", home=settings.home) as second:
            assert second.ended() == 2
        assert "a harvester h1 works in" in second.stderr
        assert second.stderr.count("\n") == 1
        harvester.signal(signal.SIGTERM)
        assert harvester.ended() == 0


def test_a_harvester_that_was_forgotten_registers_again(settings: Settings, admin: Admin) -> None:
    with RunningHarvester(settings.home) as harvester:
        until(lambda: "listens to channel FOCUSED" in harvester.said, what="the harvester")
        with admin.database.transaction(COMMAND_LINE) as transaction:
            forget_harvester(transaction, "h1")

        def is_back() -> bool:
            with admin.database.transaction(COMMAND_LINE) as transaction:
                return bool(list_harvesters(transaction))

        until(is_back, what="the harvester's row")


@pytest.mark.parametrize(
    ("seeds", "profile", "error"),
    [
        ("ftp://example.org/\nmailto:x@example.org", {}, "the crawl could not begin: none of the 2 seeds can be used"),
        ("http://www.example.org/", {"scope": "galaxy"}, "the crawl could not begin: the profile of the job: scope"),
    ],
)
def test_a_job_that_can_not_begin_is_reported_with_the_reason(
    settings: Settings, admin: Admin, seeds: str, profile: dict[str, str], error: str
) -> None:
    job = admin.job([Wanted("example.org")], seeds.splitlines(), profile=profile)
    with RunningHarvester(settings.home, "--jobs", "1") as harvester:
        ended = admin.ended(job)
        assert harvester.ended() == 0, harvester.said
    assert ended.status is JobStatus.FAILED
    assert ended.harvest_error.startswith(error)
    assert list(settings.archive_dir("news").glob(f"{job}-metadata-1.warc"))


def lose_the_index(settings: Settings) -> None:
    """Remove the capture index: its file, or its tables."""
    if not settings.database.url:
        (settings.home / "ghostfleet.db").unlink()
        return
    engine = new_engine(settings.database_url)
    METADATA.drop_all(engine)
    engine.dispose()


def test_a_later_job_keeps_what_did_not_change_as_revisits_also_after_a_rebuild_of_the_store(
    settings: Settings, admin: Admin, site: ChainSite
) -> None:
    """Rows N65, N66 and N69."""
    jobs = [admin.job([Wanted("example.org")], ["http://www.example.org/"])]
    jobs.append(
        admin.job([Wanted("example.org")], ["http://www.example.org/"], run_number=1, duplicate_reduction_jobs=jobs[:1])
    )
    flags = ("--jobs", "1", *at(site, "*.example.org"))
    with RunningHarvester(settings.home, *flags) as harvester:
        first = admin.ended(jobs[0])
        assert harvester.ended() == 0, harvester.said
    for path in (settings.home / "redis" / "appendonlydir").iterdir():
        path.unlink()
    lose_the_index(settings)
    with Command("reindex", "news", home=settings.home) as rebuild:
        assert rebuild.ended() == 0, rebuild.stderr
    with RunningHarvester(settings.home, *flags) as harvester:
        second = admin.ended(jobs[1])
        assert harvester.ended() == 0, harvester.said
    results = [admin.results(job)["example.org"] for job in jobs]
    assert results[0][:2] == results[1][:2], "the same objects and bytes"
    assert first.status is second.status is JobStatus.DONE
    not_known = 404  # robots.txt: only answers of 200 are deduplicated
    (run,) = [path for path in (settings.collection("news") / "jobs").iterdir() if path.name == second.run_name]
    lines = [crawl_log.parse(text) for text in (run / "crawl.log").read_text().splitlines()]
    assert all(crawl_log.REVISIT in line.annotations for line in lines if line.code != not_known)
    assert results[1][2] == sum(line.extra["contentSize"] for line in lines if line.code == not_known)
    (metadata,) = settings.archive_dir("news").glob(f"{jobs[1]}-metadata-1.warc")
    said = {record.url: b"".join(record.block()) for record in records(metadata) if record.kind == "resource"}
    (earlier,) = [text for address, text in said.items() if "/setup/duplicatereductionjobs?" in address]
    assert earlier == str(jobs[0]).encode()
    (index,) = [text for address, text in said.items() if "/index/cdx?" in address]
    assert index.count(b"warc/revisit") == 12, "what was deduplicated is in the index of the job"
