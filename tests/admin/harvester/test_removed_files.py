"""Files of a collection that are removed while a job runs: the job fails, and says how much is lost."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.admin.harvesters import Admin, RunningHarvester, Wanted
from support.origins.chain_site import ChainSite
from support.processes.removal import remove_in_use
from support.processes.waiting import until

from admin.harvester.outcome import loss_of_files
from admin.jobs.progress.tally import LogFollower
from admin.models.job_tables import JobStatus, StopReason
from archive.crawl_log import CrawlLog, LogLine
from archive.settings.load import Settings


@pytest.mark.parametrize(
    "removed", ["collections/news", pytest.param("collections/news/archive", marks=pytest.mark.slow)]
)
@pytest.mark.timeout(300)
def test_a_job_whose_files_are_removed_fails_with_counts(
    settings: Settings, admin: Admin, site: ChainSite, removed: str
) -> None:
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    site.hold("/3")
    at = f"*.example.org=127.0.0.1:{urlsplit(site.url).port}"
    with RunningHarvester(settings.home, "--resolve", at, "--jobs", "1") as harvester:
        admin.await_status(job, JobStatus.STARTED)
        until(lambda: "/3" in site.asked, what="the fourth page", within=200)
        until(lambda: admin.show(job).objects >= 6, what="the first pages in the reports", within=60)
        remove_in_use(settings.home / removed)
        site.let_go("/3")
        ended = admin.ended(job, within=200)
        assert harvester.ended() == 0, harvester.said
    assert ended.status is JobStatus.FAILED
    assert ended.harvest_error.startswith("files of the collection were removed while the job ran: ")
    lost, _, rest = ended.harvest_error.partition(": ")[2].partition(" of ")
    assert 6 <= int(lost) <= int(rest.partition(" ")[0])
    assert rest.endswith(" objects are lost")
    assert admin.results(job)["example.org"][3] is StopReason.UNFINISHED


def test_the_loss_names_each_file_with_its_objects() -> None:
    assert loss_of_files(5, 5, {}).short == ""
    assert loss_of_files(0, 5, {}).short == "", "a harvester that was killed has seen nothing"
    found = loss_of_files(10, 6, {"a.warc.gz": 2})
    assert found.short == "files of the collection were removed while the job ran: 6 of 10 objects are lost"
    assert found.details == "crawl.log: 4 objects with their WARC files\na.warc.gz: 2 objects"


def test_a_log_that_took_the_place_of_a_removed_one_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path / "run")
    follower = LogFollower(log.path)
    log.append([LogLine(1, 200, 1, f"http://a.org/{number}").text() for number in range(3)])
    assert len(list(follower.lines())) == 3
    log.path.rename(tmp_path / "moved")
    log.append([LogLine(1, 200, 1, "http://a.org/new").text()])
    assert [line.url for line in follower.lines()] == ["http://a.org/new"]
    assert list(follower.lines()) == []
