"""These pages show harvest definitions with their runs, and make, change, copy, activate and run them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.definitions import chosen, copying, definition, event_seeds, listing, states
from admin.harvests.definitions.chosen import ConfigurationsChange
from admin.harvests.definitions.copying import HarvestCopy
from admin.harvests.definitions.definition import HarvestChange, HarvestCreation, HarvestView
from admin.harvests.definitions.event_seeds import EventReport, EventSeeds
from admin.harvests.definitions.states import StateChange
from admin.harvests.dispatch.channels import list_channels
from admin.harvests.generation.explanation import explain_domain
from admin.harvests.generation.preview import preview_run
from admin.harvests.schedules.timetable import list_schedules
from admin.harvests.statistics.overview import without_harvester
from admin.harvests.templates.catalogue import list_templates
from admin.models.errors import InvalidInput, Problem, UseCaseError
from admin.models.harvest_tables import HarvestKind
from admin.models.transaction import Right
from admin.web.forms.extended_inputs import ExtendedInputs
from admin.web.forms.form import Form
from admin.web.forms.harvest_form import choices_of, differing, empty_values, given_values, shown_values
from admin.web.forms.limit_inputs import given_limits
from admin.web.page import (
    carry_out,
    done,
    needs,
    page,
    read,
    reading,
    saving,
    site,
    transaction,
    visitor,
    with_long_lists,
)
from archive.program_name import command

BLUEPRINT: Final = Blueprint("harvests", __name__, url_prefix="/harvests")
_MOST_CHOICES: Final = 500
_PIECE: Final = 65_536
_EVENT: Final = ("urls", "template", "max_bytes", "max_objects")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show harvests by name."""
    given = {key: request.args.get(key, "")[:100] for key in ("search", "kind", "state")}
    kind = HarvestKind(given["kind"]) if given["kind"] in list(HarvestKind) else None
    is_active = {"active": True, "inactive": False}.get(given["state"])
    with reading() as opened:
        found = listing.list_harvests(
            opened, search=given["search"], kind=kind, is_active=is_active, after=request.args.get("after", "")
        )
    return page("harvests/index.html", harvests=found, given=given, kinds=list(HarvestKind))


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@with_long_lists
@needs(Right.CURATE)
def create() -> Response:
    """Make a harvest."""
    asked = request.form.get("kind") or request.args.get("kind", "")
    kind = HarvestKind(asked) if asked in list(HarvestKind) else HarvestKind.SELECTIVE
    inputs = _extended()
    form = Form({**empty_values(kind), **inputs.values({})}, switches=("qa_follows",), places=inputs.places)
    if form.is_sent:

        def values(sent: dict[str, Any]) -> dict[str, Any]:
            choices = choices_of(str(sent.get("configurations", "")), "configurations")
            given = given_values(inputs.without(sent), kind, visitor().zone.key)
            return {**given, "kind": kind, "configurations": choices, "extended": inputs.given(sent, {})}

        made = form.run(saving(definition.create_harvest), HarvestCreation, values)
        if made is not None:
            return done(f"Harvest {made.name} was made. It is not active yet.", "harvests.show", name=made.name)
    return _edit(form, None, kind, inputs)


@BLUEPRINT.route("/<path:name>/edit", methods=["GET", "POST"], endpoint="edit")
@with_long_lists
@needs(Right.CURATE)
def edit(name: str) -> Response:
    """Change a harvest; fields that stay as they were are not touched."""
    found = read(definition.show_harvest, name)
    inputs, zone = _extended(), visitor().zone.key
    shown = {**shown_values(found, zone), **inputs.values(found.extended)}
    form = Form({**shown, "edition": found.edition}, switches=("qa_follows",), places=inputs.places)
    if form.is_sent:

        def values(sent: dict[str, Any]) -> dict[str, Any]:
            edition = {"edition": sent["edition"]} if sent.get("edition") else {}
            extended = inputs.given(sent, found.extended)
            changes = given_values(differing(inputs.without(sent), shown), found.kind, zone)
            return {**changes, **edition, **({"extended": extended} if extended else {})}

        def present() -> dict[str, Any]:
            return {**shown, "edition": found.edition}

        changed = form.run(saving(definition.change_harvest, name), HarvestChange, values, present=present)
        if changed is not None:
            return done("The harvest was saved.", "harvests.show", name=changed.name)
    return _edit(form, found, found.kind, inputs)


@BLUEPRINT.route("/<path:name>/copy", methods=["GET", "POST"], endpoint="copy")
@needs(Right.CURATE)
def copy(name: str) -> Response:
    """Make a harvest like this one."""
    found = read(definition.show_harvest, name)
    form = Form({"name": ""})
    if form.is_sent:
        made = form.run(saving(copying.copy_harvest, name), HarvestCopy)
        if made is not None:
            return done(f"Harvest {made.name} was made. It is not active yet.", "harvests.show", name=made.name)
    return page("harvests/copy.html", 422 if form.has_problems else 200, form=form, harvest=found)


@BLUEPRINT.get("/<path:name>/configurations", endpoint="chosen")
@needs(Right.READ)
def show_chosen(name: str) -> Response:
    """Show the configurations of a selective harvest, with forms that add and remove some."""
    return _chosen(name, Form(_empty_choice()))


