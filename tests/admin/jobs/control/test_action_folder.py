"""Files of operators in the folder `action` of a run: taken when they are whole, once, and with a result."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.origins.chain_site import ChainSite
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until
from support.stores.real_frontier import Bench

from admin.jobs.control import action_folder
from admin.jobs.control.action_folder import ActionFolder
from frontier.definition.job import Profile
from frontier.lease import JobFinished, Lease
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier


@pytest.fixture
def bench(redis_url: str) -> Iterator[Bench]:
    bench = Bench(redis_url)
    yield bench
    bench.close()


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action_folder, "LOOK_SECONDS", 0.0)


class Stage:
    """A job with a folder."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.frontier = bench.frontier(profile=Profile(scope="host"))
        self.folder = folder
        self.notes: list[str] = []
        self.actions = self.again(self.frontier)

    def again(self, frontier: Frontier) -> ActionFolder:
        """The folder as the next command sees it."""
        actions = ActionFolder(self.folder, frontier, self.notes.append)
        actions.prepare()
        return actions

    def put(self, name: str, text: str) -> Path:
        """A file of an operator."""
        path = self.folder / "action" / name
        path.write_text(text)
        return path

    def look(self, times: int = 3) -> None:
        """Some looks, one after the other."""
        for _ in range(times):
            self.actions.look()

    def queued(self) -> set[str]:
        """The queued URLs, without the host."""
        return {entry.url.removeprefix("http://example.org/") for entry in self.frontier.desk.entries(("queued",))}

    def result(self) -> list[str]:
        """The lines of the only result."""
        (path,) = (self.folder / "action" / "done").glob("*.result")
        return path.read_text().splitlines()


@pytest.fixture
def stage(bench: Bench, tmp_path: Path) -> Stage:
    return Stage(bench, tmp_path)


def _visit_all(frontier: Frontier) -> list[str]:
    visited = []
    while isinstance(lease := frontier.claim("w"), Lease):
        visited.append(lease.url)
        frontier.finish(lease, VisitOutcome(200))
    return visited


def test_urls_in_scope_are_queued_and_the_result_says_what_became_of_each(stage: Stage) -> None:
    text = "# from the curator\nhttp://example.org/a\nhttp://example.org/\n\nno url\nhttp://elsewhere.example/\n"
    stage.put("more.schedule", text)
    stage.look()
    assert stage.queued() == {"", "a"}
    assert stage.result() == [
        "more.schedule: 1 URL known, 1 URL queued, 1 URL refused, 1 line can't be used",
        "line 5: seed 'no url' can't be used: it has no scheme; write http://no url/",
        "refused: http://elsewhere.example/: scope (host)",
    ]
    assert stage.actions.left() == []
    assert [path.name.partition(".")[2] for path in (stage.folder / "action" / "done").iterdir()] != []
    assert stage.notes == ["action/more.schedule was taken: " + stage.result()[0].partition(": ")[2]]


def test_seeds_extend_the_scope(stage: Stage) -> None:
    stage.put("more.seeds", "http://elsewhere.example/\n")
    stage.look()
    stage.put("then.schedule", "http://elsewhere.example/a\n")
    stage.look()
    assert {"http://elsewhere.example/", "http://elsewhere.example/a"} <= stage.queued()


def test_included_urls_are_never_visited(stage: Stage) -> None:
    stage.put("known.include", "F+ http://example.org/a LL http://example.org/\nhttp://example.org/b\n")
    stage.look()
    stage.put("all.schedule", "http://example.org/a\nhttp://example.org/b\nhttp://example.org/c\n")
    stage.look()
    assert stage.queued() == {"", "c"}


def test_a_journal_is_recovered(stage: Stage) -> None:
    journal = "F+ http://example.org/a L http://example.org/\nF+ http://example.org/b L http://example.org/\n"
    path = stage.folder / "action" / "old.recover.gz"
    path.write_bytes(gzip.compress(f"{journal}Fs http://example.org/a\nFf http://example.org/b\nrubbish\n".encode()))
    stage.look()
    assert stage.queued() == {"", "b"}
    (entry,) = [each for each in stage.frontier.desk.entries() if each.url.endswith("/b")]
    assert (entry.candidate.hop_path, entry.candidate.via, entry.candidate.depth) == ("L", "http://example.org/", 1)
    assert stage.result()[0] == "old.recover.gz: 1 URL known, 1 URL marked as seen, 1 URL queued, 1 line can't be used"


def test_a_file_that_grows_is_not_taken(stage: Stage) -> None:
    path = stage.put("more.schedule", "http://example.org/a\n")
    for number in range(5):
        stage.look(1)
        with path.open("a") as file:
            file.write(f"http://example.org/{number}\n")
    assert stage.queued() == {""}
    stage.look()
    assert stage.queued() == {"", "a", "0", "1", "2", "3", "4"}


