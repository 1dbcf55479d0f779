"""admin/qa/workers/execution: each judgement belongs to the capture that the worker saw."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import text
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.admin.qa_pages import replayed
from support.admin.qa_rows import add_session
from support.archive.capture_rows import capture
from support.processes.waiting import until

from admin.models.database import Database
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.qa_tables import QaPage, QaPageState, QaSession, QaState
from admin.models.transaction import COMMAND_LINE
from admin.qa import sessions
from admin.qa.leases import QA, take_work
from admin.qa.reviewing.report import report_csv
from admin.qa.sessions import NewQaSession
from admin.qa.workers import execution
from admin.qa.workers.execution import QaExecution
from admin.qa.workers.tools import Tools
from archive.settings.load import Settings, load
from browsers.ghosts.ghost import Ghost
from browsers.ghosts.replay_visit import ReplayOrder
from browsers.proxying.control_client import Control
from browsers.visit import FleetUnavailable
from dedupdb.captures.capture_index import Captures

OWNER = "a process"
PAGE = "http://a.test/"


@pytest.fixture
def settings(home: Any) -> Settings:
    return load({"home": str(home), "qa.workers": 1, "qa.tries": 1, "qa.follow_seconds": 0.05}, environment={})


def keep_page(settings: Settings, page_id: str, date: str, url: str = PAGE) -> None:
    """Index the page information that a ghost wrote of a visit."""
    info = capture(f"urn:pageinfo:{url}", date, page_id=page_id, kind="resource", filename=f"{page_id}.warc.gz")
    Captures(settings.database_url).add([info])


def judge(database: Database, settings: Settings, **wanted: Any) -> int:
    """Work on a new session of the collection until its end."""
    with database.transaction(COMMAND_LINE) as transaction:
        number = sessions.start(transaction, NewQaSession(collection="news", **wanted)).id
    work_on(database, settings, number)
    return number


def work_on(database: Database, settings: Settings, number: int) -> None:
    taken = take_work(database, QaSession, OWNER, number)
    assert taken is not None
    ghost = cast(Ghost, SimpleNamespace(break_off=lambda: None))
    tools = Tools(settings, ghost, (cast(Control, _ClosedControl()),), "")
    assert QaExecution(database, taken, OWNER, tools).run(lambda: False) is QaState.DONE


class _ClosedControl:
    """The proxy of the session takes no records."""

    def open(self, *_: Any) -> None:
        raise FleetUnavailable("no proxy")


def pages(database: Database, session: int) -> list[QaPage]:
    with database.reading(QA) as reading:
        return list(reading.session.get_one(QaSession, session).rows)


def test_a_page_that_is_captured_again_during_its_visit_is_judged_by_the_newer_capture(
    sqlite_database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = sqlite_database
    with database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        job = add_job(transaction, add_harvest(transaction, add_channel(transaction)))
        job.status = JobStatus.STARTED
        number = job.id
    keep_page(settings, "one", "20260101000000")
    visits: list[int] = []

    def visit(_: Ghost, __: Control, order: ReplayOrder, *___: Any, **____: Any) -> None:
        visits.append(order.captured)
        if len(visits) == 1:
            keep_page(settings, "two", "20260201000000")
            until(lambda: [page.page_id for page in pages(database, 1)] == ["two"], what="the newer capture")
            with database.transaction(COMMAND_LINE) as transaction:
                transaction.session.get_one(HarvestJob, number).status = JobStatus.DONE
        raise FleetUnavailable(f"visit {len(visits)}")

    monkeypatch.setattr(execution, "replay_page", visit)
    [page] = pages(database, judge(database, settings, follows=True))
    assert (page.state, page.captured, page.why.rpartition(": ")[2]) == (QaPageState.UNJUDGED, visits[-1], "visit 2")


@pytest.mark.parametrize("sample", ["", "1"])
def test_a_url_that_a_person_listed_and_that_has_no_page_is_not_judged_and_named(
    sqlite_database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch, sample: str
) -> None:
    visited: list[str] = []

    def visit(_: Ghost, __: Control, order: ReplayOrder, *___: Any, **____: Any) -> None:
        visited.append(order.url)
        raise FleetUnavailable("no browser")

    monkeypatch.setattr(execution, "replay_page", visit)
    keep_page(settings, "one", "20260101000000")
    number = judge(sqlite_database, settings, urls=[PAGE, "http://a.test/typo"], sample=sample)
    found = {page.url: page for page in pages(sqlite_database, number)}
    assert (set(found), visited) == ({PAGE, "http://a.test/typo"}, [PAGE])
    typo = found["http://a.test/typo"]
    assert (typo.state, typo.captured, typo.host) == (QaPageState.UNJUDGED, 0, "a.test")
    assert typo.why == "the collection has no captured page with this URL"
    with sqlite_database.reading(QA) as reading:
        row = reading.session.get_one(QaSession, number)
        assert (row.pages, row.unjudged) == (2, 2)
        csv = report_csv(reading, number).decode()
    assert "1970" not in csv


def test_the_session_that_judges_a_repair_adds_no_page_for_a_resource(
    sqlite_database: Database, settings: Settings
) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        session = add_session(transaction, state=QaState.WAITING, repair_id=1)
        session.urls = ["http://a.test/picture.png"]
        number = session.id
    keep_page(settings, "one", "20260101000000")
    work_on(sqlite_database, settings, number)
    assert pages(sqlite_database, number) == []


@pytest.mark.parametrize("title", ["News \ud83d", "News \0"])
def test_a_title_that_databases_refuse_is_kept_with_signs_in_place_of_the_characters(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    replay = replayed()
    replay.snapshot.title = title
    monkeypatch.setattr(execution, "replay_page", lambda *_, **__: replay)
    keep_page(settings, "one", "20260101000000")
    [page] = pages(database, judge(database, settings))
    assert (page.state, page.title) == (QaPageState.JUDGED, "News \ufffd")


def test_a_judgement_that_the_database_refuses_ends_no_session(
    sqlite_database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = sqlite_database
    monkeypatch.setattr(execution, "replay_page", lambda *_, **__: replayed())
    for page_id in ("one", "two"):
        keep_page(settings, page_id, "20260101000000", f"http://a.test/{page_id}")
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.execute(
            text(
                "CREATE TRIGGER refuses BEFORE UPDATE ON qa_pages WHEN NEW.state = 'judged' AND NEW.url LIKE '%/one'"
                " BEGIN SELECT RAISE(ABORT, 'the value is too long'); END"
            )
        )
    first, second = pages(database, judge(database, settings))
    assert (first.state, second.state) == (QaPageState.UNJUDGED, QaPageState.JUDGED)
    assert first.why.startswith("the judgement can't be kept: the database refused the change: the value is too long")