@BLUEPRINT.post("/<path:name>/configurations", endpoint="configurations")
@with_long_lists
@needs(Right.CURATE)
def configurations(name: str) -> Response:
    """Add domains to a selective harvest or remove them, one on each line; or add the URLs of an event."""
    form = Form(_empty_choice(), lists=("chosen",))
    if request.form.get("action") == "urls":
        report = _add_urls(form, name)
        return _chosen(name, form, report)
    use_case = chosen.remove_configurations if request.form.get("action") == "remove" else chosen.add_configurations

    def values(sent: dict[str, Any]) -> dict[str, Any]:
        choices = choices_of("\n".join([sent.get("domains", ""), *sent["chosen"]]))
        if not choices:
            raise InvalidInput(Problem("domains", "write at least one domain, one on each line"))
        return {"configurations": choices}

    changed = form.run(saving(use_case, name), ConfigurationsChange, values)
    if changed is not None:
        return done(f"{changed.changed} configurations were changed.", "harvests.chosen", name=name)
    return _chosen(name, form)


@BLUEPRINT.post("/<path:name>/<any(activate, deactivate, run_now, delete):action>", endpoint="act")
@needs(Right.CURATE)
def act(name: str, action: str) -> Response:
    """Activate or deactivate a harvest, let it run now, or delete it."""
    with transaction() as opened:
        if action == "delete":
            definition.delete_harvest(opened, name, edition=request.form.get("edition", type=int))
            return done(f"Harvest {name} was deleted.", "harvests.index")
        use_case = {
            "activate": states.activate_harvest,
            "deactivate": states.deactivate_harvest,
            "run_now": states.run_harvest_now,
        }[action]
        use_case(opened, name, StateChange())
        unserved = "" if action == "deactivate" else without_harvester(opened, name)
    texts = {"activate": "is active", "deactivate": "is not active any more", "run_now": "runs at the next tick"}
    waits = (
        f" Its jobs wait, since channel {unserved} has no harvester: start one with"
        f" {command(f'harvester --channel {unserved}')}."
    )
    return done(f"Harvest {name} {texts[action]}.{waits if unserved else ''}", "harvests.show", name=name)


@BLUEPRINT.get("/<path:name>/preview", endpoint="preview")
@needs(Right.READ)
def preview(name: str) -> Response:
    """Show what a run would make now, without making it."""
    found = read(preview_run, name)
    return page("harvests/preview.html", name=name, preview=found)


@BLUEPRINT.get("/<path:name>/explain", endpoint="explain")
@needs(Right.READ)
def explain(name: str) -> Response:
    """Tell why a domain is in its job, or why it is left out."""
    domain = request.args.get("domain", "").strip()
    found, problem = None, ""
    with reading() as opened:
        harvest = definition.show_harvest(opened, name)
        if domain:
            try:
                found = explain_domain(opened, name, domain)
            except UseCaseError as error:
                problem = str(error)
    status = 404 if problem else 200
    return page("harvests/explain.html", status, harvest=harvest, domain=domain, found=found, problem=problem)


@BLUEPRINT.get("/<path:name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show a harvest with its runs."""
    with reading() as opened:
        found = definition.show_harvest(opened, name)
        runs = listing.list_runs(opened, name, after=request.args.get("after", ""))
        is_selective = found.kind is HarvestKind.SELECTIVE
        some = chosen.list_configurations(opened, name, limit=20) if is_selective else None
    return page("harvests/show.html", harvest=found, runs=runs, chosen=some)


def _edit(form: Form, found: HarvestView | None, kind: HarvestKind, inputs: ExtendedInputs) -> Response:
    with reading() as opened:
        schedules = [each.name for each in list_schedules(opened, limit=_MOST_CHOICES).items]
        channels = [each.name for each in list_channels(opened)]
        snapshots = listing.list_harvests(opened, kind=HarvestKind.SNAPSHOT, limit=_MOST_CHOICES).items
    return page(
        "harvests/edit.html",
        422 if form.has_problems else 200,
        form=form,
        name=found.name if found else "",
        kind=kind,
        schedules=schedules,
        channels=channels,
        snapshots=[each.name for each in snapshots if found is None or each.name != found.name],
        fields=inputs.fields,
    )


def _chosen(name: str, form: Form, report: EventReport | None = None) -> Response:
    with reading() as opened:
        found = definition.show_harvest(opened, name)
        listed = chosen.list_configurations(opened, name, after=request.args.get("after", ""))
        templates = [each.name for each in list_templates(opened, is_active=True, limit=_MOST_CHOICES).items]
    status = 422 if form.has_problems else 200
    values = {"chosen": listed, "form": form, "templates": templates, "report": report}
    return page("harvests/chosen.html", status, harvest=found, **values)


def _add_urls(form: Form, name: str) -> EventReport | None:
    """Add pasted URLs, or those of a file, which may be long: its parts are kept one after another."""
    file = request.files.get("file")
    stream = file.stream if file is not None and file.filename else None

    def add(given: EventSeeds) -> EventReport:
        if stream is not None:
            return event_seeds.upload_event_seeds(site().database, visitor().actor, name, _pieces(stream), given)
        return carry_out(event_seeds.add_event_seeds, name, given)

    def values(sent: dict[str, Any]) -> dict[str, Any]:
        text = "" if stream is not None else sent.get("urls", "")
        if stream is None and not text.strip():
            raise InvalidInput(Problem("urls", "write at least one URL, one on each line, or choose a file"))
        texts = {key: sent[key].strip() for key in _EVENT[1:] if sent.get(key, "").strip()}
        limits, problems = given_limits({key: texts[key] for key in ("max_bytes", "max_objects") if key in texts})
        if problems:
            raise InvalidInput(*problems)
        return {"text": text, **texts, **limits}

    return form.run(add, EventSeeds, values)


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    while piece := stream.read(_PIECE):
        yield piece


def _empty_choice() -> dict[str, Any]:
    return dict.fromkeys(("domains", *_EVENT), "")


def _extended() -> ExtendedInputs:
    """Return the inputs of the extended fields of harvests."""
    return read(ExtendedInputs, "harvest")
