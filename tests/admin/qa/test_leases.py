"""Sessions and pages belong to a process for a time: a killed process loses them, and nothing is judged twice."""

from __future__ import annotations

import pytest
from support.admin.harvest_database import MovableClock

from admin.models.database import Database
from admin.models.qa_tables import QA_STEPS, QaPage, QaPageState, QaSession, QaState
from admin.qa import leases
from admin.qa.leases import QA, SILENT_SECONDS
from admin.qa.listing import FoundPage

pytestmark = pytest.mark.both_databases

MICROS = 1_000_000


def session(database: Database, pages: int = 0) -> int:
    with database.transaction(QA) as transaction:
        row = QaSession(collection="news", created=transaction.now, created_by="a test")
        transaction.session.add(row)
        transaction.session.flush()
        leases.add_pages(transaction, row, [page(number) for number in range(pages)])
        return row.id


def page(number: int, captured: int = 1) -> FoundPage:
    return FoundPage(f"http://a.test/{number}", f"visit-{captured}", captured, is_rendered=True, row=number)


def test_a_waiting_session_is_taken_by_one_process(database: Database) -> None:
    number = session(database)
    taken = leases.take_work(database, QaSession, "one")
    assert taken is not None
    assert (taken.id, taken.state) == (number, QaState.RUNNING)
    assert leases.take_work(database, QaSession, "two") is None
    assert leases.hear(database, QaSession, number, "two") is None


def test_a_session_whose_process_is_silent_is_taken_over(database: Database, clock: MovableClock) -> None:
    number = session(database)
    leases.take_work(database, QaSession, "one")
    clock.now += (SILENT_SECONDS + 1) * MICROS
    taken = leases.take_work(database, QaSession, "two", number)
    assert taken is not None
    assert leases.hear(database, QaSession, number, "one") is None
    leases.end_work(database, QaSession, number, "one", QaState.FAILED, "too late")
    leases.end_work(database, QaSession, number, "two", QaState.DONE)
    with database.reading(QA) as reading:
        row = reading.session.get_one(QaSession, number)
        assert (row.state, row.error) == (QaState.DONE, "")


@pytest.mark.parametrize("asked", [False, True])
def test_work_of_a_process_that_ends_waits_unless_a_person_asked_for_its_end(database: Database, asked: bool) -> None:
    number = session(database)
    leases.take_work(database, QaSession, "one")
    if asked:
        with database.transaction(QA) as transaction:
            leases.step(transaction.session.get_one(QaSession, number), QaState.STOPPING)
    leases.end_work(database, QaSession, number, "one", QaState.WAITING)
    with database.reading(QA) as reading:
        row = reading.session.get_one(QaSession, number)
        assert (row.state, row.ended is None) == ((QaState.STOPPED, False) if asked else (QaState.WAITING, True))
    assert (leases.take_work(database, QaSession, "two") is None) is asked


def test_each_page_is_taken_once_and_again_after_its_time(database: Database, clock: MovableClock) -> None:
    number = session(database, pages=2)
    first, second = (leases.take_page(database, number, "one", 60) for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.url != second.url
    assert leases.take_page(database, number, "two", 60) is None
    clock.now += 61 * MICROS
    again = leases.take_page(database, number, "two", 60)
    assert again is not None
    assert (again.url, again.tries) == (first.url, 2)


def test_pages_that_are_given_back_wait_again_without_a_try(database: Database) -> None:
    number = session(database, pages=1)
    leases.take_page(database, number, "one", 60)
    leases.give_back(database, number, "two")
    assert leases.take_page(database, number, "two", 60) is None
    leases.give_back(database, number, "one")
    again = leases.take_page(database, number, "two", 60)
    assert again is not None
    assert again.tries == 1


def test_a_newer_capture_of_a_page_is_judged_again_and_an_older_one_is_not(database: Database) -> None:
    number = session(database, pages=1)
    with database.transaction(QA) as transaction:
        row = transaction.session.get_one(QaSession, number)
        judged = transaction.session.get_one(QaPage, 1)
        judged.state, judged.score = QaPageState.JUDGED, 100
        assert leases.add_pages(transaction, row, [page(0)]) == 0
        assert judged.state is QaPageState.JUDGED
        assert leases.add_pages(transaction, row, [page(0, captured=2)]) == 1
        assert (judged.state, judged.score, judged.page_id) == (QaPageState.WAITING, -1, "visit-2")
        leases.count_pages(transaction, row)
        assert (row.pages, row.judged) == (1, 0)


def test_a_page_with_a_newer_capture_is_no_longer_the_one_that_was_taken(database: Database) -> None:
    number = session(database, pages=1)
    before = leases.take_page(database, number, "one", 60)
    assert before is not None
    with database.transaction(QA) as transaction:
        assert leases.taken_row(transaction, before, "one") is not None
        assert leases.taken_row(transaction, before, "two") is None
        leases.add_pages(transaction, transaction.session.get_one(QaSession, number), [page(0, captured=2)])
    again = leases.take_page(database, number, "one", 60)
    assert again is not None
    with database.transaction(QA) as transaction:
        assert leases.taken_row(transaction, before, "one") is None
        assert leases.taken_row(transaction, again, "one") is not None


@pytest.mark.parametrize("state", list(QaState))
def test_states_follow_the_table(state: QaState) -> None:
    for following in QaState:
        row = QaSession(collection="news", state=state)
        if following in QA_STEPS[state]:
            leases.step(row, following)
            assert row.state is following
        else:
            with pytest.raises(ValueError, match="can't become"):
                leases.step(row, following)
