"""`ghostfleet collection …` as people run it, with a real Redis, killed after every step (T1)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.archive.exchanges import exchange, keep
from support.processes.ghostfleet_command import ROOT
from support.processes.python_code import PLACES, code_command
from support.stores.redis_server import RedisServer

from archive.settings.load import Settings
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures
from dedupdb.claims.claims import Claims, Settlement
from frontier.definition.job import Job, Profile, Seed
from frontier.queue import Frontier

pytestmark = pytest.mark.timeout(400)
JOB = "garden-job-20261122101112"


class Stage:
    """A home with a collection called garden: two captures, their index and dedup entries, and one run of a job."""

    def __init__(self, settings: Settings, server: RedisServer) -> None:
        self.settings = settings
        self.redis_url = server.url
        self.client = server.client()
        (settings.home / "ghostfleet.toml").write_text(f'[redis]\nurl = "{server.url}"\n')
        self.fill("garden")

    def fill(self, name: str) -> None:
        writer = WarcWriter(self.settings, name)
        keep(writer, exchange())
        writer.close()
        run = self.settings.collection(name) / "jobs" / JOB.replace("garden", name)
        run.mkdir(parents=True)
        state = {"job": f"{name}-job", "collection": name, "name": run.name, "status": "stopped"}
        (run / "run.json").write_text(json.dumps(state))
        job = Job(name=run.name, collection=name, seeds=(Seed.parse("http://example.org/"),), profile=Profile())
        frontier = Frontier(self.redis_url, job, self.settings.frontier)
        frontier.open_job()
        frontier.close()
        with Claims(self.redis_url, claim_seconds=30, timeout_seconds=5) as claims:
            claims.settle(Settlement(tallies={(name, "job"): {"novel_urls": 1}}))
        assert self.run("reindex", name).returncode == 0

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(*arguments, home=self.settings.home)

    def killed(self, call: str, step: str) -> None:
        """Run a change of a collection in a process that kills itself after this step."""
        script = (
            "import os, signal\nfrom archive.settings.load import load\n"
            "from admin.collections.delete import delete\nfrom admin.collections.rename import rename\n"
            f"settings = load({{'home': {str(self.settings.home)!r}}})\n"
            f"step = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == {step!r} else None\n{call}\n"
        )
        places = {**os.environ, **PLACES}
        done = subprocess.run(code_command(script), cwd=ROOT, env=places, capture_output=True, text=True, timeout=100)
        assert done.returncode == -signal.SIGKILL, done.stderr

    def listed(self) -> dict[str, dict[str, object]]:
        done = self.run("collection", "list", "--json")
        assert done.returncode == 0, done.stderr
        return {facts["name"]: facts for facts in map(json.loads, done.stdout.splitlines())}

    def keys(self, name: str) -> set[str]:
        """What Redis has of a collection and of its job, without keys that hosts share."""
        found = [*self.client.scan_iter(f"gf:{{{name}}}:*"), *self.client.scan_iter(f"gf:{{main}}:{name}-*")]
        return {key.decode("latin-1") for key in found}

    def captures(self, name: str) -> int:
        with Captures(self.settings.database_url) as index:
            return index.count(name)


@pytest.fixture
def stage(settings: Settings, tmp_path: Path) -> Iterator[Stage]:
    with RedisServer(tmp_path) as server:
        made = Stage(settings, server)
        yield made
        made.client.close()


def run(*arguments: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=100,
        env={**os.environ, "GHOSTFLEET_HOME": str(home), **environment},
        stdin=subprocess.DEVNULL,
    )


def test_the_list_has_a_header_and_a_row_for_each_collection(stage: Stage) -> None:
    stage.fill("meadow")
    done = stage.run("collection", "list")

    header, *rows = done.stdout.splitlines()
    assert header.split() == ["COLLECTION", "CAPTURES", "SIZE", "FIRST", "LAST", "JOBS", "OPEN"]
    assert [(row.split()[0], row.split()[1], row.split()[-2:]) for row in rows] == [
        ("garden", "1", ["1", "0"]),
        ("meadow", "1", ["1", "0"]),
    ]


def test_collections_with_problems_come_first_with_the_remedy(stage: Stage) -> None:
    stage.fill("meadow")
    stage.fill("aster")
    (left,) = stage.settings.archive_dir("meadow").iterdir()
    left.rename(f"{left}.open")
    shutil.rmtree(stage.settings.collection("garden"))

    lines = stage.run("collection", "list").stdout.splitlines()

    assert [line.split()[0] for line in lines if not line.startswith("    ")] == [
        *("COLLECTION", "garden", "meadow", "aster")
    ]
    assert any("the folder is missing" in line and "collection delete garden" in line for line in lines)
    assert any("left open" in line and "repair meadow" in line for line in lines)


def test_an_empty_home_has_no_collection_and_gets_no_files(tmp_path: Path) -> None:
    done = run("collection", "list", home=tmp_path / "nothing")

    assert (done.returncode, done.stderr) == (0, "")
    assert "there is no collection" in done.stdout
    assert not (tmp_path / "nothing").exists()


def test_show_lists_jobs_files_and_differences_of_index_and_disk(stage: Stage) -> None:
    well = json.loads(stage.run("collection", "show", "garden", "--json").stdout)
    assert (well["captures"], well["differences"], well["dedup"][0]["originals"]) == (1, [], 1)
    assert [job["name"] for job in well["runs"]] == [JOB]
    (file,) = stage.settings.archive_dir("garden").iterdir()
    assert [each["name"] for each in well["files"]] == [file.name]

    file.unlink()
    done = stage.run("collection", "show", "garden")

    assert done.returncode == 1
    assert f"{file.name} is missing, but the index has 1 capture of it" in done.stdout


def test_delete_removes_files_index_jobs_and_redis_keys(stage: Stage) -> None:
    stage.fill("meadow")
    before = stage.keys("meadow")

    done = stage.run("collection", "delete", "garden", "--yes-delete", "garden", "--json")

    told = json.loads(done.stdout)
    assert (told["captures"], told["jobs"], told["files"] > 2, told["redis_keys"] > 2) == (1, 1, True, True)
    assert stage.keys("garden") == set()
    assert stage.captures("garden") == 0
    assert [path.name for path in (stage.settings.home / "collections").iterdir()] == ["meadow"]
    assert stage.keys("meadow") == before
    assert stage.captures("meadow") == 1
    again = stage.run("collection", "delete", "garden", "--yes-delete", "garden")
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "there is no collection garden" in again.stderr


def test_delete_without_a_terminal_needs_yes(stage: Stage) -> None:
    done = stage.run("collection", "delete", "garden")

    assert done.returncode == 2
    assert "give --yes-delete garden" in done.stderr
    assert stage.listed()["garden"]["captures"] == 1


def check_deleted(stage: Stage) -> None:
    assert stage.listed() == {}
    assert stage.keys("garden") == set()
    assert stage.captures("garden") == 0


def test_a_delete_that_is_killed_again_and_again_is_shown_and_completed_by_the_same_command(stage: Stage) -> None:
    for step in ("marked", "redis", "index", "archive"):
        stage.killed("delete(settings, 'garden', step)", step)
        assert "only partly deleted" in str(stage.listed()["garden"]["problems"]), step
    refused = stage.run("replay", "garden")
    assert refused.returncode == 2
    done = stage.run("collection", "delete", "garden", "--yes-delete", "garden")
    assert done.returncode == 0, done.stderr
    check_deleted(stage)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["marked", "redis", "index", "archive", "indexes", "files"])
def test_a_killed_delete_is_shown_and_completed_by_the_same_command(stage: Stage, step: str) -> None:
    stage.killed("delete(settings, 'garden', step)", step)

    if step != "files":
        assert "only partly deleted" in str(stage.listed()["garden"]["problems"])
        refused = stage.run("replay", "garden")
        assert refused.returncode == 2
        done = stage.run("collection", "delete", "garden", "--yes-delete", "garden")
        assert done.returncode == 0, done.stderr

    check_deleted(stage)


def test_a_new_collection_of_the_same_name_survives_an_earlier_deletion(stage: Stage) -> None:
    stage.killed("delete(settings, 'garden', step)", "marked")
    stage.fill("garden")

    first = stage.run("collection", "delete", "garden", "--yes-delete", "garden", "--json")
    assert json.loads(first.stdout)["kept_new"]
    assert stage.listed()["garden"]["problems"] == []
    assert stage.listed()["garden"]["captures"] == 1

    assert stage.run("collection", "delete", "garden", "--yes-delete", "garden").returncode == 0
    assert stage.listed() == {}


def test_delete_clears_index_and_redis_of_a_folder_that_was_removed_by_hand(stage: Stage) -> None:
    shutil.rmtree(stage.settings.collection("garden"))

    assert stage.run("collection", "delete", "garden", "--yes-delete", "garden").returncode == 0

    assert stage.listed() == {}
    assert {key for key in stage.keys("garden") if key.startswith("gf:{garden}")} == set()


def test_a_collection_that_is_being_written_is_neither_deleted_nor_renamed(stage: Stage) -> None:
    writer = WarcWriter(stage.settings, "garden")
    keep(writer, exchange())

    for command in (["delete", "garden", "--yes-delete", "garden"], ["rename", "garden", "park"]):
        done = stage.run("collection", *command)
        assert done.returncode == 2
        assert "collection garden is in use: a recording process is writing" in done.stderr
        assert f"(process {os.getpid()})" in done.stderr
    writer.close()
    assert stage.run("collection", "delete", "garden", "--yes-delete", "garden").returncode == 0


def test_a_running_job_is_named(stage: Stage) -> None:
    from admin.jobs.runs import find_runs, locked

    (run_,) = find_runs(stage.settings.collection("garden") / "jobs")
    with locked(run_):
        done = stage.run("collection", "delete", "garden", "--yes-delete", "garden")
    assert done.returncode == 2
    assert f"job {JOB} is running" in done.stderr


def test_originals_of_other_collections_revisits_are_deleted_only_with_force(stage: Stage) -> None:
    from support.archive.capture_rows import capture

    from archive.capture import Original

    with Captures(stage.settings.database_url) as index:
        (held,) = index.complete("garden")
        refers_to = Original(held.record_id, held.url, held.date)
        index.add([capture(collection="news", kind="revisit", refers_to=refers_to)])

    refused = stage.run("collection", "delete", "garden", "--yes-delete", "garden")
    assert refused.returncode == 2
    assert "1 revisit of other collections (1 of news)" in refused.stderr
    assert stage.run("collection", "delete", "garden", "--yes-delete", "garden", "--force").returncode == 0


def test_deleting_a_collection_named_like_the_frontiers_shard_keeps_the_frontier(stage: Stage) -> None:
    stage.fill("main")
    before = stage.keys("garden")

    assert stage.run("collection", "delete", "main", "--yes-delete", "main").returncode == 0

    assert stage.keys("garden") == before
    assert not [key for key in stage.keys("main") if key.startswith(("gf:{main}:o:", "gf:{main}:t:"))]


def test_rename_moves_files_index_dedup_and_jobs(stage: Stage) -> None:
    done = stage.run("collection", "rename", "garden", "park", "--json")

    assert done.returncode == 0, done.stderr
    check_renamed(stage)


RENAME_STEPS = ("marked", "folder", "jobs", "redis", "index")


def kill_rename(stage: Stage, step: str) -> None:
    """Kill a rename after a step, and check that the list shows this, and that a deletion names the remedy."""
    stage.killed("rename(settings, 'garden', 'park', step)", step)
    assert "only partly renamed from garden to park" in str(list(stage.listed().values()))
    refused = stage.run("collection", "delete", name := "garden" if step == "marked" else "park", "--yes-delete", name)
    assert refused.returncode == 2
    assert "collection rename garden park" in refused.stderr


def test_a_rename_that_is_killed_again_and_again_is_shown_and_completed_by_the_same_command(stage: Stage) -> None:
    for step in RENAME_STEPS:
        kill_rename(stage, step)
    done = stage.run("collection", "rename", "garden", "park")
    assert done.returncode == 0, done.stderr
    check_renamed(stage)


@pytest.mark.slow
@pytest.mark.parametrize("step", RENAME_STEPS)
def test_a_killed_rename_is_shown_and_completed_by_the_same_command(stage: Stage, step: str) -> None:
    kill_rename(stage, step)
    done = stage.run("collection", "rename", "garden", "park")
    assert done.returncode == 0, done.stderr
    check_renamed(stage)


def check_renamed(stage: Stage) -> None:
    assert stage.listed().keys() == {"park"}
    assert stage.listed()["park"]["problems"] == []
    assert (stage.captures("garden"), stage.captures("park")) == (0, 1)
    assert not list(stage.client.scan_iter("gf:{garden}:*"))
    assert list(stage.client.scan_iter("gf:{park}:o:*"))
    assert stage.client.hget("gf:{park}:t:job", "novel_urls") == b"1"
    assert json.loads(stage.client.get(f"gf:{{main}}:{JOB}") or b"{}")["collection"] == "park"
    assert json.loads(stage.run("job", "show", JOB, "--json").stdout)["collection"] == "park"
    assert stage.run("collection", "show", "park").returncode == 0


def test_rename_to_a_name_that_is_taken_is_refused(stage: Stage) -> None:
    stage.fill("meadow")
    done = stage.run("collection", "rename", "garden", "meadow")
    assert (done.returncode, "there is already a collection meadow" in done.stderr) == (2, True)

    shutil.rmtree(stage.settings.collection("meadow"))
    done = stage.run("collection", "rename", "garden", "meadow")
    assert (done.returncode, "choose another name" in done.stderr) == (2, True)
    assert (stage.captures("garden"), stage.captures("meadow")) == (1, 1)
