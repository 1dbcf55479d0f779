"""These pages show schedules with their next dates, and make and change them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.schedules import timetable
from admin.harvests.schedules.data import NewSchedule, ScheduleChange, ScheduleDetails
from admin.models.errors import InvalidInput, Problem
from admin.models.harvest_tables import ScheduleEnd, TimeUnit
from admin.models.transaction import Right
from admin.web.formats import date_input, parse_date_input, zone_of
from admin.web.forms import Form
from admin.web.page import done, needs, page, reading, transaction

BLUEPRINT: Final = Blueprint("schedules", __name__, url_prefix="/schedules")
_NUMBERS: Final = ("every", "minute", "hour", "weekday", "month_day", "ends_after")
_MOMENTS: Final = ("starts", "ends_at")
_TEXTS: Final = ("name", "comments", "unit", "zone", "ends")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show schedules by name."""
    with reading() as opened:
        found = timetable.list_schedules(opened, after=request.args.get("after", ""))
    return page("schedules/index.html", schedules=found)


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@needs(Right.CURATE)
def create() -> Response:
    """Make a schedule."""
    form = Form({**_empty(), "unit": TimeUnit.DAY, "every": 1, "zone": "UTC", "ends": ScheduleEnd.NEVER})
    if form.is_sent:

        def save(given: NewSchedule) -> ScheduleDetails:
            with transaction() as opened:
                return timetable.create_schedule(opened, given)

        made = form.run(save, NewSchedule, _rule)
        if made is not None:
            return done(f"Schedule {made.name} was made.", "schedules.show", name=made.name)
    return _edit(form, "")


@BLUEPRINT.get("/<path:name>/edit", endpoint="edit")
@needs(Right.CURATE)
def edit(name: str) -> Response:
    """Show the form of a schedule."""
    with reading() as opened:
        found = timetable.show_schedule(opened, name)
    zone = zone_of(found.zone)
    values = found.model_dump(include={*_TEXTS, *_NUMBERS, "edition"})
    return _edit(Form({**values, **{key: date_input(getattr(found, key), zone) for key in _MOMENTS}}), name)


@BLUEPRINT.post("/<path:name>/edit", endpoint="change")
@needs(Right.CURATE)
def change(name: str) -> Response:
    """Change a schedule."""
    form = Form({**_empty(), "edition": ""})

    def save(given: ScheduleChange) -> ScheduleDetails:
        with transaction() as opened:
            return timetable.change_schedule(opened, name, given)

    changed = form.run(save, ScheduleChange, _rule)
    if changed is not None:
        return done("The schedule was saved.", "schedules.show", name=changed.name)
    return _edit(form, name)


@BLUEPRINT.post("/<path:name>/delete", endpoint="delete")
@needs(Right.CURATE)
def delete(name: str) -> Response:
    """Delete a schedule that nothing uses."""
    with transaction() as opened:
        timetable.delete_schedule(opened, name)
    return done(f"Schedule {name} was deleted.", "schedules.index")


@BLUEPRINT.get("/<path:name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show a schedule with its next ten dates and the harvests that use it."""
    with reading() as opened:
        found = timetable.show_schedule(opened, name)
        dates = timetable.preview_schedule(opened, name)
        users = timetable.list_users(opened, name)
    return page("schedules/show.html", schedule=found, dates=dates, users=users)


def _empty() -> dict[str, Any]:
    return dict.fromkeys((*_TEXTS, *_NUMBERS, *_MOMENTS), "")


def _edit(form: Form, name: str) -> Response:
    return page(
        "schedules/edit.html",
        422 if form.has_problems else 200,
        form=form,
        name=name,
        units=list(TimeUnit),
        ends=list(ScheduleEnd),
    )


def _rule(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use case takes, of the texts of the form. Raises InvalidInput."""
    values: dict[str, Any] = {key: sent[key].strip() for key in _TEXTS if key in sent}
    for key in _NUMBERS:
        if sent.get(key, "").strip():
            values[key] = sent[key].strip()
    zone = zone_of(values.get("zone", "UTC"))
    for key in _MOMENTS:
        try:
            values[key] = parse_date_input(sent.get(key, ""), zone)
        except ValueError as error:
            raise InvalidInput(
                Problem(key, f"{sent[key][:50]!r} is no date and time; write 2026-11-23T09:30")
            ) from error
    if sent.get("edition"):
        values["edition"] = sent["edition"]
    return values
