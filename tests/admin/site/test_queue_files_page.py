"""The page of files of queues: exports, imports and rebuilds of the queues of a crawl, by the process of their task."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from support.processes.python_code import PLACES, code_command
from support.processes.waiting import until
from support.stores.real_frontier import Bench
from support.web.site_server import RunningSite, running_site, send_form

from admin.collections.tasks.task_folder import FOLDER, tasks_of
from admin.collections.tasks.worker import TaskWorker
from admin.jobs.control.rebuild import rebuild
from admin.jobs.control.steering import find
from admin.jobs.runs import Run, locked, resume_or_create
from admin.models.database import Database
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE
from archive.file_lock import lock_or_not
from archive.settings import FrontierSettings
from archive.settings.load import Settings, load
from dedupdb.captures.schema import CapturesError
from frontier.definition.job import Job, JobError, Profile
from frontier.lease import JobFinished, Lease, Pause
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.shards import frontier_for, frontier_of
from frontier.store import FrontierLost, FrontierUnavailable

SEED = "http://example.org/"
LOG = "2026-11-27T13:10:14.059Z {} - {} L {} text/html #000 - - - -\n"


@dataclass
class World:
    """A site, and the runs of its home, whose frontiers are in one Redis."""

    site: RunningSite
    bench: Bench
    settings: Settings

    def run(self, job: str) -> Run:
        """The run of a job that was stopped."""
        made = resume_or_create(self.settings.collection("garden") / "jobs", "garden", job, {})
        made.save_profile(Profile(scope="host").model_dump(mode="json", exclude_defaults=True))
        made.append_seeds([SEED])
        return made

    def frontier(self, run: Run) -> Frontier:
        """The frontier of a run."""
        return self.bench.frontier(SEED, name=run.state.name, profile=Profile(scope="host"))


@pytest.fixture
def world(sqlite_database: Database, home: Path, redis_url: str) -> Iterator[World]:
    more = {"redis.url": redis_url}
    bench = Bench(redis_url)
    with running_site(sqlite_database, home, more) as site:
        yield World(site, bench, load({"home": str(home), **more}, environment={}))
    bench.close()


@pytest.fixture
def operator(world: World) -> Iterator[httpx.Client]:
    with world.site.client(Role.OPERATOR) as client:
        yield client


def _page(run: Run) -> str:
    return f"/jobs/crawls/{run.state.name}/queues"


def _ended(client: httpx.Client, run: Run) -> dict[str, Any]:
    """The newest task of a run, when it has ended."""

    def newest() -> dict[str, Any]:
        found: dict[str, Any] = client.get("/api/v1/tasks", params={"crawl": run.state.name}).json()["items"][0]
        return found

    until(lambda: newest()["ended"] is not None, what="the task", within=120)
    return newest()


def _sender(client: httpx.Client, page: str) -> Callable[..., httpx.Response]:
    """A function that uploads a file by the form of a page."""
    token = re.search(r'name="csrf_token" value="([^"]+)"', client.get(page).text)
    assert token is not None

    def send(name: str, content: bytes, **more: str) -> httpx.Response:
        data = {"csrf_token": token[1], **more}
        return client.post(f"{page}/import", data=data, files={"file": (name, content)})

    return send


def test_queues_are_exported_by_the_page_and_imported_into_another_crawl(world: World, operator: httpx.Client) -> None:
    spring, summer = world.run("spring"), world.run("summer")
    frontier = world.frontier(spring)
    frontier.visit_now(["http://example.org/a", "http://example.org/b"])
    other = world.frontier(summer)
    assert send_form(operator, _page(spring), f"{_page(spring)}/export", seen="on").status_code == 303
    made = _ended(operator, spring)
    assert (made["state"], made["switches"], made["job"]) == ("done", ["seen"], spring.state.name), made
    assert made["account"] == ["3 URLs and 3 fingerprints written to queue.jsonl.gz: 3 queued"]
    (path,) = re.findall(r'href="([^"]+/file)"', operator.get(_page(spring)).text)
    answer = operator.get(path, headers={"Accept-Encoding": "identity"})
    assert answer.headers["Content-Disposition"].startswith(f"attachment; filename={spring.state.name}-")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    rows = [json.loads(line) for line in gzip.decompress(answer.content).splitlines()]
    assert sorted(row["url"] for row in rows if "url" in row) == [SEED, f"{SEED}a", f"{SEED}b"]
    part = operator.get(f"/api/v1/tasks/{made['id']}/package", headers={"Range": "bytes=2-9"})
    assert (part.status_code, part.content) == (206, answer.content[2:10])

    lines = gzip.decompress(answer.content) + b'rubbish <b>\n{"url": "http://elsewhere.example/"}\n'
    send = _sender(operator, _page(summer))
    assert send("../a queue.jsonl.gz", gzip.compress(lines)).status_code == 303
    taken = _ended(operator, summer)
    assert (taken["state"], taken["file"], taken["missing_count"]) == ("done", "a_queue.jsonl.gz", 1), taken
    assert taken["account"] == ["2 URLs queued, 1 known, 1 refused (scope), 1 line can't be used"]
    number = len(lines.splitlines()) - 1
    assert taken["missing"][0].startswith(f"a_queue.jsonl.gz line {number}: 'rubbish <b>' is no JSON object")
    assert other.reports.progress().queued == 3
    text = operator.get(_page(summer)).text
    assert "1 refused (scope)" in text
    assert "rubbish &lt;b&gt;" in text or "rubbish &#" in text
    noted = [json.loads(line) for line in (summer.folder / "operator.log").read_text().splitlines()]
    assert {(each["by"], each["command"]) for each in noted} == {("the-operator", "queue import")}
    assert [each["outcome"] for each in noted] == ["begun", taken["account"][0]]
    lines = b"".join(b'{"url": "http://example.org/%d"}\n' % number for number in range(600))
    assert send("cut.jsonl.gz", gzip.compress(lines)[:-9]).status_code == 303
    failed = _ended(operator, summer)
    assert failed["problem"].startswith("a file can't be used: cut.jsonl.gz is no whole gzip file"), failed
    assert "500 URLs queued" in failed["problem"]
    *_, last = (summer.folder / "operator.log").read_text().splitlines()
    assert json.loads(last)["outcome"].startswith("500 URLs queued")

    with world.site.client(Role.READER) as reader:
        seen = reader.get(_page(summer)).text
        assert ("done" in seen, "rubbish" in seen, "Upload and import" in seen) == (True, False, False)
        assert reader.get("/api/v1/tasks", params={"crawl": summer.state.name}).json()["items"][0]["account"] == []
        assert (reader.get(path).status_code, reader.get(_page(spring)).status_code) == (403, 200)
    assert operator.get(path.replace(spring.state.name, summer.state.name)).status_code == 404
    for place, task in ((_page(summer), made["id"]), ("/collections/garden/packages", taken["id"])):
        for action in ("cancel", "remove"):
            assert send_form(operator, _page(spring), f"{place}/{task}/{action}").status_code == 404
    assert operator.get(f"/collections/garden/packages/{made['id']}/file").status_code == 404
    with world.site.database.reading(COMMAND_LINE) as opened:
        entries = opened.session.scalars(select(AuditEntry).where(AuditEntry.entity == "crawl")).all()
    assert {(each.action, each.actor, each.entity_id) for each in entries} == {
        ("queue-export.create", "the-operator", spring.state.name),
        ("queue-import.create", "the-operator", summer.state.name),
    }


def test_lost_queues_are_rebuilt_by_the_page_with_a_printed_account(world: World, operator: httpx.Client) -> None:
    run = world.run("spring")
    world.frontier(run)
    run.crawl_log.write_text(LOG.format(200, SEED, "-") + LOG.format(-4, f"{SEED}late", SEED) + "rubbish\n")
    page = _page(run)
    with locked(run):
        assert "Its queues can be rebuilt when it has ended" in operator.get(page).text
        for values in ({}, {"anew": "on"}):
            refused = send_form(operator, page, f"{page}/rebuild", **values)
            assert (refused.status_code, "is running" in refused.text) == (422, True)
    asked = send_form(operator, page, f"{page}/rebuild", anew="on")
    assert (asked.status_code, "Drop the queues that Redis has" in asked.text) == (200, True)
    (world.settings.home / FOLDER).mkdir()
    with lock_or_not(world.settings.home / FOLDER / ".lock") as is_held:  # as if a package was being written
        assert is_held
        told = send_form(operator, page, f"{page}/rebuild", anew="on", confirmed="yes", reason="Redis was lost")
        assert (told.status_code, told.headers["Location"]) == (303, page)
        made = _ended(operator, run)
    assert (made["state"], made["switches"]) == ("done", ["anew"]), made
    assert made["account"][0].split(None, 2)[2].startswith("1: 1 of crawl.log")
    assert "1 after temporary failures" in made["account"][2]
    assert "1 line of the logs can't be read" in made["account"][3]
    assert made["account"][-1].endswith("resumes the job")
    rebuilt = frontier_of(world.bench.url, run.state.name, FrontierSettings(), timeout_seconds=10)
    with closing(rebuilt) as frontier:
        assert [each.url for each in frontier.desk.entries(("queued",))] == [f"{SEED}late"]
    assert operator.get("/jobs/crawls/nowhere/queues").status_code == 404


def test_a_rebuild_that_is_refused_drops_no_queues(world: World, tmp_path: Path) -> None:
    run = world.run("spring")
    frontier = world.frontier(run)
    target = find(world.settings, run.state.name)
    with pytest.raises(FileNotFoundError, match=r"no\.log"):
        rebuild(target, logs=[tmp_path / "no.log"], anew=True)
    places = {"home": str(world.settings.home), "redis.url": world.bench.url}
    away = load({**places, "database.url": f"sqlite:///{tmp_path}/gone/index.db"}, environment={})
    with pytest.raises(CapturesError, match="unable to open"):
        rebuild(find(away, run.state.name), anew=True)
    run.save_profile({"scope": "host", "groups": ["list:gone.txt"]})
    with pytest.raises(JobError, match=r"gone\.txt"):
        rebuild(target, anew=True)
    run.save_profile({"scope": "host"})
    lease = frontier.claim("w")
    assert isinstance(lease, Lease)
    frontier.finish(lease, VisitOutcome(200, is_document=True))
    assert isinstance(frontier.claim("w"), JobFinished)
    other = Job.of("other", "garden", [SEED], Profile(scope="host"))
    with closing(frontier_for(world.bench.url, other, FrontierSettings(shards=2), timeout_seconds=10)) as wider:
        wider.open_job()
    with pytest.raises(JobError, match=r"frontier\.shards is 1"):
        rebuild(target, anew=True)
    assert frontier.reports.progress().pages == 1, "the frontier is there"
    assert not (run.folder / "operator.log").exists(), "nothing was changed"


def test_a_rebuild_that_is_interrupted_or_killed_leaves_no_queues_to_visit(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = world.run("spring")
    run.crawl_log.write_text(LOG.format(200, SEED, "-"))

    def interrupted(step: str) -> None:
        if step.startswith("queueing"):
            raise KeyboardInterrupt

    def away(_: Frontier) -> None:
        raise FrontierUnavailable("Redis is away")

    target = find(world.settings, run.state.name)
    with pytest.raises(KeyboardInterrupt):
        rebuild(target, say=interrupted)
    with pytest.raises(FrontierLost):
        frontier_of(world.bench.url, run.state.name, FrontierSettings(), timeout_seconds=10)
    with monkeypatch.context() as patch:
        patch.setattr(Frontier, "queue_seeds", lambda _: interrupted("queueing the seeds"))
        with pytest.raises(KeyboardInterrupt):
            rebuild(target)
    with pytest.raises(FrontierLost):
        frontier_of(world.bench.url, run.state.name, FrontierSettings(), timeout_seconds=10)
    with monkeypatch.context() as patch:
        patch.setattr(Frontier, "forget", away)
        with pytest.raises(KeyboardInterrupt):
            rebuild(target, say=interrupted)
    kill = f"""
