"""admin/collections/tasks and their pages: packages that people order, follow, cancel, download and remove."""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from sqlalchemy import select
from support.archive.browsed_collection import NAME, PAGE, Shelf, fill, fill_index
from support.processes.python_code import PLACES, code_command
from support.processes.waiting import until
from support.web.axe_pages import serious_on_pages
from support.web.site_server import RunningSite, running_site, send_form

from admin.collections.tasks import work
from admin.collections.tasks.task_folder import (
    FOLDER,
    UPLOAD_FOLDER,
    TaskFolder,
    TaskKind,
    TaskOrder,
    TaskState,
    new_draft,
    put_order,
    tasks_of,
)
from admin.collections.tasks.worker import TaskWorker
from admin.collections.transfer.importing import ImportedFile, Importer
from admin.collections.usage import users
from admin.jobs.runs import resume_or_create
from admin.models.database import Database
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE
from archive.dates import now_micros
from archive.settings.load import Settings
from archive.wacz.reader import ForeignPackage

pytestmark = pytest.mark.timeout(400)
PACKAGES = f"/collections/{NAME}/packages"
DAY = 86_400_000_000
EVERYTHING = {"since": "", "until": "", "job": "", "url_prefix": "", "title": "", "originals": True}


@pytest.fixture
def site(sqlite_database: Database, settings: Settings) -> Iterator[RunningSite]:
    fill(settings)
    with running_site(sqlite_database, settings.home) as running:
        yield running


@pytest.fixture
def operator(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.OPERATOR) as client:
        yield client


