"""The folder of a job on disk: made once, held by one process, read again after a kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.places import ROOT
from support.processes.python_code import PLACES, code_command
from support.processes.waiting import until

from admin.harvester.documents.harvest_info import crawl_settings, harvest_info, warcinfo_fields
from admin.harvester.job_folder import FolderError, JobFolder, JobStep, StopCause, is_here, leftovers
from admin.harvester.job_process import environment_lines
from admin.harvests.dispatch.queue import ClaimedDomain, ClaimedJob
from admin.harvests.dispatch.reports import DomainResult, JobResult
from admin.models.job_tables import StopReason
from archive.settings.load import Settings, load
from archive.warc.records.warcinfo import warcinfo_record

JOB = ClaimedJob(
    id=7, token="secret-token", harvest_id=3, harvest_name="weekly\nnews \u202e", run_number=2, channel="FOCUSED",
    collection="news", template_name="default", template_version=4, profile={"scope": "host"},
    seeds=("http://www.example.org/",), max_bytes=1000, max_objects=-1, max_seconds=60, harvest_max_bytes=1000,
    harvest_max_objects=-1, domains=(ClaimedDomain("example.org", "default", 1000, -1, 10),),
    aliases={"example.net": "example.org"}, duplicate_reduction_jobs=(1, 2),
    facts={"audience": "public", "comments": "x" * 5000, "schedule": "weekly", "extended": {"Owner name": "K\u00f8b"}},
    created=1_800_000_000_000_000,
)  # fmt: skip
NOW = 1_800_000_001_234_000


def silent(_: JobStep) -> None:
    """Hear nothing."""


def make(home: Path, job: ClaimedJob = JOB, now: int = NOW) -> JobFolder:
    return JobFolder.make(home / "harvester", job, now, silent)


def test_its_name_is_the_jobs_number_and_the_time(home: Path) -> None:
    folder = make(home)
    assert folder.path.name == "7_1800000001234"
    assert folder.job_name == "h3-7"
    assert (folder.path / "claim.json").stat().st_mode & 0o077 == 0, "the token is secret"


def test_harvest_info_is_written_once(home: Path, settings: Settings) -> None:
    folder = make(home)
    info = harvest_info(JOB, settings, folder.job_name, NOW)
    folder.write_setup(info, JOB.seeds, JOB.profile)
    with pytest.raises(FolderError, match=r"harvestInfo\.json exists already: job 7 is not started twice"):
        folder.write_setup(info, JOB.seeds, JOB.profile)
    text = (folder.path / "harvestInfo.json").read_text()
    assert "secret-token" not in text
    assert json.loads(text)["duplicate_reduction_jobs"] == [1, 2]
    with pytest.raises(FolderError, match="job 7 is not started twice"):
        make(home, now=NOW + 5000)


def test_another_job_of_the_same_number_has_a_folder_of_its_own(home: Path, settings: Settings) -> None:
    folder = make(home)
    folder.write_setup(harvest_info(JOB, settings, "h3-7", NOW), JOB.seeds, JOB.profile)
    folder.close(is_over=True)
    again = make(home, replace(JOB, token="another"), NOW + 5_000_000)
    assert again.path.name == "7_1800000006234"
    assert [path.name for path in (home / "harvester" / "oldjobs").iterdir()] == ["7_1800000001234"]


def test_what_was_kept_is_read_again(home: Path) -> None:
    steps: list[JobStep] = []
    folder = JobFolder.make(home / "harvester", JOB, NOW, steps.append)
    folder.save(step=JobStep.CRAWLED, cause=StopCause.OPERATOR, log_sizes={"a.log": 5}, bad_seeds=("x",))
    folder.save(exit_code=-9)
    result = JobResult(False, "error", domains=[DomainResult("example.org", 1, 2, 3, StopReason.SIZE_LIMIT)])
    folder.save_result(result)
    assert list(leftovers(home / "harvester", silent)) == [], "its owner lives"
    folder.close(is_over=False)
    (again,) = leftovers(home / "harvester", silent)
    assert again.claim == JOB
    assert again.state == folder.state
    assert again.result() == result
    assert steps == [JobStep.TAKEN, JobStep.CRAWLED]


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", '{"step": "unknown"}'])
def test_a_damaged_folder_is_put_aside(home: Path, damage: str) -> None:
    folder = make(home)
    folder.close(is_over=False)
    assert is_here(home / "harvester", JOB)
    (folder.path / "state.json").write_text(damage)
    assert list(leftovers(home / "harvester", silent)) == []
    assert (home / "harvester" / "damaged" / folder.path.name / "claim.json").exists()
    assert not is_here(home / "harvester", JOB)


def test_the_folder_knows_whether_a_process_of_the_crawl_lives(home: Path) -> None:
    folder = make(home)
    assert not folder.is_alive
    with folder.presence() as fd:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(fd,))
    assert folder.is_alive
    with pytest.raises(BlockingIOError), folder.presence():
        pass
    assert process.stdin is not None
    process.stdin.close()
    process.wait(30)
    assert not folder.is_alive


@pytest.mark.parametrize("is_linked", [False, True])
def test_processes_that_do_not_end_are_known_by_their_lock_and_killed(
    home: Path, tmp_path: Path, is_linked: bool
) -> None:
    link = tmp_path / "link"
    link.symlink_to(home)
    folder = make(link if is_linked else home)
    with folder.presence() as fd:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(fd,))
    assert folder.kill_processes() == 1
    assert process.wait(30) == -9
    assert process.stdin is not None
    process.stdin.close()
    assert not folder.is_alive
    assert folder.kill_processes() == 0


def test_a_process_that_closes_a_file_while_its_files_are_listed_is_killed_too(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(home)
    with folder.presence() as fd:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(fd,))
    readlink = os.readlink

    def first_is_closed(path: str | Path) -> str:
        if Path(path).name == "0":
            raise FileNotFoundError
        return readlink(path)

    monkeypatch.setattr("admin.harvester.job_folder.os.readlink", first_is_closed)
    assert folder.kill_processes() == 1
    assert process.wait(30) == -9
    assert process.stdin is not None
    process.stdin.close()


def test_warcinfo_tells_of_the_harvest_under_netarchivesuites_names(settings: Settings) -> None:
    fields = warcinfo_fields(JOB, settings)
    assert fields["harvestInfo.jobId"] == "7"
    assert fields["harvestInfo.origHarvestDefinitionName"] == "weekly news", "one line, nothing invisible"
    assert fields["harvestInfo.audience"] == "public"
    assert fields["harvestInfo.Owner_name"] == "K\u00f8b"
    assert len(fields["harvestInfo.origHarvestDefinitionComments"]) == 2000
    with_job = crawl_settings(JOB, settings)
    load({"home": str(settings.home)}, environment=with_job.for_child())
    block = b"".join(
        warcinfo_record("7-3-a.warc.gz", with_job, "news", record_id="x", date=1, hostname="h", software="s").chunks()
    ).decode()
    assert "harvestInfo.harvestNum: 2\r\n" in block
    assert with_job.archive.warc_name.startswith("7-3-{timestamp17}")


def test_a_name_template_of_ones_own_stays_behind_the_job(settings: Settings) -> None:
    own = settings.archive.model_copy(update={"warc_name": "kb-{timestamp14}-{random}"})
    named = crawl_settings(JOB, settings.model_copy(update={"archive": own}))
    assert named.archive.warc_name == "7-3-kb-{timestamp14}-{random}"


def test_facts_of_any_kind_make_fields_that_can_be_written(settings: Settings) -> None:
    odd = {"a\r\nb: c": "d\r\ne: f", "nested": {"x": 1}, "none": None, "\u202e" * 200: "y"}
    odd |= {f"k{number}": number for number in range(500)}
    with_job = crawl_settings(replace(JOB, facts=odd), settings)
    again = load({"home": str(settings.home)}, environment=with_job.for_child())
    assert again.archive.warcinfo["harvestInfo.a__b__c"] == "d e: f"
    assert len(again.archive.warcinfo) <= 100


def test_the_environment_is_shown_without_secrets(settings: Settings) -> None:
    environment = {
        "PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "hidden1", "API_TOKEN": "hidden2", "PGPASSWORD": "hidden3",
        "HTTPS_PROXY": "http://user:hidden4@proxy.example/", "GHOSTFLEET_PROXY__PASSWORD": "hidden5", "PWD": "/home",
        "LONG": "a\nb",
    }  # fmt: skip
    proxy = settings.proxy.model_copy(update={"password": "hidden6"})
    storage = settings.storage.model_copy(update={"options": {"secret": "hidden7", "endpoint_url": "https://s3.test"}})
    text = "\n".join(environment_lines(environment, settings.model_copy(update={"proxy": proxy, "storage": storage})))
    assert "hidden" not in text
    assert "PATH=/bin" in text
    assert "PWD=/home" in text
    assert "https://s3.test" in text
    assert "LONG=a\\nb" in text


def test_a_folder_that_can_not_be_made_is_one_line(home: Path) -> None:
    (home / "harvester").write_text("a file")
    with pytest.raises(FolderError, match="the folder of job 7 can't be made"):
        make(home)


def test_locks_of_a_killed_owner_are_free(home: Path) -> None:
    program = (
        "import os, sys; sys.path[:0] = ['.', 'tests', 'tests/admin/harvester']\n"
        "from pathlib import Path; from test_job_folder import make\n"
        f"make(Path({str(home)!r})); os.kill(os.getpid(), 9)"
    )
    subprocess.run(code_command(program), cwd=ROOT, env={**os.environ, **PLACES})
    (folder,) = until(lambda: list(leftovers(home / "harvester", silent)), what="the folder")
    assert folder.state.step is JobStep.TAKEN
