"""These pages show harvest definitions with their runs, and make, change, activate and run them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.definitions import chosen, definition, event_seeds, listing, states
from admin.harvests.definitions.data import (
    ConfigurationChoice,
    ConfigurationsChange,
    EventReport,
    EventSeeds,
    HarvestChange,
    HarvestCreation,
    HarvestView,
    StateChange,
)
from admin.harvests.dispatch.channels import list_channels
from admin.harvests.generation.preview import preview_run
from admin.harvests.schedules.timetable import list_schedules
from admin.models.errors import InvalidInput, Problem
from admin.models.harvest_tables import HarvestKind
from admin.models.transaction import Right
from admin.web.formats import date_input, parse_date_input
from admin.web.forms import Form
from admin.web.page import done, needs, page, reading, transaction, visitor

BLUEPRINT: Final = Blueprint("harvests", __name__, url_prefix="/harvests")
_TEXTS: Final = ("name", "kind", "comments", "audience", "collection", "channel", "schedule", "previous")
_NUMBERS: Final = ("max_bytes", "max_objects", "max_seconds")
_OPTIONAL: Final = ("channel", "schedule", "previous")
_MOST_CHOICES: Final = 500


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show harvests by name."""
    with reading() as opened:
        found = listing.list_harvests(opened, after=request.args.get("after", ""))
    return page("harvests/index.html", harvests=found)


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@needs(Right.CURATE)
def create() -> Response:
    """Make a harvest."""
    kind = request.args.get("kind", HarvestKind.SELECTIVE)
    form = Form({**_empty(), "kind": kind, "max_bytes": -1, "max_objects": -1, "max_seconds": 0})
    if form.is_sent:

        def save(given: HarvestCreation) -> HarvestView:
            with transaction() as opened:
                return definition.create_harvest(opened, given)

        made = form.run(save, HarvestCreation, _values)
        if made is not None:
            return done(f"Harvest {made.name} was made. It is not active yet.", "harvests.show", name=made.name)
    return _edit(form, "")


@BLUEPRINT.route("/<path:name>/edit", methods=["GET", "POST"], endpoint="edit")
@needs(Right.CURATE)
def edit(name: str) -> Response:
    """Change a harvest."""
    with reading() as opened:
        found = definition.show_harvest(opened, name)
    values = found.model_dump(include={*_TEXTS, *_NUMBERS, "edition"})
    form = Form({**values, "first_run": date_input(found.first_run, visitor().zone)})
    if form.is_sent:

        def save(given: HarvestChange) -> HarvestView:
            with transaction() as opened:
                return definition.change_harvest(opened, name, given)

        changed = form.run(save, HarvestChange, lambda sent: _without(_values(sent), "kind"))
        if changed is not None:
            return done("The harvest was saved.", "harvests.show", name=changed.name)
    return _edit(form, name)


@BLUEPRINT.post("/<path:name>/configurations", endpoint="configurations")
@needs(Right.CURATE)
def configurations(name: str) -> Response:
    """Add domains to a selective harvest, or remove them: one on each line, with its configuration behind a space."""
    form = Form({"domains": "", "urls": "", "action": ""})
    if request.form.get("action") == "urls":

        def add_urls(given: EventSeeds) -> EventReport:
            with transaction() as opened:
                return event_seeds.add_event_seeds(opened, name, given)

        report = form.run(add_urls, EventSeeds, lambda sent: {"text": sent.get("urls", "")})
        if report is not None:
            text = f"{report.configurations_added} configurations were added."
            return done(text, "harvests.show", name=name)
        return _show(name, form, 422)
    use_case = chosen.remove_configurations if request.form.get("action") == "remove" else chosen.add_configurations

    def change(given: ConfigurationsChange) -> Any:
        with transaction() as opened:
            return use_case(opened, name, given)

    changed = form.run(change, ConfigurationsChange, lambda sent: {"configurations": _choices(sent.get("domains", ""))})
    if changed is not None:
        return done(f"{changed.changed} configurations were changed.", "harvests.show", name=name)
    return _show(name, form, 422)


@BLUEPRINT.post("/<path:name>/<any(activate, deactivate, run_now, delete):action>", endpoint="act")
@needs(Right.CURATE)
def act(name: str, action: str) -> Response:
    """Activate or deactivate a harvest, let it run now, or delete it."""
    with transaction() as opened:
        if action == "delete":
            definition.delete_harvest(opened, name)
            return done(f"Harvest {name} was deleted.", "harvests.index")
        use_case = {
            "activate": states.activate_harvest,
            "deactivate": states.deactivate_harvest,
            "run_now": states.run_harvest_now,
        }[action]
        use_case(opened, name, StateChange())
    texts = {"activate": "is active", "deactivate": "is not active any more", "run_now": "runs at the next tick"}
    return done(f"Harvest {name} {texts[action]}.", "harvests.show", name=name)


@BLUEPRINT.get("/<path:name>/preview", endpoint="preview")
@needs(Right.READ)
def preview(name: str) -> Response:
    """Show what a run would make now, without making it."""
    with reading() as opened:
        found = preview_run(opened, name)
    return page("harvests/preview.html", name=name, preview=found)


@BLUEPRINT.get("/<path:name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show a harvest with its runs."""
    return _show(name, Form({"domains": "", "urls": ""}))


def _show(name: str, form: Form, status: int = 200) -> Response:
    with reading() as opened:
        found = definition.show_harvest(opened, name)
        runs = listing.list_runs(opened, name, after=request.args.get("after", ""))
        is_selective = found.kind is HarvestKind.SELECTIVE
        listed = chosen.list_configurations(opened, name, limit=100) if is_selective else None
    return page("harvests/show.html", status, harvest=found, runs=runs, chosen=listed, form=form)


def _edit(form: Form, name: str) -> Response:
    with reading() as opened:
        schedules = [each.name for each in list_schedules(opened, limit=_MOST_CHOICES).items]
        channels = [each.name for each in list_channels(opened)]
    return page(
        "harvests/edit.html",
        422 if form.has_problems else 200,
        form=form,
        name=name,
        schedules=schedules,
        channels=channels,
        kinds=list(HarvestKind),
    )


def _empty() -> dict[str, Any]:
    return dict.fromkeys((*_TEXTS, *_NUMBERS, "first_run"), "")


def _values(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use case takes, of the texts of the form. Raises InvalidInput."""
    values: dict[str, Any] = {key: sent[key].strip() for key in _TEXTS if key in sent}
    for key in _OPTIONAL:
        if not values.get(key):
            values.pop(key, None)
    values |= {key: sent[key].strip() for key in _NUMBERS if sent.get(key, "").strip()}
    try:
        if (moment := parse_date_input(sent.get("first_run", ""), visitor().zone)) is not None:
            values["first_run"] = moment
    except ValueError as error:
        message = f"{sent['first_run'][:50]!r} is no date and time; write 2026-11-23T09:30"
        raise InvalidInput(Problem("first_run", message)) from error
    if sent.get("edition"):
        values["edition"] = sent["edition"]
    return values


def _without(values: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}


def _choices(text: str) -> tuple[ConfigurationChoice, ...]:
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines:
        raise InvalidInput(Problem("domains", "write at least one domain, one on each line"))
    return tuple(
        ConfigurationChoice(domain=parts[0], configuration=" ".join(parts[1:]) or None) for parts in lines[:10_000]
    )