def listed(client: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/v1/tasks").json()["items"]
    return found


def ended(client: httpx.Client) -> dict[str, Any]:
    """The newest task, when it has ended."""
    until(lambda: listed(client)[0]["ended"] is not None, what="the task", within=120)
    return listed(client)[0]


def order(settings: Settings, **conditions: Any) -> TaskFolder:
    """A task as the site writes it."""
    given = TaskOrder(TaskKind.PACKAGE, NAME, now_micros(), "somebody", {**EVERYTHING, **conditions})
    return put_order(new_draft(settings, now_micros()), given)


def test_tasks_of_one_second_sort_by_their_order(settings: Settings) -> None:
    begun = 1_795_000_000_000_000
    names = [new_draft(settings, begun + after).name for after in (0, 0, 0, 1, 9, 16, 255, 4_096, 999_999, 1_000_000)]
    assert names == sorted(names)


@pytest.fixture
def worker(settings: Settings) -> Iterator[Callable[[], TaskWorker]]:
    """Starts workers, which end with the test."""
    started: list[TaskWorker] = []

    def start() -> TaskWorker:
        started.append(TaskWorker(settings))
        started[-1].start()
        return started[-1]

    yield start
    for each in started:
        each.stop()


def test_a_person_orders_a_package_and_downloads_it(
    site: RunningSite, operator: httpx.Client, tmp_path: Path, settings: Settings
) -> None:
    wrong = send_form(operator, PACKAGES, since="2027", until="2026", url_prefix=PAGE, originals="on")
    assert (wrong.status_code, 'id="since-problem"' in wrong.text, listed(operator)) == (422, True, [])
    wrong = send_form(operator, PACKAGES, url_prefix="http://", originals="on")
    assert (wrong.status_code, 'id="url_prefix-problem"' in wrong.text) == (422, True)
    assert send_form(operator, PACKAGES, until="2026-11", url_prefix=PAGE, title="Ferns").status_code == 303
    made = ended(operator)
    assert (made["state"], made["created_by"], made["missing_count"]) == ("done", "the-operator", 0), made
    path = re.findall(r'href="([^"]+/file)"', operator.get(PACKAGES).text)[0]
    answer = operator.get(path, headers={"Accept-Encoding": "identity"})
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=news-")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    (tmp_path / "made.wacz").write_bytes(answer.content)
    with ForeignPackage(tmp_path / "made.wacz") as package:
        assert [each.url for each in package.pages()] == [PAGE]
        assert len(list(package.warcs())) == 1
    part = operator.get(f"/api/v1/tasks/{made['id']}/package", headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, answer.content[10:20])
    assert part.headers["Content-Disposition"].startswith("attachment")
    removed = send_form(operator, PACKAGES, to=f"{PACKAGES}/{made['id']}/remove")
    assert (removed.status_code, operator.get(path).status_code, tasks_of(settings)) == (303, 404, [])
    with site.database.reading(COMMAND_LINE) as opened:
        entries = opened.session.scalars(
            select(AuditEntry).where(AuditEntry.entity == "collection").order_by(AuditEntry.id)
        ).all()
    assert [(each.action, each.actor) for each in entries] == [
        ("package.create", "the-operator"),
        ("task.remove", "the-operator"),
    ]


def test_readers_see_packages_and_neither_make_nor_download_them(site: RunningSite, operator: httpx.Client) -> None:
    send_form(operator, PACKAGES)
    made = ended(operator)
    with site.client(Role.READER) as reader:
        text = reader.get(PACKAGES).text
        assert ("done" in text, f"{made['id']}/file" in text) == (True, False)
        assert "New package" not in text
        for path in (f"{PACKAGES}/{made['id']}/file", f"/api/v1/tasks/{made['id']}/package"):
            assert reader.get(path).status_code == 403
        token = re.search(r'name="csrf_token" value="([^"]+)"', reader.get("/profile").text)
        assert token is not None
        assert reader.post(PACKAGES, data={"csrf_token": token[1]}).status_code == 403
    assert operator.get(f"/collections/other/packages/{made['id']}/file").status_code == 404
    assert operator.get(f"{PACKAGES}/..%2f..%2fadmin.key/file").status_code == 404


def test_a_package_that_can_not_be_made_says_why_and_leaves_nothing(
    settings: Settings, worker: Callable[[], TaskWorker]
) -> None:
    fill(settings)
    for sidecar in settings.index_dir(NAME).rglob("*.cdxj"):
        sidecar.write_text("no line of an index\n")
    task = order(settings)
    worker()
    until(lambda: task.result() is not None, what="the task", within=120)
    result = task.result()
    assert result is not None
    assert (result.state, bool(result.problem)) == ("failed", True)
    assert sorted(each.name for each in task.path.iterdir()) == ["order.json", "result.json", "running"]


def working(task: TaskFolder) -> list[int]:
    """The processes that carry a task out."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdecimal():
            try:
                if str(task.path).encode() in (each / "cmdline").read_bytes():
                    found.append(int(each.name))
            except OSError:
                continue
    return found


def test_a_task_that_is_cancelled_leaves_no_part_of_a_package(site: RunningSite, settings: Settings) -> None:
    fill_index(settings, 4_000)
    with site.client(Role.OPERATOR) as client:
        send_form(client, PACKAGES)
        (task,) = tasks_of(settings)
        until(lambda: bool(working(task)), what="the task", within=60)
        assert "Cancel" in client.get(f"{PACKAGES}/live").text
        send_form(client, PACKAGES, to=f"{PACKAGES}/{task.id}/cancel")
        assert ended(client)["state"] == "cancelled"
        until(lambda: not working(task), what="the task", within=60)
        assert not task.package.exists()
        assert [each.name for each in task.path.iterdir() if ".part" in each.name] == []
        assert client.post(f"/api/v1/tasks/{task.id}/cancel").status_code == 403  # without the token of its forms


def test_a_task_of_a_killed_site_is_begun_anew(settings: Settings, worker: Callable[[], TaskWorker]) -> None:
    fill_index(settings, 4_000)
    task = order(settings)
    script = (
        "import time; from archive.settings.load import load; from admin.collections.tasks.worker import TaskWorker;"
        " TaskWorker(load()).start(); time.sleep(600)"
    )
    site = subprocess.Popen(code_command(script), env={**os.environ, **PLACES, **settings.for_child()})
    try:
        until(lambda: bool(working(task)), what="the task", within=60)
    finally:
        os.kill(site.pid, signal.SIGKILL)
        site.wait()
    until(lambda: not working(task), what="the task", within=60)
    assert (task.state(), task.package.exists()) == ("waiting", False)
    worker()
    until(lambda: task.result() is not None, what="the task", within=120)
    assert (task.state(), task.package.is_file()) == ("done", True)


def test_packages_are_removed_after_their_time_and_with_their_collection(
    settings: Settings, worker: Callable[[], TaskWorker]
) -> None:
    fill(settings)
    old, other, waiting = order(settings), order(settings), new_draft(settings, now_micros())
    for task, collection, age in ((old, NAME, 8), (other, "deleted", 0)):
        given = TaskOrder(TaskKind.PACKAGE, collection, now_micros() - age * DAY, "somebody", EVERYTHING)
        text = {
            "kind": given.kind,
            "collection": collection,
            "created": given.created,
            "created_by": "",
            "conditions": {},
        }
        task.note("order.json", text)
        task.note("result.json", {"state": "done", "ended": given.created, "problem": "", "facts": {}})
        task.package.write_bytes(b"a package")
    worker()
    until(lambda: not old.path.exists() and not other.path.exists(), what="the task", within=60)
    assert waiting.is_dir()
    until(lambda: not list((settings.home / FOLDER).glob(".removed-*")), what="the end of the removal")


@pytest.mark.browser
def test_the_pages_of_tasks_are_accessible_and_a_job_leads_to_them(
    site: RunningSite, operator: httpx.Client, settings: Settings
) -> None:
    run = resume_or_create(settings.collection(NAME) / "jobs", NAME, "weekly", {})
    queues = f"/jobs/crawls/{run.state.name}/queues"
    send_form(operator, PACKAGES)
    ended(operator)
    assert 'value="daily"' in operator.get(f"{PACKAGES}?job=daily").text
    assert serious_on_pages(site.address, operator, [PACKAGES, queues]) == []


def warc_of_another_home(folder: Path) -> Path:
    """A WARC file with a page that the collection does not have."""
    settings = Settings(home=folder / "other-home")
    shelf = Shelf(settings, "elsewhere")
    shelf.page("/from-elsewhere")
    shelf.close()
    (found,) = settings.archive_dir("elsewhere").glob("*.warc.gz")
    return found


def test_a_curator_uploads_a_file_which_is_imported(site: RunningSite, settings: Settings, tmp_path: Path) -> None:
    data = warc_of_another_home(tmp_path).read_bytes()
    upload = f"{PACKAGES}/upload"
    with site.client(Role.CURATOR) as curator:
        token = re.search(r'name="csrf_token" value="([^"]+)"', curator.get(PACKAGES).text)
        assert token is not None

        def send(name: str, content: bytes) -> httpx.Response:
            return curator.post(upload, data={"csrf_token": token[1]}, files={"file": (name, content)})

        wrong = send("page.html", data)
        assert (wrong.status_code, 'id="file-problem"' in wrong.text, listed(curator)) == (422, True, [])
        assert send("../../up load.warc.gz", data).status_code == 303
        made = ended(curator)
        assert (made["kind"], made["state"], made["file"], made["captures"]) == ("import", "done", "up_load.warc.gz", 1)
        found = curator.get(f"/api/v1/collections/{NAME}/captures", params={"url": "http://example.org/from-elsewhere"})
        assert len(found.json()["items"]) == 1
        uploads = curator.get("/capture").text
        assert "up_load.warc.gz" in uploads, "the import is a capture session"
        answer = curator.post(
            f"/api/v1/collections/{NAME}/imports?file=b.warc.gz",
            content=b"no WARC record at all",
            headers={"X-CSRFToken": token[1], "Content-Type": "application/octet-stream"},
        )
        assert answer.status_code == 202, answer.text
        assert (ended(curator)["state"], "damaged" in ended(curator)["problem"]) == ("failed", True)
        site.database.settings = settings
        assert curator.post(upload, files={"file": ("a.warc.gz", data)}).status_code == 400
    left = [path.name for path in (settings.home / FOLDER).rglob("*") if "upload" in path.name]
    assert left == []
    with site.client(Role.OPERATOR) as operator:
        assert "Import a file" not in operator.get(PACKAGES).text


def test_an_upload_has_a_limit(sqlite_database: Database, settings: Settings, tmp_path: Path) -> None:
    fill(settings)
    with (
        running_site(sqlite_database, settings.home, {"admin.upload_max_bytes": 1_000}) as site,
        site.client(Role.CURATOR) as curator,
    ):
        token = re.search(r'name="csrf_token" value="([^"]+)"', curator.get(PACKAGES).text)
        assert token is not None
        files = {"file": ("a.warc.gz", bytes(1_001))}
        form = curator.post(f"{PACKAGES}/upload", data={"csrf_token": token[1]}, files=files)
        headers = {"X-CSRFToken": token[1], "Content-Type": "application/octet-stream"}
        raw = curator.post(f"/api/v1/collections/{NAME}/imports?file=a.warc", content=bytes(1_001), headers=headers)
        assert (form.status_code, raw.status_code, listed(curator)) == (422, 413, [])


def import_of(settings: Settings, upload: Path) -> TaskFolder:
    """A task that imports this file."""
    draft = new_draft(settings, now_micros())
    (draft / UPLOAD_FOLDER).mkdir()
    os.link(upload, draft / UPLOAD_FOLDER / upload.name)
    return put_order(draft, TaskOrder(TaskKind.IMPORT, NAME, now_micros(), "somebody", {"file": upload.name}))


def test_a_small_import_does_not_wait_for_a_large_one(
    settings: Settings, worker: Callable[[], TaskWorker], tmp_path: Path
) -> None:
    fill(settings)
    large = tmp_path / "large.warc.gz"
    large.touch()
    os.truncate(large, 30_000_000)
    waiting, small = import_of(settings, large), import_of(settings, warc_of_another_home(tmp_path))
    with (settings.home / FOLDER / ".lock").open("w") as lane:
        fcntl.flock(lane, fcntl.LOCK_EX)  # as if a large task was at work
        worker()
        until(lambda: small.result() is not None, what="the small import", within=100)
        assert (small.state(), waiting.state()) == ("done", "waiting")
        done = small.result()
        assert done is not None
        assert done.facts["captures"] == 1


@pytest.fixture
def package_of_two(settings: Settings, tmp_path: Path) -> Path:
    """A package of a WARC file, and of a second one that takes a moment."""
    fill(settings)
    path = tmp_path / "two.wacz"
    with zipfile.ZipFile(path, "w") as package:
        package.write(warc_of_another_home(tmp_path), "archive/first.warc.gz")
        package.writestr("archive/second.warc", bytes(400_000_000), zipfile.ZIP_DEFLATED)
        package.writestr("pages/pages.jsonl", '{"url":"http://example.org/from-elsewhere","ts":"2026"}\n')
    return path


def test_what_a_cancelled_import_has_taken_stays_and_is_named(
    settings: Settings, package_of_two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The process is not killed while it makes whole what it has taken.
    monkeypatch.setattr("admin.collections.tasks.worker._STOP_SECONDS", 600.0)
    task = import_of(settings, package_of_two)
    listed_as_session: list[str] = []
    worker = TaskWorker(settings, lambda name, order, result: listed_as_session.append(name))
    worker.start()
    try:
        until(lambda: task.progress().get("name") == "second.warc", what="the second file", within=100)
        task.ask_to_cancel()
        result = until(task.result, what="the end", within=100)
    finally:
        worker.stop()
    assert (result.state, result.problem) == (TaskState.CANCELLED, "")
    assert (result.facts["names"], result.facts["captures"], result.facts["pages"]) == (["first.warc.gz"], 1, 1)
    assert listed_as_session == [task.id]


def test_what_a_failed_import_has_taken_is_indexed(settings: Settings, package_of_two: Path) -> None:
    task, handler = import_of(settings, package_of_two), signal.getsignal(signal.SIGTERM)
    order, take, count = task.order(), Importer.take, itertools.count()
    assert order is not None

    def take_one(importer: Importer, *given: Any) -> ImportedFile:
        if next(count):
            raise OSError(28, "No space left on device")
        return take(importer, *given)

    try:
        with patch.object(Importer, "take", take_one):
            facts = work._import(settings, task, order, lambda *_: None)
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert facts["problem"] == "a file can't be used: No space left on device"
    assert (facts["names"], facts["captures"], facts["pages"]) == (["first.warc.gz"], 1, 1)


def test_a_waiting_import_does_not_bring_a_deleted_collection_back(
    settings: Settings, worker: Callable[[], TaskWorker], tmp_path: Path
) -> None:
    fill(settings)
    task = import_of(settings, warc_of_another_home(tmp_path))
    assert users(settings, NAME) == [f"import {task.id} of an uploaded file is waiting"]
    with task.held():
        assert users(settings, NAME) == [f"import {task.id} of an uploaded file is running"]
    shutil.rmtree(settings.collection(NAME))
    worker()
    until(lambda: task.result() is not None, what="the import", within=100)
    done = task.result()
    assert done is not None
    assert done.problem == f"collection {NAME} is not in this home any more"
    assert not settings.collection(NAME).exists()
    assert users(settings, NAME) == []


def test_work_on_the_queues_of_one_crawl_is_done_in_turn(settings: Settings, worker: Callable[[], TaskWorker]) -> None:
    def ordered(crawl: str) -> TaskFolder:
        given = TaskOrder(TaskKind.QUEUE_REBUILD, "", now_micros(), "somebody", {"job": crawl})
        return put_order(new_draft(settings, now_micros()), given)

    first, second, other = ordered("spring"), ordered("spring"), ordered("summer")
    with first.held():  # as if the other lane was at work
        worker()
        until(lambda: other.result() is not None, what="the task of another crawl", within=100)
        assert second.state() == "waiting"
    until(lambda: second.result() is not None, what="the second task", within=100)
    ends = [each.result() for each in (first, second)]
    assert [(each.problem.startswith("there is no job spring"), each.state) for each in ends if each] == [
        (True, "failed"), (True, "failed"),
    ]  # fmt: skip


def test_a_package_of_very_many_files_is_refused_before_any_is_copied(
    settings: Settings, worker: Callable[[], TaskWorker], tmp_path: Path
) -> None:
    fill(settings)
    package = tmp_path / "many.wacz"
    with zipfile.ZipFile(package, "w") as file:
        for number in range(6_000):
            file.writestr(f"archive/{number}.warc.gz", b"")
    task = import_of(settings, package)
    worker()
    until(lambda: task.result() is not None, what="the import", within=100)
    done = task.result()
    assert done is not None
    assert task.state() == "failed"
    assert "it has 6,000 WARC files; split it into packages of at most 5,000" in done.problem


def test_packages_of_a_collection_whose_folder_is_away_stay(settings: Settings) -> None:
    fill(settings)
    task = order(settings)
    task.note("result.json", {"state": "done", "ended": now_micros(), "problem": "", "facts": {}})
    settings.collection(NAME).rename(settings.home / "unmounted")
    made = TaskWorker(settings)
    assert not made._is_unneeded(task)
    (settings.home / "unmounted").rename(settings.collection(NAME))
