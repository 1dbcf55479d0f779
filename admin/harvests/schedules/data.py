"""These models are what people and programs give to the use cases of schedules, and what they get."""

from __future__ import annotations

from pydantic import Field

from admin.models.harvest_tables import ScheduleEnd, TimeUnit
from admin.models.moments import InputMoment
from admin.models.operation import InputModel, OutputModel
from archive.dates import Micros


class RuleInput(InputModel):
    """The input says when the dates of a schedule are."""

    unit: TimeUnit
    every: int = Field(1, description="units between two dates")
    minute: int | None = Field(None, description="0 to 59; without it, dates are anytime")
    hour: int | None = Field(None, description="0 to 23, for units from a day on")
    weekday: int | None = Field(None, description="0 (Monday) to 6, for weeks")
    month_day: int | None = Field(None, description="1 to 31, for months; shorter months have their last day")
    zone: str = Field("", description="the name of a time zone, such as Europe/Copenhagen; without it, the own one")
    starts: InputMoment | None = Field(
        None, description="no date is earlier; a date with its zone, such as 2027-01-15T08:00+01:00"
    )
    ends: ScheduleEnd = ScheduleEnd.NEVER
    ends_at: InputMoment | None = Field(None, description="the last moment that may be a date, for ends = date")
    ends_after: int | None = Field(None, description="runs, for ends = count")


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
    """The model is a schedule with its rule in words."""

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
    """The model is a schedule with how often it is used."""

    harvests: int | None
    """How many harvests use the schedule; None when there are more than 10,000."""


class DateView(OutputModel):
    """The model is one date of a schedule."""

    moment: Micros
    wall: str
    note: str


class DatesView(OutputModel):
    """The model holds the next dates of a schedule."""

    words: str
    dates: list[DateView]


class ScheduleUser(OutputModel):
    """The model names a harvest that uses a schedule, and shows what the schedule as it is now would mean to it."""

    harvest: str
    is_active: bool
    runs_made: int
    next_run: Micros | None
    """The date that is planned; a change of the schedule does not change it."""
    next_by_schedule: Micros | None
    """The date that the schedule as it is now gives. None when the schedule has ended for this harvest."""
    would_change: bool
    """Whether planning again would change the date."""
