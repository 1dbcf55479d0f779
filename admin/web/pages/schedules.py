"""These pages show schedules with their next dates, and make and change them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.schedules import timetable
from admin.harvests.schedules.rules import WEEKDAYS, local_moment, local_text, zones
from admin.harvests.schedules.timetable import DatesView, NewSchedule, PreviewInput, ScheduleChange, ScheduleDetails
from admin.models.harvest_tables import ScheduleEnd, TimeUnit
from admin.models.time_zones import default_zone
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, read, reading, saving, transaction

BLUEPRINT: Final = Blueprint("schedules", __name__, url_prefix="/schedules")
_NUMBERS: Final = ("every", "minute", "hour", "weekday", "month_day", "ends_after")
_MOMENTS: Final = ("starts", "ends_at")
_TEXTS: Final = ("name", "comments", "unit", "zone", "ends")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show schedules by name."""
    search = request.args.get("search", "")[:100]
    with reading() as opened:
        found = timetable.list_schedules(opened, search=search, after=request.args.get("after", ""))
    return page("schedules/index.html", schedules=found, search=search)


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@needs(Right.CURATE)
def create() -> Response:
    """Make a schedule."""
    zone = read(default_zone)
    form = Form({**_empty(), "unit": TimeUnit.DAY, "every": 1, "zone": zone, "ends": ScheduleEnd.NEVER})
    if form.is_sent and not _asks_for_dates():
        made = form.run(saving(timetable.create_schedule), NewSchedule, _rule)
        if made is not None:
            return done(f"Schedule {made.name} was made.", "schedules.show", name=made.name)
    return _edit(form, "")


@BLUEPRINT.get("/<path:name>/edit", endpoint="edit")
@needs(Right.CURATE)
def edit(name: str) -> Response:
    """Show the form of a schedule."""
    found = read(timetable.show_schedule, name)
    return _edit(Form(_shown(found)), name)


@BLUEPRINT.post("/preview", endpoint="preview")
@needs(Right.READ)
def preview() -> Response:
    """Show the dates of a rule while it is typed: a part of the form's page."""
    form = Form(_empty())
    return page("schedules/preview.html", form=form, dates=_dates(form))


@BLUEPRINT.post("/<path:name>/edit", endpoint="change")
@needs(Right.CURATE)
def change(name: str) -> Response:
    """Change a schedule."""
    form = Form({**_empty(), "edition": ""})
    if _asks_for_dates():
        return _edit(form, name)

    changed = form.run(
        saving(timetable.change_schedule, name),
        ScheduleChange,
        _rule,
        present=lambda: _shown(read(timetable.show_schedule, name)),
    )
    if changed is not None:
        return done("The schedule was saved.", "schedules.show", name=changed.name)
    return _edit(form, name)


@BLUEPRINT.post("/<path:name>/delete", endpoint="delete")
@needs(Right.CURATE)
def delete(name: str) -> Response:
    """Delete a schedule that nothing uses."""
    with transaction() as opened:
        timetable.delete_schedule(opened, name, edition=request.form.get("edition", type=int))
    return done(f"Schedule {name} was deleted.", "schedules.index")


@BLUEPRINT.get("/<path:name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show a schedule with its next ten dates and the harvests that use it."""
    with reading() as opened:
        found = timetable.show_schedule(opened, name)
        dates = timetable.preview_schedule(opened, name)
        users = timetable.list_users(opened, name, after=request.args.get("after"))
    return page("schedules/show.html", schedule=found, dates=dates, users=users, form=Form())


def _empty() -> dict[str, Any]:
    return dict.fromkeys((*_TEXTS, *_NUMBERS, *_MOMENTS), "")


def _shown(found: ScheduleDetails) -> dict[str, Any]:
    """Return the values of the form."""
    moments = {key: getattr(found, key) for key in _MOMENTS}
    return {
        **found.model_dump(include={*_TEXTS, *_NUMBERS, "edition"}),
        **{key: "" if each is None else local_text(each, found.zone) for key, each in moments.items()},
    }


def _edit(form: Form, name: str) -> Response:
    dates = _dates(form) if _asks_for_dates() or not form.is_sent else None
    return page(
        "schedules/edit.html",
        422 if form.has_problems else 200,
        form=form,
        name=name,
        dates=dates,
        units=list(TimeUnit),
        ends=[(ScheduleEnd.NEVER, "never"), (ScheduleEnd.DATE, "at a date"), (ScheduleEnd.COUNT, "after some runs")],
        weekdays=list(enumerate(WEEKDAYS)),
        zones=sorted(zones()),
    )


def _asks_for_dates() -> bool:
    return request.form.get("action") == "preview"


def _dates(form: Form) -> DatesView | None:
    """Return the next ten dates of the rule in the form; None when something is wrong with it."""
    names = PreviewInput.model_fields.keys()
    return form.run(
        lambda given: read(timetable.preview_rule, given),
        PreviewInput,
        lambda _: {key: value for key, value in _rule(form.values).items() if key in names},
    )


def _rule(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use case takes, of the texts of the form. Raises InvalidInput."""
    values: dict[str, Any] = {key: str(sent[key]).strip() for key in _TEXTS if key in sent}
    for key in _NUMBERS:
        typed = "" if sent.get(key) is None else str(sent[key]).strip()
        if typed:
            values[key] = typed
    for key in _MOMENTS:
        typed = str(sent.get(key, "")).strip()
        values[key] = local_moment(typed, values.get("zone", "UTC"), key) if typed else None
    if sent.get("edition"):
        values["edition"] = sent["edition"]
    return values