@pytest.mark.parametrize("name", ["more.schedule.part", ".more.schedule", "more.txt", "schedule", ".schedule"])
def test_other_names_are_left_alone(stage: Stage, name: str) -> None:
    stage.put(name, "http://example.org/a\n")
    stage.look()
    assert stage.queued() == {""}


def test_links_and_pipes_are_left_alone(stage: Stage) -> None:
    secret = stage.folder / "secret"
    secret.write_text("http://example.org/a\n")
    (stage.folder / "action" / "link.schedule").symlink_to(secret)
    os.mkfifo(stage.folder / "action" / "pipe.schedule")
    stage.look()
    assert stage.queued() == {""}


def test_a_folder_that_can_not_be_read_is_named_once_and_stops_nothing(stage: Stage) -> None:
    shutil.rmtree(stage.folder / "action")
    (stage.folder / "action").write_text("a file")
    stage.look(4)
    assert len(stage.notes) == 1
    assert "can't be read" in stage.notes[0]
    assert stage.actions.left() == []


def test_a_damaged_file_is_named_once_and_the_next_one_is_taken(stage: Stage) -> None:
    stage.put("a.recover.gz", "not gzip")
    stage.put("b.schedule", "http://example.org/b\n")
    stage.look(6)
    assert stage.queued() == {"", "b"}
    assert sum("can't be taken" in note for note in stage.notes) == 1


def test_a_kill_in_the_middle_neither_loses_nor_doubles(stage: Stage, bench: Bench) -> None:
    _visit_all(stage.frontier)
    bench.client.hdel(bench.key("state"), "finished")
    urls = [f"http://example.org/{number}" for number in range(1_000)]
    stage.put("again.force", "http://example.org/\n" + "\n".join(urls) + "\n")
    killed = stage.again(stage.frontier)
    killed.look()
    path = killed._next_file()  # the work is left in the middle, as by a kill
    assert path is not None
    work = killed._take(path)
    next(work), next(work)
    visited = _visit_all(stage.frontier)
    bench.client.hdel(bench.key("state"), "finished")
    assert 0 < len(visited) < 1_001
    stage.look(8)
    visited += _visit_all(stage.frontier)
    assert sorted(visited) == sorted(["http://example.org/", *urls])
    assert stage.actions.left() == []


def test_a_file_stays_when_the_job_has_ended_its_work(stage: Stage) -> None:
    _visit_all(stage.frontier)
    assert isinstance(stage.frontier.claim("w"), JobFinished)
    stage.put("late.schedule", "http://example.org/a\n")
    stage.look(4)
    assert stage.actions.left() == ["late.schedule"]
    assert len(stage.notes) == 1


def test_a_large_file_is_taken_in_steps(stage: Stage) -> None:
    stage.put("large.schedule", "".join(f"http://example.org/{number}\n" for number in range(20_000)))
    looks = 0
    while stage.actions.left():
        stage.actions.look()
        looks += 1
    assert looks > 2, "the crawl is watched meanwhile"
    assert stage.frontier.reports.progress().queued == 20_001


def test_a_running_crawl_takes_a_file_and_a_killed_one_takes_it_later(home: Path) -> None:
    flags = ("--collection", "garden", "--job", "spring", "--allow-private", "--delay", "0", "--robots", "ignore")
    with ChainSite(2) as site:
        base = site.url.rstrip("/")
        site.hold("/1")
        with Command("crawl", site.url, *flags, "--json", "--workers", "1", home=home) as crawl:
            until(lambda: "/1" in site.asked, what="a request for /1", within=60)
            (folder,) = (home / "collections" / "garden" / "jobs").glob("spring-*")
            (folder / "action" / "more.schedule").write_text(f"{base}/1?a\n")
            until(lambda: not (folder / "action" / "more.schedule").exists(), what="the file to be taken", within=60)
            crawl.signal(signal.SIGKILL)
            crawl.ended()
            site.let_go("/1")
        (folder / "action" / "late.schedule").write_text(f"{base}/1?b\n{base}/1?a\n")
        site.hold("/1?a")
        with Command("crawl", site.url, *flags, "--json", "--workers", "1", home=home) as again:
            until(lambda: not (folder / "action" / "late.schedule").exists(), what="the file to be taken", within=60)
            site.let_go("/1?a")
            assert again.ended() == 0, again.stderr
        assert site.asked.count("/1?b") == 1
        assert site.asked.count("/1?a") == 1
    assert len(list((folder / "action" / "done").glob("*.result"))) == 2
