"""admin/harvests/schedules/timetable.py and its operations, on SQLite and PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select
from support.admin.harvest_database import DAY, HOUR, START, MovableClock
from support.each_value import each_value

from admin.harvests.definitions.checks import schedule_of
from admin.harvests.named_rows import find_named
from admin.harvests.schedules.dates import next_date
from admin.harvests.schedules.operations import OPERATIONS
from admin.harvests.schedules.rules import rule_of
from admin.harvests.schedules.stock import ONCE, STOCK_SCHEDULES, install_stock
from admin.models.database import Database
from admin.models.errors import EditConflict, Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.harvest_tables import Harvest, HarvestKind, HarvestRun, Schedule, ScheduleEnd, TimeUnit
from admin.models.people_tables import AuditEntry, Role, User
from admin.models.transaction import COMMAND_LINE, Actor, Door, Right
from archive.dates import iso_second
from archive.settings.load import load

BY_NAME = {each.name: each for each in OPERATIONS}
MONDAYS = {
    "unit": "week", "every": 2, "weekday": 0, "hour": 3, "minute": 30, "zone": "Europe/Copenhagen",
    "comments": "newspapers",
}  # fmt: skip


DAY_ONLY = {"unit": "day"}


def call(database: Database, operation: str, *, actor: Actor = COMMAND_LINE, **arguments: Any) -> Any:
    """Call an operation as the API does: its body is made by its input model."""
    found = BY_NAME[operation]
    if found.input is not None:
        arguments["given"] = found.input.model_validate(arguments.get("given", {}))
    with database.transaction(actor) as transaction:
        return found(transaction, **arguments)


def create(database: Database, name: str = "mondays", **more: Any) -> Any:
    return call(database, "schedule.create", given={"name": name, **MONDAYS, **more})


def use(database: Database, schedule: str, names: list[str], **more: Any) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        found = find_named(transaction, Schedule, "schedule", schedule)
        for name in names:
            transaction.session.add(
                Harvest(
                    name=name,
                    kind=HarvestKind.SELECTIVE,
                    comments="",
                    audience="",
                    collection="c",
                    created=START,
                    created_by="x",
                    why_inactive="",
                    schedule_id=found.id,
                    **more,
                )
            )


def test_a_schedule_is_made_and_shown_with_its_rule_in_words(database: Database) -> None:
    made = create(database)
    assert made.words == "every 2 weeks, on Monday at 03:30 (Europe/Copenhagen)"
    assert call(database, "schedule.show", name="mondays") == made
    assert (made.edition, made.harvests, made.ends) == (1, 0, ScheduleEnd.NEVER)


def test_all_problems_are_named_at_once_and_nothing_is_stored(database: Database) -> None:
    with pytest.raises(InvalidInput) as caught:
        create(database, "a/b", comments="\0", every=0, minute=99, zone="x")
    assert [each.field for each in caught.value.problems] == ["name", "comments", "every", "minute", "zone"]
    with database.transaction(COMMAND_LINE) as transaction:
        assert transaction.session.scalar(select(func.count()).select_from(Schedule)) == 0
        assert transaction.session.scalar(select(func.count()).select_from(AuditEntry)) == 0


def test_a_change_replaces_the_rule_and_leaves_what_differs_in_the_audit(database: Database) -> None:
    create(database)
    anna = Actor("anna", Role.CURATOR, Door.WEB, "192.0.2.7")
    given = {"name": "dailies", "unit": "day", "zone": "UTC", "comments": "newspapers", "ends": "count"}
    given |= {"ends_after": 3, "edition": 1}
    changed = call(database, "schedule.change", actor=anna, name="mondays", given=given)
    assert (changed.name, changed.words, changed.edition) == ("dailies", "every day, anytime, 3 times (UTC)", 2)
    with pytest.raises(NotFound):
        call(database, "schedule.show", name="mondays")
    with database.transaction(COMMAND_LINE) as transaction:
        entry = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "schedule.change")).one()
        assert entry.old == {
            "name": "mondays", "unit": "week", "every": 2, "minute": 30, "hour": 3, "weekday": 0,
            "zone": "Europe/Copenhagen", "ends": "never",
        }  # fmt: skip
        assert entry.new == {
            "name": "dailies", "unit": "day", "every": 1, "zone": "UTC", "ends": "count", "ends_after": 3,
        }  # fmt: skip


def test_two_people_who_change_a_schedule_get_a_conflict(database: Database) -> None:
    create(database)
    given = {"name": "mondays", "unit": "day", "edition": 1}
    call(database, "schedule.change", name="mondays", given=given)
    with pytest.raises(EditConflict, match="you have edition 1, the present one is 2"):
        call(database, "schedule.change", name="mondays", given=given)
    with pytest.raises(EditConflict):
        call(database, "schedule.delete", name="mondays", edition=1)


def test_a_name_is_taken_by_one_schedule_only(database: Database) -> None:
    create(database)
    create(database, "tuesdays")
    with pytest.raises(InvalidInput, match="there is a schedule 'mondays' already"):
        create(database)
    with pytest.raises(InvalidInput, match="there is a schedule 'mondays' already"):
        call(database, "schedule.change", name="tuesdays", given={"name": "mondays", "unit": "day"})


@each_value("name", ['O\'Brien "quoted"', "Ærø 中文 עברית", "<b>bold<b>", "a%20b?c#d", "_"])
def test_odd_names_are_kept_as_they_are(database: Database, name: str) -> None:
    create(database, name)
    assert call(database, "schedule.show", name=name).name == name
    assert [each.name for each in call(database, "schedule.list", search=name[:6]).items] == [name]


def test_a_schedule_with_the_name_of_a_page_is_found_and_gets_another_name(database: Database) -> None:
    with pytest.raises(InvalidInput, match="name: 'new' can't be a name"):
        create(database, "new")
    create(database)
    with database.transaction(COMMAND_LINE) as transaction:
        find_named(transaction, Schedule, "schedule", "mondays").name = "new"  # as an older version took it
    assert call(database, "schedule.change", name="new", given={"name": "days", **DAY_ONLY}).name == "days"


@each_value("name", ["", " a", "a/b", "a\0b", "a\u202eb", "a\ud800", "..", "a" * 10_000])
def test_a_name_that_can_not_be_part_of_an_address_is_no_schedule(database: Database, name: str) -> None:
    with pytest.raises(NotFound):
        call(database, "schedule.show", name=name)
    with database.transaction(COMMAND_LINE) as transaction:
        found, problems = schedule_of(transaction, name, HarvestKind.SELECTIVE)
        assert found is None
        assert [each.field for each in problems] == (["schedule"] if name else [])
    if "\ud800" not in name:
        with pytest.raises(InvalidInput) as caught:
            create(database, name)
        assert [each.field for each in caught.value.problems] == ["name"]


def test_a_schedule_that_is_used_is_not_deleted_and_its_users_are_named(database: Database) -> None:
    create(database)
    use(database, "mondays", [f"harvest {number}" for number in range(7)])
    with pytest.raises(IllegalState) as caught:
        call(database, "schedule.delete", name="mondays")
    assert "7 harvests use it ('harvest 0', 'harvest 1', " in str(caught.value)
    assert "'harvest 4', …)" in str(caught.value)
    assert call(database, "schedule.show", name="mondays").harvests == 7


def test_an_unused_schedule_is_deleted(database: Database) -> None:
    create(database)
    call(database, "schedule.delete", name="mondays", edition=1)
    with pytest.raises(NotFound):
        call(database, "schedule.delete", name="mondays")


def test_a_preview_shows_the_next_ten_dates_with_wall_times(database: Database) -> None:
    create(database)
    found = call(database, "schedule.preview", name="mondays")
    assert len(found.dates) == 10
    assert [each.wall for each in found.dates[:2]] == ["2027-01-18T03:30:00+01:00", "2027-02-01T03:30:00+01:00"]
    assert found.dates[6].wall == "2027-04-12T03:30:00+02:00"
    later = call(database, "schedule.preview", name="mondays", first_run=found.dates[0].moment, after=START + 30 * DAY)
    assert [each.moment for each in later.dates][:2] == [each.moment for each in found.dates][2:4]


def test_a_preview_of_a_schedule_that_is_anytime_begins_at_its_anchor(database: Database) -> None:
    given = {"unit": "day"}
    assert call(database, "schedule.preview-rule", given=given).dates[0].moment == START
    future = call(database, "schedule.preview-rule", given={**given, "first_run": START + HOUR, "count": 1})
    assert [each.moment for each in future.dates] == [START + HOUR]
    past = call(database, "schedule.preview-rule", given={**given, "first_run": START - HOUR, "count": 1})
    assert [each.moment for each in past.dates] == [START - HOUR + DAY]
    ended = {**given, "ends": "count", "ends_after": 3, "runs_made": 2}
    assert len(call(database, "schedule.preview-rule", given=ended).dates) == 1


@each_value(
    ("given", "field"),
    [
        ({"unit": "day", "count": 0}, "count"),
        ({"unit": "day", "count": 101}, "count"),
        ({"unit": "day", "count": 10**3000}, "count"),
        ({"unit": "day", "after": -2}, "after"),
        ({"unit": "day", "after": 10**30}, "after"),
        ({"unit": "day", "first_run": -1, "after": 0}, "first_run"),
        ({"unit": "day", "runs_made": -1}, "runs_made"),
        ({"unit": "day", "zone": "x"}, "zone"),
    ],
)
def test_a_preview_that_can_not_be_is_refused(sqlite_database: Database, given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call(sqlite_database, "schedule.preview-rule", given=given)
    assert [each.field for each in caught.value.problems] == [field]


def test_a_change_moves_no_planned_date_but_shows_what_it_would_mean(database: Database, clock: MovableClock) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        install_stock(transaction)
    use(database, "weekly", ["a"], first_run=START, next_run=START + 7 * DAY, runs_made=1, is_active=True)
    use(database, "weekly", ["due"], first_run=START - 7 * DAY, next_run=START, runs_made=1, is_active=True)
    use(database, "weekly", ["new"], is_active=False)
    before = {each.harvest: each for each in call(database, "schedule.list-users", name="weekly").items}
    assert {name: each.would_change for name, each in before.items()} == {"a": False, "due": False, "new": True}
    call(database, "schedule.change", name="weekly", given={"name": "weekly", "unit": "day", "every": 3})
    clock.move(HOUR)
    found = {each.harvest: each for each in call(database, "schedule.list-users", name="weekly").items}
    assert (found["a"].next_run, found["a"].next_by_schedule) == (START + 7 * DAY, START + 3 * DAY)
    assert (found["a"].would_change, found["due"].would_change) == (True, False)
    assert found["due"].next_run == START
    assert found["new"].next_run is None


def test_a_harvest_for_which_the_schedule_has_ended_has_no_next_date(database: Database) -> None:
    create(database, ends="count", ends_after=2)
    use(database, "mondays", ["done"], first_run=START, next_run=None, runs_made=2)
    (user,) = call(database, "schedule.list-users", name="mondays").items
    assert (user.next_by_schedule, user.would_change) == (None, False)


def test_runs_that_people_asked_for_do_not_use_up_a_schedule_that_ends_after_some_runs(database: Database) -> None:
    create(database, ends="count", ends_after=3)
    use(database, "mondays", ["news"], first_run=START, next_run=None, runs_made=3)
    (ended,) = call(database, "schedule.list-users", name="mondays").items
    assert ended.next_by_schedule is None
    with database.transaction(COMMAND_LINE) as transaction:
        harvest = transaction.session.scalars(select(Harvest)).one()
        harvest.runs.append(HarvestRun(number=1, started=START, is_extra=True))
    (user,) = call(database, "schedule.list-users", name="mondays").items
    assert user.next_by_schedule is not None
    assert user.would_change


def test_schedules_and_their_users_are_listed_in_pages(database: Database) -> None:
    for name in ("c", "a", "b"):
        create(database, name)
    use(database, "a", ["z", "y", "x"])
    for operation, arguments in (("schedule.list", {}), ("schedule.list-users", {"name": "a"})):
        first = call(database, operation, limit=2, **arguments)
        second = call(database, operation, limit=2, after=first.next, **arguments)
        assert (len(first.items), len(second.items), second.next, first.total) == (2, 1, None, 3)
    for operation, arguments in (
        ("schedule.list", {"limit": 501}),
        ("schedule.list", {"after": "\0"}),
        ("schedule.list-users", {"name": "a", "after": "x"}),
    ):
        with pytest.raises(InvalidInput):
            call(database, operation, **arguments)


def test_a_fresh_database_gets_the_stock_schedules_once(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        assert install_stock(transaction) == (*STOCK_SCHEDULES, ONCE)
    found = {each.name: each for each in call(database, "schedule.list").items}
    assert sorted(found) == ["daily", "hourly", "monthly", "once", "weekly"]
    for name, unit in STOCK_SCHEDULES.items():
        each = found[name]
        assert (each.unit, each.every, each.ends) == (unit, 1, ScheduleEnd.NEVER)
        assert (each.starts, each.ends_at, each.ends_after) == (None, None, None)
        assert (each.minute, each.hour, each.weekday, each.month_day) == (None, None, None, None)
    assert found["once"].words == "once, anytime (UTC)"
    call(database, "schedule.delete", name="weekly")
    with database.transaction(COMMAND_LINE) as transaction:
        assert install_stock(transaction) == ()
    assert len(call(database, "schedule.list").items) == 4, "a deleted stock schedule stays deleted"


def test_stock_schedules_spare_a_name_that_is_taken(database: Database) -> None:
    create(database, "weekly")
    with database.transaction(COMMAND_LINE) as transaction:
        assert "weekly" not in install_stock(transaction)
    assert call(database, "schedule.show", name="weekly").every == 2


def test_a_row_of_the_database_makes_a_rule(database: Database) -> None:
    create(database)
    with database.transaction(COMMAND_LINE) as transaction:
        rule = rule_of(find_named(transaction, Schedule, "schedule", "mondays"))
    assert (rule.unit, rule.weekday) == (TimeUnit.WEEK, 0)
    assert rule.unit is TimeUnit.WEEK
    assert rule.ends is ScheduleEnd.NEVER
    assert next_date(rule, START, START) is not None


def test_a_use_case_asks_for_the_right_itself(sqlite_database: Database) -> None:
    """The API and the pages ask too; a caller that forgets it changes nothing."""
    reader = Actor("x", Role.READER, Door.API)
    for operation in OPERATIONS:
        if operation.right is not Right.CURATE:
            continue
        arguments: dict[str, Any] = {"name": "x"} if "{name}" in operation.path else {}
        given = {"given": None} if operation.input else {}
        with sqlite_database.transaction(reader) as transaction, pytest.raises(Forbidden):
            operation.use_case(transaction, **arguments, **given)


def test_a_new_schedule_has_the_zone_of_the_person_or_of_the_site(database: Database) -> None:
    database.settings = load({"admin.time_zone": "Europe/Oslo"}, environment={})
    with database.transaction(COMMAND_LINE) as transaction:
        for name, zone in (("anna", "Europe/Lisbon"), ("ben", "UTC")):
            transaction.session.add(
                User(name=name, full_name="", email="", role=Role.CURATOR, zone=zone, created=START)
            )
    made = {
        name: call(
            database, "schedule.create", actor=Actor(name, Role.CURATOR, Door.WEB), given={"name": name, **DAY_ONLY}
        )
        for name in ("anna", "ben")
    }
    assert {name: each.zone for name, each in made.items()} == {"anna": "Europe/Lisbon", "ben": "Europe/Oslo"}
    changed = call(database, "schedule.change", name="anna", given={"name": "anna", **DAY_ONLY})
    assert changed.zone == "Europe/Lisbon"


def test_the_audit_has_moments_that_people_can_read(database: Database) -> None:
    create(database, starts=START, zone="Europe/Copenhagen")
    with database.reading(COMMAND_LINE) as transaction:
        entry = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "schedule.create")).one()
    assert entry.new is not None
    assert entry.new["starts"] == iso_second(START)
