"""admin/models/recent_readings.py: what was read for one person is shown to others, for a second at most."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from support.admin.harvest_database import MovableClock

from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.recent_readings import LONGEST_SECONDS, RecentReadings
from admin.models.transaction import COMMAND_LINE, Actor, Door, Transaction

ANNA = Actor("anna", Role.READER, Door.WEB)
BERT = Actor("bert", Role.READER, Door.WEB)
CURATOR = Actor("carl", Role.CURATOR, Door.WEB)


def counting() -> tuple[list[str], Callable[[Transaction], int]]:
    """Return a use case that returns how often it was called, and the names of those for whom it was called."""
    names: list[str] = []

    def use_case(transaction: Transaction) -> int:
        names.append(transaction.actor.name)
        return len(names)

    return names, use_case


def test_readers_of_the_same_role_share_a_reading(sqlite_database: Database) -> None:
    recent, (names, use_case) = RecentReadings(sqlite_database, lambda: 0.0), counting()
    assert [recent.read(actor, "list", use_case) for actor in (ANNA, BERT, ANNA)] == [1, 1, 1]
    assert names == ["anna"]


def test_another_role_and_other_arguments_are_read_by_themselves(sqlite_database: Database) -> None:
    recent, (names, use_case) = RecentReadings(sqlite_database, lambda: 0.0), counting()
    assert recent.read(ANNA, "list", use_case, ("status", "DONE")) == 1
    assert recent.read(CURATOR, "list", use_case, ("status", "DONE")) == 2
    assert recent.read(ANNA, "list", use_case, ("status", "NEW")) == 3
    assert recent.read(ANNA, "other", use_case, ("status", "DONE")) == 4
    assert names == ["anna", "carl", "anna", "anna"]


def test_nothing_is_shown_that_is_a_second_old(sqlite_database: Database) -> None:
    moments = [0.0]
    recent, (_, use_case) = RecentReadings(sqlite_database, lambda: moments[0]), counting()
    assert recent.read(ANNA, "list", use_case) == 1
    moments[0] = LONGEST_SECONDS * 0.9
    assert recent.read(ANNA, "list", use_case) == 1
    moments[0] = LONGEST_SECONDS
    assert recent.read(ANNA, "list", use_case) == 2


@pytest.mark.parametrize("seconds", [2, -3600])
def test_a_clock_that_was_set_does_not_keep_a_reading(
    sqlite_database: Database, clock: MovableClock, seconds: int
) -> None:
    recent, (_, use_case) = RecentReadings(sqlite_database, lambda: 0.0), counting()
    assert recent.read(ANNA, "list", use_case) == 1
    clock.now += seconds * 1_000_000
    assert recent.read(ANNA, "list", use_case) == 2


def test_people_see_their_own_changes_at_once(sqlite_database: Database) -> None:
    recent, (_, use_case) = RecentReadings(sqlite_database, lambda: 0.0), counting()
    assert recent.read(ANNA, "list", use_case) == 1
    with sqlite_database.transaction(COMMAND_LINE):
        pass
    assert recent.read(ANNA, "list", use_case) == 2
    sqlite_database.note_change()  # as a live stream does that has seen another program's change
    assert recent.read(ANNA, "list", use_case) == 3


def test_a_change_while_a_reading_lasts_makes_the_next_reader_read_anew(sqlite_database: Database) -> None:
    recent, (names, use_case) = RecentReadings(sqlite_database, lambda: 0.0), counting()

    def changed_meanwhile(transaction: Transaction) -> int:
        sqlite_database.note_change()
        return use_case(transaction)

    assert recent.read(ANNA, "list", changed_meanwhile) == 1
    assert recent.read(BERT, "list", use_case) == 2
    assert names == ["anna", "bert"]


def test_of_readers_who_come_at_the_same_time_one_reads(sqlite_database: Database) -> None:
    recent, (names, use_case) = RecentReadings(sqlite_database, lambda: 0.0), counting()
    begun, may_end = threading.Event(), threading.Event()
    results: list[int] = []

    def slow(transaction: Transaction) -> int:
        begun.set()
        assert may_end.wait(60)
        return use_case(transaction)

    threads = [threading.Thread(target=lambda: results.append(recent.read(ANNA, "list", slow))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    may_end.set()
    for thread in threads:
        thread.join()
    assert results == [1, 1, 1, 1]
    assert names == ["anna"]


def test_a_failure_is_not_kept(sqlite_database: Database) -> None:
    recent, (_, use_case) = RecentReadings(sqlite_database, lambda: 0.0), counting()

    def fail(_: Transaction) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        recent.read(ANNA, "list", fail)
    assert recent.read(ANNA, "list", use_case) == 1
