"""This list has everything that people and programs can do with schedules."""

from __future__ import annotations

from typing import Final

from admin.harvests.schedules import timetable
from admin.harvests.schedules.timetable import (
    DatesView,
    NewSchedule,
    PreviewInput,
    ScheduleChange,
    ScheduleDetails,
    ScheduleUser,
    ScheduleView,
)
from admin.models.operation import Operation
from admin.models.transaction import Right

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "schedule.list",
        "GET",
        "/schedules",
        Right.READ,
        timetable.list_schedules,
        "List schedules by name.",
        output=ScheduleView,
        is_list=True,
    ),
    Operation(
        "schedule.create",
        "POST",
        "/schedules",
        Right.CURATE,
        timetable.create_schedule,
        "Make a schedule.",
        input=NewSchedule,
        output=ScheduleDetails,
        status=201,
    ),
    Operation(
        "schedule.show",
        "GET",
        "/schedules/{name}",
        Right.READ,
        timetable.show_schedule,
        "Show a schedule.",
        output=ScheduleDetails,
    ),
    Operation(
        "schedule.change",
        "PUT",
        "/schedules/{name}",
        Right.CURATE,
        timetable.change_schedule,
        "Change a schedule; planned dates of harvests stay.",
        input=ScheduleChange,
        output=ScheduleDetails,
    ),
    Operation(
        "schedule.delete",
        "DELETE",
        "/schedules/{name}",
        Right.CURATE,
        timetable.delete_schedule,
        "Delete a schedule that no harvest uses.",
        status=204,
    ),
    Operation(
        "schedule.preview",
        "GET",
        "/schedules/{name}/dates",
        Right.READ,
        timetable.preview_schedule,
        "Preview the next dates of a schedule.",
        output=DatesView,
    ),
    Operation(
        "schedule.list-users",
        "GET",
        "/schedules/{name}/harvests",
        Right.READ,
        timetable.list_users,
        "List the harvests that use a schedule, with their next dates.",
        output=ScheduleUser,
        is_list=True,
    ),
    Operation(
        "schedule.preview-rule",
        "POST",
        "/schedule-dates",
        Right.READ,
        timetable.preview_rule,
        "Preview the dates of a rule that is not kept yet.",
        input=PreviewInput,
        output=DatesView,
    ),
)
"""Every operation of schedules."""
