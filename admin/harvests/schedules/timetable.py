"""Use cases: schedules are made, changed, deleted, listed, shown, and their dates previewed.

A change of a schedule changes no planned date: a harvest takes its next date from the schedule when the scheduler has
made a run. `list_users` shows for each harvest what the schedule as it is now would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from pydantic import Field
from sqlalchemy import Select, func, select

from admin.harvests.input_checks import checked_key, contains, count_up_to_limit, note_problem, refuse
from admin.harvests.named_rows import find_named, lock_named, new_name_problem
from admin.harvests.schedules.dates import LAST_MOMENT, ScheduleRule, first_date, next_date, preview
from admin.harvests.schedules.rules import MOST_RUNS, RuleInput, in_words, rule_of, rule_problems
from admin.models.errors import IllegalState, Problem
from admin.models.harvest_tables import Harvest, HarvestRun, Schedule, ScheduleEnd, TimeUnit
from admin.models.moments import InputMoment
from admin.models.operation import OutputModel, Page, checked_limit, numbered_page
from admin.models.time_zones import default_zone
from admin.models.transaction import Right, Transaction
from archive.dates import Micros

ENTITY: Final = "schedule"
MOST_DATES: Final = 100
_SHOWN_USERS: Final = 5
_FIELDS: Final = ("comments", *ScheduleRule.__dataclass_fields__)


class NewSchedule(RuleInput):
    """The input makes a schedule."""

    name: str
    comments: str = ""


class ScheduleChange(RuleInput):
    """The input replaces all that a schedule has."""

    name: str
    comments: str = ""
    edition: int | None = None


class PreviewInput(RuleInput):
    """The input asks for the dates of a rule that is not kept yet."""

    first_run: InputMoment | None = Field(None, description="from which the dates are counted; now when it is left out")
    after: InputMoment | None = Field(None, description="dates after this moment; now when it is left out")
    runs_made: int = 0
    count: int = 10


class ScheduleView(OutputModel):
    """A schedule view is a schedule with its rule in words."""

    name: str
    comments: str
    unit: TimeUnit
    every: int
    minute: int | None
    hour: int | None
    weekday: int | None
    month_day: int | None
    zone: str
    starts: Micros | None
    ends: ScheduleEnd
    ends_at: Micros | None
    ends_after: int | None
    edition: int
    words: str
    """Such as "every 2 weeks, on Monday at 03:30 (Europe/Copenhagen)"."""


class ScheduleDetails(ScheduleView):
    """Schedule details are a schedule with how often it is used."""

    harvests: int | None
    """How many harvests use the schedule; None when there are more than 10,000."""


class DateView(OutputModel):
    """A date view is one date of a schedule."""

    moment: Micros
    wall: str
    note: str


class DatesView(OutputModel):
    """This view holds the next dates of a schedule."""

    words: str
    dates: list[DateView]


class ScheduleUser(OutputModel):
    """A schedule user is a harvest that uses a schedule, with what the present schedule would mean to it."""

    harvest: str
    is_active: bool
    runs_made: int
    next_run: Micros | None
    """The date that is planned; a change of the schedule does not change it."""
    next_by_schedule: Micros | None
    """The date that the schedule as it is now gives. None when the schedule has ended for this harvest."""
    would_change: bool
    """Planning again would change the date."""


def create_schedule(transaction: Transaction, given: NewSchedule) -> ScheduleDetails:
    """Make a schedule. Raises InvalidInput with everything that is wrong."""
    transaction.require(Right.CURATE)
    given = given.model_copy(update={"zone": given.zone or default_zone(transaction)})
    refuse(
        [
            new_name_problem(transaction, Schedule, ENTITY, given.name),
            note_problem("comments", given.comments),
            *rule_problems(given),
        ]
    )
    schedule = Schedule(name=given.name, edition=1, **{name: getattr(given, name) for name in _FIELDS})
    transaction.session.add(schedule)
    transaction.session.flush()
    transaction.audit("schedule.create", ENTITY, schedule.id, schedule.name, new=_plain(schedule, _FIELDS))
    return _details(transaction, schedule)


def change_schedule(transaction: Transaction, name: str, given: ScheduleChange) -> ScheduleDetails:
    """Change a schedule. Planned dates of harvests stay as they are."""
    transaction.require(Right.CURATE)
    schedule = lock_named(transaction, Schedule, ENTITY, name)
    given = given.model_copy(update={"zone": given.zone or schedule.zone})
    refuse(
        [
            new_name_problem(transaction, Schedule, ENTITY, given.name) if given.name != schedule.name else None,
            note_problem("comments", given.comments),
            *rule_problems(given),
        ]
    )
    transaction.check_edition(ENTITY, name, schedule, given.edition)
    differing = [each for each in ("name", *_FIELDS) if getattr(schedule, each) != getattr(given, each)]
    old = _plain(schedule, differing)
    for each in differing:
        setattr(schedule, each, getattr(given, each))
    transaction.audit("schedule.change", ENTITY, schedule.id, schedule.name, old=old, new=_plain(schedule, differing))
    transaction.session.flush()
    return _details(transaction, schedule)


def delete_schedule(transaction: Transaction, name: str, edition: int | None = None) -> None:
    """Delete a schedule. Raises IllegalState while harvests use it."""
    transaction.require(Right.CURATE)
    schedule = lock_named(transaction, Schedule, ENTITY, name)
    used = transaction.session.scalars(_users(schedule).order_by(Harvest.id).limit(_SHOWN_USERS + 1)).all()
    if used:
        shown = ", ".join(repr(each.name) for each in used[:_SHOWN_USERS])
        number = count_up_to_limit(transaction, _users(schedule))
        count = f"{number:,}" if number is not None else "more than 10,000"
        raise IllegalState(
            f"the schedule {name!r} can't be deleted: {count} harvests use it"
            f" ({shown}{', …' if len(used) > _SHOWN_USERS else ''}); give them another schedule first"
        )
    transaction.check_edition(ENTITY, name, schedule, edition)
    transaction.audit("schedule.delete", ENTITY, schedule.id, schedule.name, old=_plain(schedule, _FIELDS))
    transaction.session.delete(schedule)
    transaction.session.flush()


def list_schedules(
    transaction: Transaction, *, search: str = "", after: str | None = None, limit: int = 100
) -> Page[ScheduleView]:
    """Return schedules by name; `search` is a part of the name."""
    transaction.require(Right.READ)
    size = checked_limit(limit)
    checked_key("search", search)
    query = select(Schedule)
    if search:
        query = query.where(contains(Schedule.name, search))
    found = query.where(Schedule.name > after) if checked_key("after", after) is not None else query
    rows = transaction.session.scalars(found.order_by(Schedule.name).limit(size + 1)).all()
    items = [_view(each) for each in rows[:size]]
    return Page(
        items=items, next=items[-1].name if len(rows) > size else None, total=count_up_to_limit(transaction, query)
    )


def show_schedule(transaction: Transaction, name: str) -> ScheduleDetails:
    """Return a schedule with how often it is used."""
    transaction.require(Right.READ)
    return _details(transaction, find_named(transaction, Schedule, ENTITY, name))


def preview_schedule(
    transaction: Transaction,
    name: str,
    *,
    first_run: Micros | None = None,
    after: Micros | None = None,
    count: int = 10,
) -> DatesView:
    """Return the next dates of a schedule for a harvest that first runs at `first_run`, or now."""
    transaction.require(Right.READ)
    return _preview(transaction, rule_of(find_named(transaction, Schedule, ENTITY, name)), first_run, after, 0, count)


def preview_rule(transaction: Transaction, given: PreviewInput) -> DatesView:
    """Return the next dates of a rule that is not kept yet. Raises InvalidInput with everything that is wrong."""
    transaction.require(Right.READ)
    given = given.model_copy(update={"zone": given.zone or default_zone(transaction)})
    refuse(rule_problems(given))
    return _preview(transaction, rule_of(given), given.first_run, given.after, given.runs_made, given.count)


def list_users(
    transaction: Transaction, name: str, *, after: str | None = None, limit: int = 100
) -> Page[ScheduleUser]:
    """Return the harvests that use a schedule, with their planned dates and those that the schedule gives now."""
    transaction.require(Right.READ)
    schedule = find_named(transaction, Schedule, ENTITY, name)
    query, rule = _users(schedule), rule_of(schedule)

    def views(rows: Sequence[Harvest]) -> list[ScheduleUser]:
        extra = _extra_runs(transaction, [each.id for each in rows])
        return [_user(transaction, rule, each, each.runs_made - extra.get(each.id, 0)) for each in rows]

    found = numbered_page(transaction, query, Harvest.id, views, after=after, limit=limit)
    return found.model_copy(update={"total": count_up_to_limit(transaction, query)})


def _preview(
    transaction: Transaction,
    rule: ScheduleRule,
    first_run: Micros | None,
    after: Micros | None,
    runs_made: int,
    count: int,
) -> DatesView:
    anchor = transaction.now if first_run is None else first_run
    start = (anchor if first_run is None else max(anchor, transaction.now)) - 1 if after is None else after
    problems = [
        Problem(field, "this is no date; use one from 1970 to 9998, such as 2027-01-15T08:00+01:00")
        for field, moment in (("first_run", anchor), ("after", start + 1))
        if not 0 <= moment < LAST_MOMENT
    ]
    if not 1 <= count <= MOST_DATES:
        problems.append(Problem("count", f"this is no number of dates; use 1 to {MOST_DATES}"))
    if not 0 <= runs_made <= MOST_RUNS:
        problems.append(Problem("runs_made", f"this is no number of runs; use 0 to {MOST_RUNS:,}"))
    refuse(problems)
    dates = preview(rule, anchor, start, runs_made, count)
    return DatesView(words=in_words(rule), dates=[DateView.model_validate(each) for each in dates])


def _extra_runs(transaction: Transaction, harvests: Sequence[int]) -> dict[int, int]:
    """Return how many runs of each harvest people asked for: schedules do not count these."""
    query = (
        select(HarvestRun.harvest_id, func.count())
        .where(HarvestRun.harvest_id.in_(harvests), HarvestRun.is_extra.is_(True))
        .group_by(HarvestRun.harvest_id)
    )
    return {row[0]: row[1] for row in transaction.session.execute(query)}


def _user(transaction: Transaction, rule: ScheduleRule, harvest: Harvest, scheduled_runs: int) -> ScheduleUser:
    anchor = harvest.first_run if harvest.first_run is not None else transaction.now
    if scheduled_runs == 0:
        by_schedule = first_date(rule, anchor)
    else:
        by_schedule = next_date(rule, anchor, transaction.now, scheduled_runs)
    is_due = harvest.next_run is not None and harvest.next_run <= transaction.now
    return ScheduleUser(
        harvest=harvest.name,
        is_active=harvest.is_active,
        runs_made=harvest.runs_made,
        next_run=harvest.next_run,
        next_by_schedule=by_schedule,
        would_change=not is_due and harvest.next_run != by_schedule,
    )


def _users(schedule: Schedule) -> Select[Harvest]:
    return select(Harvest).where(Harvest.schedule_id == schedule.id)


def _plain(schedule: Schedule, names: Iterable[str]) -> dict[str, Any]:
    values = {name: getattr(schedule, name) for name in names}
    return {name: value for name, value in values.items() if value is not None or name in ("ends", "unit")}


def _values(schedule: Schedule) -> dict[str, Any]:
    values = {name: getattr(schedule, name) for name in ("name", *_FIELDS, "edition")}
    return {**values, "ends": ScheduleEnd(values["ends"]), "words": in_words(rule_of(schedule))}


def _view(schedule: Schedule) -> ScheduleView:
    return ScheduleView(**_values(schedule))


def _details(transaction: Transaction, schedule: Schedule) -> ScheduleDetails:
    return ScheduleDetails(**_values(schedule), harvests=count_up_to_limit(transaction, _users(schedule)))
