"""admin/curation/tray: each person sees the work that waits, puts it off, dismisses and assigns it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from support.admin.harvest_database import DAY, START, MovableClock
from support.admin.harvest_world import World
from support.admin.qa_rows import CAPTURED, add_page, add_session
from support.admin.site_users import person

from admin.curation.descriptions.describe import DescriptionChange, describe_collection
from admin.curation.permissions.permission import PermissionCreation, create_permission
from admin.curation.tray.entries import TrayKind
from admin.curation.tray.sources import verdict
from admin.curation.tray.tray import (
    TrayAssignmentInput,
    TrayDismissal,
    TrayEntryView,
    assign_entry,
    count_tray,
    dismiss_entry,
    list_tray,
)
from admin.models.curation_tables import CurationState, PermissionState
from admin.models.errors import Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.harvest_tables import Harvest
from admin.models.job_tables import JobStatus, StopReason
from admin.models.people_tables import Role
from admin.models.qa_tables import Ruling
from admin.models.transaction import COMMAND_LINE, Actor
from admin.qa.reviewing import repairs
from admin.qa.reviewing.decisions import PageRuling, decide, undo
from admin.qa.reviewing.repairs import NewRepair


def kinds(world: World, actor: Actor) -> list[TrayKind]:
    with world.database.reading(actor) as transaction:
        return [each.kind for each in list_tray(transaction).items]


@pytest.fixture
def waiting(world: World) -> World:
    """A world with an entry of each source."""
    for name in ("died.org", "fell.org", "same.org"):
        world.domain(name)
    harvest = world.snapshot()
    for name, size, reason in (
        ("died.org", 10, StopReason.NO_GOOD_ANSWER),
        ("fell.org", 400_000, StopReason.COMPLETE),
        ("same.org", 900_000, StopReason.COMPLETE),
    ):
        world.history(name, harvest, ended=START - 3 * DAY)
        world.history(name, harvest, size=size, reason=reason, ended=START - DAY)
    world.settings.archive_dir("news").mkdir(parents=True)
    with world.database.transaction(COMMAND_LINE) as transaction:
        failed = world.job_row(harvest, status=JobStatus.FAILED)
        failed.ended = START - DAY
        transaction.session.add(failed)
        describe_collection(transaction, "news", DescriptionChange(state=CurationState.IN_REVIEW))
        given = PermissionCreation(site="example.org", state=PermissionState.GRANTED, granted_until=START + 30 * DAY)
        create_permission(transaction, given)
    return world


def test_each_source_finds_its_entries_for_those_whose_work_it_is(waiting: World) -> None:
    anna, otto = (person(waiting.database, *each) for each in (("anna", Role.CURATOR), ("otto", Role.OPERATOR)))
    assert kinds(waiting, anna) == [
        TrayKind.TO_REVIEW,
        TrayKind.LICENCE_ENDS,
        TrayKind.SITE_DIED,
        TrayKind.SITE_CHANGED,
        TrayKind.JOB_FAILED,
    ]
    assert kinds(waiting, otto) == [TrayKind.JOB_FAILED]
    assert kinds(waiting, person(waiting.database, "rita", Role.READER)) == []


def test_entries_are_put_off_dismissed_and_assigned(waiting: World, clock: MovableClock) -> None:
    database = waiting.database
    anna, ben = (person(database, name, Role.CURATOR) for name in ("anna", "ben"))
    reader = person(database, "rita", Role.READER)
    with database.transaction(anna) as transaction:
        first, second, *_ = list_tray(transaction).items
        dismiss_entry(transaction, TrayDismissal(entry=first.key, days=2))
        dismiss_entry(transaction, TrayDismissal(entry=second.key))
        assert count_tray(transaction).entries == 3
        with pytest.raises(NotFound):
            dismiss_entry(transaction, TrayDismissal(entry="review:999"))
        with pytest.raises(InvalidInput, match="days"):
            dismiss_entry(transaction, TrayDismissal(entry=first.key, days=0))
    assert len(kinds(waiting, ben)) == 5
    clock.move(2 * DAY)
    assert len(kinds(waiting, anna)) == 4
    with database.transaction(anna) as transaction:
        assign_entry(transaction, TrayAssignmentInput(entry=first.key, person="rita"))
        assign_entry(transaction, TrayAssignmentInput(entry=second.key, role=Role.OPERATOR))
        with pytest.raises(Forbidden):
            list_tray(transaction, person="ben")
    assert kinds(waiting, reader) == [TrayKind.TO_REVIEW]
    assert TrayKind.LICENCE_ENDS not in kinds(waiting, ben)
    with database.reading(COMMAND_LINE) as transaction:
        assert [each.kind for each in list_tray(transaction, person="rita").items] == [TrayKind.TO_REVIEW]


def test_a_harvest_that_needs_permission_asks_for_it(world: World) -> None:
    numbers = [world.domain(name) for name in ("asked.org", "new.org")]
    harvest = world.harvest("chosen", configurations=numbers)
    with world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.get_one(Harvest, harvest).permission = "only-granted"
        create_permission(transaction, PermissionCreation(site="asked.org"))
        titles = [each.title for each in list_tray(transaction, kind=TrayKind.TO_ASK).items]
    assert titles == ["new.org"]


def test_damaged_pages_wait_for_a_decision_then_for_a_repair(world: World) -> None:
    database = world.database
    anna, ben = (person(database, name, Role.CURATOR) for name in ("anna", "ben"))
    with database.transaction(COMMAND_LINE) as transaction:
        session = add_session(transaction, ended=transaction.now)
        first, second, _ = (
            add_page(transaction, session, f"http://a.org/{number}", score=score)
            for number, score in enumerate((10, 70, 100))
        )
        number, pages = session.id, (first.id, second.id)

    def entries(actor: Actor) -> list[TrayEntryView]:
        with database.reading(actor) as transaction:
            return list_tray(transaction).items

    assert [(each.kind, each.why, each.link) for each in entries(anna)] == [
        (TrayKind.TO_REVIEW, "2 damaged pages wait for a decision", f"/qa/{number}/pages?ruling=open")
    ]
    with database.transaction(anna) as transaction:
        decide(transaction, number, pages[0], PageRuling(ruling=Ruling.REPAIR))
        decide(transaction, number, pages[1], PageRuling(ruling=Ruling.NOTE, assigned_to="ben"))
    assert [each.why for each in entries(anna)] == ["1 damaged page waits for a decision", "1 page waits for a repair"]
    assert "1 page is assigned to ben" in [each.why for each in entries(ben)]
    with database.transaction(ben) as transaction:
        decide(transaction, number, pages[1], PageRuling(ruling=Ruling.ACCEPTED))
        repairs.start(transaction, number, NewRepair(pages=[pages[0]]))
    assert entries(anna) == entries(ben) == []
    with database.transaction(anna) as transaction:
        undo(transaction, number, pages[1])
    assert [each.kind for each in entries(ben)] == [TrayKind.TO_REVIEW] * 2


def test_a_later_capture_without_a_decision_leaves_the_earlier_page_as_it_is(world: World) -> None:
    """The tray and the lists of pages agree about which decision counts."""
    database = world.database
    anna, ben = (person(database, name, Role.CURATOR) for name in ("anna", "ben"))
    with database.transaction(COMMAND_LINE) as transaction:
        targets = []
        for job, captured in (("first", CAPTURED), ("second", CAPTURED + DAY)):
            session = add_session(transaction, job=job, ended=transaction.now)
            targets.append((session.id, add_page(transaction, session, "http://a.org/", captured=captured).id))
        first, second = targets

    def entries(actor: Actor) -> list[str]:
        with database.reading(actor) as transaction:
            return sorted(each.key for each in list_tray(transaction).items)

    def undo_all(session: int, page: int) -> None:
        with database.transaction(anna) as transaction, suppress(IllegalState):
            while True:
                undo(transaction, session, page)

    def rule(target: tuple[int, int], ruling: Ruling, assigned_to: str = "") -> None:
        with database.transaction(anna) as transaction:
            decide(transaction, *target, PageRuling(ruling=ruling, note="look", assigned_to=assigned_to))

    reviews = [f"qa-review:{number}" for number, _ in (first, second)]
    repair, assigned = f"qa-repair:news:{first[0]}", f"qa-assigned:{first[0]}:ben"
    assert entries(anna) == reviews
    rule(first, Ruling.ACCEPTED)
    rule(second, Ruling.NOTE)
    assert entries(anna) == reviews[1:]
    undo_all(*second)
    assert entries(anna) == reviews[1:]
    rule(first, Ruling.REPAIR)
    assert entries(anna) == [repair, *reviews[1:]]
    rule(second, Ruling.NOTE)
    assert entries(anna) == [repair, *reviews[1:]]
    undo_all(*second)
    undo_all(*first)
    rule(first, Ruling.NOTE, "ben")
    assert entries(ben) == [assigned, *reviews]
    rule(second, Ruling.ACCEPTED)
    assert entries(ben) == reviews[:1]


def test_a_verdict_needs_a_job_before() -> None:
    assert verdict(1, StopReason.COMPLETE, None, 0.5) == (None, "")
    assert verdict(50, StopReason.COMPLETE, 100, 0.5) == (None, "")
    assert verdict(49, StopReason.COMPLETE, 100, 0.5)[0] is TrayKind.SITE_CHANGED