import os
from admin.jobs.control.rebuild import rebuild
from admin.jobs.control.steering import find
from archive.settings.load import load
settings = load({{"home": {str(world.settings.home)!r}, "redis.url": {world.bench.url!r}}}, environment={{}})
rebuild(find(settings, "spring"), say=lambda step: step.startswith("queueing") and os.kill(os.getpid(), 9))
"""
    assert subprocess.run(code_command(kill), env={**os.environ, **PLACES}).returncode == -9
    with closing(frontier_of(world.bench.url, run.state.name, FrontierSettings(), timeout_seconds=10)) as half:
        assert isinstance(half.claim("w"), Pause), "no crawl goes on with half of the queues"
        assert "rebuild them again" in str(half.reports.progress().paused)
    assert rebuild(target).done == 1, "no --anew is needed"
    with closing(frontier_of(world.bench.url, run.state.name, FrontierSettings(), timeout_seconds=10)) as whole:
        assert whole.reports.progress().paused is None
    noted = [json.loads(line)["outcome"] for line in (run.folder / "operator.log").read_text().splitlines()]
    broken = ["begun", "broken off; the job has no queues"]
    kept = ["begun", "broken off; Redis does not answer, and may have queues of the job"]
    assert noted == [*broken, *broken, *kept, "begun", "begun", "0 queued"]


def test_an_export_of_a_crawl_of_another_home_stays(world: World, operator: httpx.Client) -> None:
    name = "autumn-20261127131014"
    world.bench.frontier(SEED, name=name)
    assert send_form(operator, f"/jobs/crawls/{name}/queues", f"/jobs/crawls/{name}/queues/export").status_code == 303
    (task,) = tasks_of(world.settings)
    until(lambda: task.result() is not None or task.order() is None, what="the export", within=120)
    assert not TaskWorker(world.settings)._is_unneeded(task)
    assert task.export.exists()
