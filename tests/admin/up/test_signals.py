"""`ghostfleet up` is killed, hurried, reloaded, and has a part that keeps dying: what becomes of jobs and parts."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from support.admin.harvesters import Admin, Wanted, folders
from support.origins.chain_site import ChainSite
from support.processes.ghostfleet_command import Command, processes_of
from support.processes.waiting import until

from admin.fleet.installation_file import Part, PartState, read_installation
from admin.models.job_tables import JobStatus
from archive.settings.load import Settings, load
from archive.warc.upkeep.check import check

type Start = Callable[..., Command]


@pytest.fixture
def site() -> Iterator[ChainSite]:
    with ChainSite(6) as started:
        yield started


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load({"home": str(tmp_path / "home")}, environment={})


def flags(site: ChainSite) -> tuple[str, ...]:
    port = urlsplit(site.url).port
    return ("--channel", "FOCUSED", "--allow-private", "--resolve", f"*.example.org=127.0.0.1:{port}")


def begun(settings: Settings, site: ChainSite) -> tuple[Admin, int]:
    """A job whose third page does not answer; its crawl waits there.

    The fourth one does not answer either, so that the job does not end before the crawl learns that it is to stop.
    """
    admin = Admin(settings)
    for path in ("/2", "/3"):
        site.hold(path)
    job = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    until(lambda: "/2" in site.asked, what="the third page", within=100)
    assert admin.show(job).status is JobStatus.STARTED
    return admin, job


def part(command: Command, name: str) -> Part:
    found = read_installation(command.home)
    assert found is not None
    return next(each for each in found.parts if each.name == name)


def is_whole(settings: Settings) -> bool:
    """Whether nothing of any job is left to be done, and every file of the archive is whole."""
    assert folders(settings.home) == []
    assert not list(settings.archive_dir("news").glob("*.open"))
    assert list(check(settings.archive_dir("news"))) == []
    return True


@pytest.mark.timeout(400)
def test_jobs_of_an_installation_that_was_killed_or_hurried_are_reported_and_the_next_one_is_harvested(
    start_up: Start, settings: Settings, site: ChainSite
) -> None:
    with start_up(*flags(site)) as command:
        command.line(ready=True)
        admin, killed = begun(settings, site)
        command.signal(signal.SIGKILL)
        assert command.ended() == -signal.SIGKILL
        until(lambda: "ghostfleet: scheduler" not in processes_of(command.home).values(), what="the first child to end")
        site.let_go("/2")
        until(lambda: not processes_of(command.home), what="the end of all children", within=100)
    with start_up(*flags(site)) as command:
        command.line(ready=True)
        cut_off = admin.ended(killed)
        admin.database.close()
        site.asked.clear()
        admin, hurried = begun(settings, site)
        command.signal(signal.SIGINT)
        until(lambda: "a second Ctrl-C ends crawls at once" in command.errors, what="the hint", within=30)
        command.signal(signal.SIGINT)
        assert command.ended() == 130
        site.let_go("/2")
        until(lambda: not processes_of(command.home), what="the end of a crawl that was killed", within=100)
    assert "Traceback" not in command.stderr
    site.let_go("/3")
    last = admin.job([Wanted("example.org")], ["http://www.example.org/"])
    with start_up(*flags(site)) as command:
        command.line(ready=True)
        ended, done = admin.ended(hurried), admin.ended(last)
        command.signal(signal.SIGTERM)
        assert command.ended() == 0
    admin.database.close()
    for job in (cut_off, ended):
        assert job.status is JobStatus.FAILED
        assert "interrupted by shutdown of the harvester" in job.harvest_error
    assert admin.results(killed)["example.org"][0] >= 4, "what was fetched is kept"
    assert done.status is JobStatus.DONE
    assert is_whole(settings)


@pytest.mark.timeout(300)
def test_sighup_replaces_the_recording_processes_and_no_other_part(start_up: Start) -> None:
    with start_up("--channel", "FOCUSED") as command:
        before = command.line(ready=True)["pids"]
        command.signal(signal.SIGHUP)
        until(lambda: part(command, "proxy-0").pid not in (0, before["proxy-0"]), what="another process", within=90)
        until(lambda: part(command, "proxy-0").state is PartState.READY, what="a ready proxy", within=90)
        assert {name: part(command, name).pid for name in before if name != "proxy-0"} == {
            name: pid for name, pid in before.items() if name != "proxy-0"
        }
        command.signal(signal.SIGTERM)
        assert command.ended() == 0
    assert "Traceback" not in command.stderr


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_part_that_keeps_dying_is_left_alone_for_a_while_and_the_others_go_on(
    start_up: Start,
) -> None:
    killed = set[int]()

    def is_given_up(command: Command) -> bool:
        replay = part(command, "replay")
        if replay.pid and replay.pid not in killed and replay.state is not PartState.FAILED:
            killed.add(replay.pid)
            with suppress(ProcessLookupError):
                os.kill(replay.pid, signal.SIGKILL)
        return replay.state is PartState.FAILED

    with start_up("--channel", "FOCUSED", GHOSTFLEET_ADMIN__PART_RETRY_SECONDS="3") as command:
        ready = command.line(ready=True)
        until(lambda: is_given_up(command), what="the end of all tries", within=120)
        assert "replay is started again in 3 s" in command.errors
        assert {name: part(command, name).pid for name in ready["pids"] if name != "replay"} == {
            name: pid for name, pid in ready["pids"].items() if name != "replay"
        }
        assert httpx.get(f"{ready['admin']}/login").status_code == 200
        until(lambda: part(command, "replay").state is PartState.READY, what="the replay proxy", within=90)
        command.signal(signal.SIGINT)
        assert command.ended() == 0
