"""Harvest definitions: made, changed, activated, listed, deleted; by people, with all their mistakes."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from support.admin.harvest_database import DAY, HOUR, START, MovableClock
from support.admin.harvest_world import World
from support.each_value import each_value

from admin.harvests.definitions import chosen, copying, definition, event_seeds, listing, states
from admin.harvests.definitions.chosen import ConfigurationChoice, ConfigurationsChange
from admin.harvests.definitions.copying import HarvestCopy
from admin.harvests.definitions.definition import HarvestChange, HarvestCreation, HarvestView
from admin.harvests.definitions.event_seeds import EventSeeds
from admin.harvests.definitions.operations import OPERATIONS
from admin.harvests.definitions.states import StateChange
from admin.harvests.domains import uploads
from admin.harvests.domains.crawler_traps import TrapInput
from admin.harvests.generation import explanation, preview
from admin.harvests.generation.operations import OPERATIONS as GENERATION_OPERATIONS
from admin.models.domain_tables import Configuration, ExtendedField
from admin.models.errors import EditConflict, Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.harvest_tables import Harvest, HarvestKind, ScheduleEnd
from admin.models.job_tables import StopReason
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door

ANY = StateChange()


def create(world: World, **values: Any) -> HarvestView:
    given = HarvestCreation(**{"name": "news", "collection": "news", "schedule": "hourly", **values})
    with world.database.transaction(COMMAND_LINE) as transaction:
        return definition.create_harvest(transaction, given)


def do(world: World, use_case: Any, *arguments: Any, **named: Any) -> Any:
    with world.database.transaction(COMMAND_LINE) as transaction:
        return use_case(transaction, *arguments, **named)


def refused(world: World, **values: Any) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        create(world, **values)
    return {problem.field: problem.message for problem in caught.value.problems}


def test_a_harvest_is_made_with_everything_that_it_says(world: World) -> None:
    world.domain("a.org")
    world.domain("a.org", configuration="deep")
    with world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(ExtendedField(entity="harvest", name="law", kind="text", choices=[], default=""))
    made = create(
        world,
        comments="Why",
        audience="All",
        channel="focused",
        first_run=START + HOUR,
        max_seconds=60,
        configurations=[ConfigurationChoice(domain="A.org"), ConfigurationChoice(domain="a.org", configuration="deep")],
        traps=[TrapInput(expression="calendar")],
        facts={"operator": "KB"},
        extended={"law": "deposit"},
    )
    shown = do(world, definition.show_harvest, "news")
    assert shown == made
    assert (shown.is_active, shown.next_run, shown.configurations, shown.created_by) == (
        False,
        START + HOUR,
        2,
        "command line",
    )
    assert ([trap.expression for trap in shown.traps], shown.facts, shown.extended) == (
        ["calendar"],
        {"operator": "KB"},
        {"law": "deposit"},
    )
    with world.database.transaction(COMMAND_LINE) as transaction:
        entry = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "harvest.create")).one()
        assert entry.new["configurations"] == 2


def test_everything_that_is_wrong_with_a_harvest_is_named_at_once(sqlite_world: World) -> None:
    found = refused(
        sqlite_world,
        name="a/b",
        collection="../x",
        schedule="never",
        channel="snapshots",
        previous="x",
        max_bytes=5,
        max_objects=-2,
        max_seconds=-1,
        comments="\0",
        first_run=-1,
        facts={"harvest": "x", "ok": "a\nb"},
        configurations=[ConfigurationChoice(domain="none.org")],
    )
    assert set(found) == {
        "name", "collection", "schedule", "channel", "previous", "max_bytes", "max_objects", "max_seconds",
        "comments", "first_run", "facts", "facts.ok", "configurations",
    }  # fmt: skip
    assert found["schedule"] == "there is no schedule 'never'; choose one that exists"
    assert found["channel"] == "the channel 'snapshots' takes snapshot harvests; choose another one"
    assert "there is no default configuration of none.org" in found["configurations"]


@each_value("name", ["", " ", "x" * 101, "x" * 10_000, "a\\b", "a\u202eb", "a\0b", " a", "..", "a\nb", "\u2028"])
def test_names_that_nobody_can_write_in_an_address_are_refused(sqlite_world: World, name: str) -> None:
    assert set(refused(sqlite_world, name=name)) == {"name"}


@each_value("name", ['It\'s "quoted"', "Ærø & ønsker", "<script>alert(1)</script>".replace("/", ""), "日本"])
def test_names_in_all_languages_are_fine(world: World, name: str) -> None:
    assert create(world, name=name).name == name
    assert do(world, definition.show_harvest, name).name == name


@each_value("name", ["x", "a\0", "\ud800", "x" * 10**6])
def test_what_is_not_there_is_not_found(world: World, name: str) -> None:
    for use_case in (definition.show_harvest, listing.list_runs, chosen.list_configurations, preview.preview_run):
        with pytest.raises(NotFound):
            do(world, use_case, name)


def test_a_name_is_taken_once(sqlite_world: World) -> None:
    create(sqlite_world)
    assert refused(sqlite_world) == {"name": "there is a harvest 'news' already; write another name"}


def test_a_trap_that_is_no_regular_expression_is_refused(sqlite_world: World) -> None:
    assert set(refused(sqlite_world, traps=[TrapInput(expression="(")])) == {"traps"}


def test_a_change_keeps_what_it_does_not_name_and_leaves_an_audit_entry(world: World) -> None:
    made = create(world, comments="Before", facts={"operator": "KB"})
    changed = do(world, definition.change_harvest, "news", HarvestChange(comments="After", edition=1))
    assert changed == made.model_copy(update={"comments": "After", "edition": 2})
    with pytest.raises(EditConflict, match="you have edition 1, the present one is 2"):
        do(world, definition.change_harvest, "news", HarvestChange(comments="Late", edition=1))
    with world.database.transaction(COMMAND_LINE) as transaction:
        entry = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "harvest.change")).one()
        assert (entry.old, entry.new) == ({"comments": "Before"}, {"comments": "After"})


def test_a_harvest_keeps_a_name_that_an_earlier_release_took(sqlite_world: World) -> None:
    world = sqlite_world
    create(world)
    with world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.scalars(select(Harvest)).one().name = "new"
    assert do(world, definition.change_harvest, "new", HarvestChange(comments="After")).comments == "After"
    assert do(world, definition.change_harvest, "new", HarvestChange(name="new", comments="")).name == "new"
    do(world, definition.change_harvest, "new", HarvestChange(name="news"))
    with pytest.raises(InvalidInput, match="'new' can't be a name"):
        do(world, definition.change_harvest, "news", HarvestChange(name="new"))


def test_a_new_schedule_has_a_new_next_date(sqlite_world: World, clock: MovableClock) -> None:
    world = sqlite_world
    world.schedule("daily", every=24)
    made = create(world)
    assert (made.first_run, made.next_run) == (START, START)
    clock.move(HOUR)
    changed = do(world, definition.change_harvest, "news", HarvestChange(schedule="daily", first_run=START + DAY))
    assert (changed.schedule, changed.next_run) == ("daily", START + DAY)
    without = do(world, definition.change_harvest, "news", HarvestChange(schedule=None))
    assert (without.schedule, without.next_run) == (None, None)


def test_after_runs_a_changed_schedule_goes_on_from_now(sqlite_world: World, clock: MovableClock) -> None:
    world = sqlite_world
    world.schedule("daily", every=24)
    made = create(world, configurations=[_choice(world, "a.org")])
    do(world, states.activate_harvest, "news", ANY)
    clock.move(1)
    world.generate(made.id)
    clock.move(3 * HOUR)
    changed = do(world, definition.change_harvest, "news", HarvestChange(schedule="daily"))
    assert changed.next_run == START + DAY


def test_a_mandatory_extended_field_is_asked_for(sqlite_world: World) -> None:
    with sqlite_world.database.transaction(COMMAND_LINE) as transaction:
        row = ExtendedField(entity="harvest", name="law", kind="text", choices=[], default="", is_mandatory=True)
        transaction.session.add(row)
    assert set(refused(sqlite_world)) == {"extended.law"}
    assert set(refused(sqlite_world, extended={"law": "x", "lore": "y"})) == {"extended"}
    assert create(sqlite_world, extended={"law": "x"}).extended == {"law": "x"}


def test_a_harvest_that_never_ran_can_be_deleted(world: World) -> None:
    with world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(ExtendedField(entity="harvest", name="law", kind="text", choices=[], default=""))
    create(
        world, configurations=[_choice(world, "a.org")], traps=[TrapInput(expression="x")], extended={"law": "deposit"}
    )
    do(world, definition.delete_harvest, "news", edition=1)
    with pytest.raises(NotFound):
        do(world, definition.show_harvest, "news")
    assert create(world).extended == {"law": ""}


def test_a_harvest_that_ran_can_not_be_deleted(sqlite_world: World) -> None:
    world = sqlite_world
    made = create(world, configurations=[_choice(world, "a.org")])
    do(world, states.run_harvest_now, "news", ANY)
    world.generate(made.id)
    with pytest.raises(IllegalState, match="'news' has run, and its jobs need it; deactivate it instead"):
        do(world, definition.delete_harvest, "news")


def test_a_snapshot_that_another_continues_can_not_be_deleted(sqlite_world: World) -> None:
    create(sqlite_world, name="one", kind=HarvestKind.SNAPSHOT, schedule=None)
    create(sqlite_world, name="two", kind=HarvestKind.SNAPSHOT, schedule=None, previous="one")
    with pytest.raises(IllegalState, match="harvest 'two' continues 'one'"):
        do(sqlite_world, definition.delete_harvest, "one")


def test_snapshots_continue_each_other_in_a_line(sqlite_world: World) -> None:
    world = sqlite_world
    for name, previous in (("one", None), ("two", "one"), ("three", "two")):
        create(world, name=name, kind=HarvestKind.SNAPSHOT, schedule=None, previous=previous, max_bytes=10**9)
    with pytest.raises(InvalidInput, match="'three' continues this harvest itself"):
        do(world, definition.change_harvest, "one", HarvestChange(previous="three"))
    with pytest.raises(InvalidInput, match="continues this harvest itself"):
        do(world, definition.change_harvest, "one", HarvestChange(previous="one"))
    create(world, name="selective")
    assert refused(world, name="four", kind=HarvestKind.SNAPSHOT, schedule=None, previous="selective")
    assert set(refused(world, name="four", kind=HarvestKind.SNAPSHOT)) == {"schedule"}


def test_a_selective_harvest_is_activated_and_deactivated(world: World) -> None:
    create(world, schedule=None)
    with pytest.raises(IllegalState, match="has no configurations; add at least one"):
        do(world, states.activate_harvest, "news", ANY)
    do(world, chosen.add_configurations, "news", ConfigurationsChange(configurations=(_choice(world, "a.org"),)))
    with pytest.raises(IllegalState, match="has no schedule; choose one, or ask for one run now"):
        do(world, states.activate_harvest, "news", ANY)
    do(world, definition.change_harvest, "news", HarvestChange(schedule="hourly"))
    active = do(world, states.activate_harvest, "news", StateChange(edition=3))
    assert (active.is_active, active.next_run, active.edition) == (True, START, 4)
    assert do(world, states.activate_harvest, "news", ANY) == active
    inactive = do(world, states.deactivate_harvest, "news", ANY)
    assert (inactive.is_active, inactive.edition) == (False, 5)
    with pytest.raises(EditConflict):
        do(world, states.activate_harvest, "news", StateChange(edition=4))


def test_activation_clears_the_reason_of_the_scheduler(sqlite_world: World) -> None:
    create(sqlite_world, configurations=[_choice(sqlite_world, "a.org")])
    with sqlite_world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.scalars(select(Harvest)).one().why_inactive = "broken template"
    assert do(sqlite_world, states.activate_harvest, "news", ANY).why_inactive == ""


def test_a_harvest_whose_schedule_has_ended_can_not_be_activated(sqlite_world: World) -> None:
    world = sqlite_world
    world.schedule("over", ends=ScheduleEnd.DATE, ends_at=START - 1)
    create(world, schedule="over", configurations=[_choice(world, "a.org")])
    with pytest.raises(IllegalState, match="'over' has no further date"):
        do(world, states.activate_harvest, "news", ANY)


def test_an_active_harvest_keeps_a_schedule_with_a_further_date(sqlite_world: World) -> None:
    world = sqlite_world
    world.schedule("daily", every=24)
    world.schedule("over", ends=ScheduleEnd.DATE, ends_at=START - 1)
    create(world, configurations=[_choice(world, "a.org")])
    active = do(world, states.activate_harvest, "news", ANY)
    for schedule, why in ((None, "has no schedule; choose one"), ("over", "'over' has no further date")):
        with pytest.raises(IllegalState, match=why):
            do(world, definition.change_harvest, "news", HarvestChange(schedule=schedule))
    assert do(world, definition.show_harvest, "news") == active
    assert do(world, definition.change_harvest, "news", HarvestChange(schedule="daily")).next_run == START
    do(world, states.deactivate_harvest, "news", ANY)
    assert do(world, definition.change_harvest, "news", HarvestChange(schedule=None)).next_run is None


def test_a_run_now_is_asked_for_once_and_beside_the_schedule(sqlite_world: World, clock: MovableClock) -> None:
    world = sqlite_world
    made = create(world, configurations=[_choice(world, "a.org")], first_run=START + DAY)
    for _ in range(2):
        assert do(world, states.run_harvest_now, "news", ANY).run_now
    run = world.generate(made.id)
    assert run is not None
    assert run.is_extra
    shown = do(world, definition.show_harvest, "news")
    assert (shown.run_now, shown.next_run, shown.runs_made, shown.is_active) == (False, START + DAY, 1, False)


def test_a_second_run_of_a_snapshot_is_refused(sqlite_world: World) -> None:
    world = sqlite_world
    world.domain("a.org")
    made = create(world, kind=HarvestKind.SNAPSHOT, schedule=None, first_run=START + DAY)
    assert do(world, states.run_harvest_now, "news", ANY).next_run is None
    world.generate(made.id)
    for use_case in (states.run_harvest_now, states.activate_harvest):
        do(world, states.deactivate_harvest, "news", ANY)
        with pytest.raises(IllegalState, match="has run, and runs once; make a new one, which may continue it"):
            do(world, use_case, "news", ANY)


def test_a_snapshot_waits_for_the_one_that_it_continues(sqlite_world: World) -> None:
    create(sqlite_world, name="one", kind=HarvestKind.SNAPSHOT, schedule=None)
    create(sqlite_world, name="two", kind=HarvestKind.SNAPSHOT, schedule=None, previous="one")
    with pytest.raises(IllegalState, match="'one', which 'two' continues, has not run"):
        do(sqlite_world, states.activate_harvest, "two", ANY)


def test_configurations_are_added_listed_and_removed(world: World) -> None:
    create(world)
    choices = tuple(_choice(world, f"d{number}.org") for number in range(7))
    change = ConfigurationsChange(configurations=choices)
    assert do(world, chosen.add_configurations, "news", change).changed == 7
    again = do(world, chosen.add_configurations, "news", change)
    assert (again.changed, again.edition) == (0, 3)
    first = do(world, chosen.list_configurations, "news", limit=4)
    second = do(world, chosen.list_configurations, "news", after=first.next, limit=4)
    assert [item.domain for item in (*first.items, *second.items)] == [f"d{number}.org" for number in range(7)]
    assert second.next is None
    removed = do(world, chosen.remove_configurations, "news", ConfigurationsChange(configurations=choices[:3]))
    assert removed.changed == 3
    assert do(world, definition.show_harvest, "news").configurations == 4


@pytest.mark.parametrize("after", ["x", "-1", "9" * 30, "٣"])
def test_a_place_that_is_in_no_list_is_refused(sqlite_world: World, after: str) -> None:
    create(sqlite_world)
    for use_case in (chosen.list_configurations, listing.list_runs):
        with pytest.raises(InvalidInput):
            do(sqlite_world, use_case, "news", after=after)


def test_more_choices_than_a_request_may_have_are_refused(sqlite_world: World) -> None:
    choices = (ConfigurationChoice(domain="a.org"),) * 10_001
    assert "write at most 10000" in refused(sqlite_world, configurations=choices)["configurations"]


def test_a_snapshot_has_no_chosen_configurations(sqlite_world: World) -> None:
    create(sqlite_world, kind=HarvestKind.SNAPSHOT, schedule=None)
    change = ConfigurationsChange(configurations=(_choice(sqlite_world, "a.org"),))
    with pytest.raises(IllegalState, match="is a snapshot, which takes all domains"):
        do(sqlite_world, chosen.add_configurations, "news", change)


def test_an_event_harvest_makes_domains_and_configurations_of_pasted_urls(world: World) -> None:
    made = create(world)
    text = "\ufeffhttp://www.example.org/a\r\nexample.org/b\n# comment\n\nhttps://example.net/\nnot a url at all\n"
    report = do(world, event_seeds.add_event_seeds, "news", EventSeeds(text=text, template="plain", max_bytes=5_000))
    assert (report.upload.created, report.upload.seeds_added, report.configurations_added) == (2, 3, 2)
    assert [problem.line for problem in report.upload.problems] == [6]
    again = do(world, event_seeds.add_event_seeds, "news", EventSeeds(text=text, template="plain", max_bytes=5_000))
    assert (again.upload.seeds_added, again.configurations_added) == (0, 0)
    with world.database.transaction(COMMAND_LINE) as transaction:
        rows = transaction.session.scalars(select(Configuration).where(Configuration.max_bytes == 5_000)).all()
        assert {row.name for row in rows} == {f"event {made.id} news plain 5000 bytes"}
    do(world, states.run_harvest_now, "news", ANY)
    world.generate(made.id)
    (job,) = world.jobs(made.id)
    assert sorted(job.seeds.split("\n")) == [
        "http://example.org/b",
        "http://www.example.org/a",
        "https://example.net/",
    ]


def test_other_limits_of_an_event_make_other_configurations(sqlite_world: World) -> None:
    create(sqlite_world)
    for max_bytes in (1, 2):
        given = EventSeeds(text="http://example.org/", max_bytes=max_bytes)
        assert do(sqlite_world, event_seeds.add_event_seeds, "news", given).configurations_added == 1


@pytest.mark.parametrize("text", ["\0\0\0", "x" * 1_000_000, "<html><body>" + "<p>" * 1000, "\r\n" * 1000])
def test_pasted_nonsense_adds_nothing(sqlite_world: World, text: str) -> None:
    create(sqlite_world)
    try:
        report = do(sqlite_world, event_seeds.add_event_seeds, "news", EventSeeds(text=text))
    except InvalidInput:
        return
    assert (report.upload.seeds_added, report.configurations_added) == (0, 0)


def test_a_text_that_is_too_long_is_uploaded_instead(sqlite_world: World) -> None:
    create(sqlite_world)
    with pytest.raises(InvalidInput, match="paste at most 2000000, or upload a file"):
        do(sqlite_world, event_seeds.add_event_seeds, "news", EventSeeds(text="a" * 2_000_001))


def test_a_long_list_is_uploaded_in_parts(sqlite_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "LINES_OF_ONE_TRANSACTION", 200)
    world = sqlite_world
    create(world)
    lines = (f"http://d{number}.org/\n".encode() for number in range(500))
    report = event_seeds.upload_event_seeds(world.database, COMMAND_LINE, "news", lines, EventSeeds(text=""))
    assert (report.upload.created, report.configurations_added) == (500, 500)
    assert do(world, definition.show_harvest, "news").configurations == 500


def test_a_preview_says_what_would_be_generated_and_writes_nothing(world: World, clock: MovableClock) -> None:
    world.domain("a.org")
    world.domain("b.org", seeds="#")
    world.domain("c.net", alias_of="a.org", alias_since=START)
    world.domain("d.org", max_bytes=100)
    made = create(world, kind=HarvestKind.SNAPSHOT, schedule=None)
    with world.database.reading(COMMAND_LINE) as reading:
        found = preview.preview_run(reading, "news")
    assert (found.jobs, found.configurations, found.left_out, found.is_whole) == (
        2,
        2,
        {"alias": 1, "no-seeds": 1},
        True,
    )
    assert [job.first_domain for job in found.first_jobs] == ["a.org", "d.org"]
    assert found.expected_objects == 5_000
    assert world.jobs(made.id) == []
    assert do(world, preview.preview_run, "news", at_most=1).is_whole is False


def test_an_explanation_says_where_a_domain_was_and_what_becomes_of_it_now(world: World) -> None:
    world.domain("a.org")
    world.domain("b.org")
    older = world.snapshot("older", runs_made=1, created=1)
    made = create(world, kind=HarvestKind.SNAPSHOT, schedule=None, previous="older")
    do(world, states.run_harvest_now, "news", ANY)
    world.generate(made.id)
    world.history("b.org", older, objects=1000, size=50_000_000, reason=StopReason.COMPLETE)
    found = do(world, explanation.explain_domain, "news", "b.org")
    assert [(place.expected_objects, place.reason) for place in found.last] == [
        (5000, "fits; no earlier harvest, at most 5000")
    ]
    assert (found.run, found.now, found.left_out_now) == (0, [], {"complete-before": 1})
    page = do(world, explanation.explain_job, found.last[0].job, limit=1)
    assert ([place.domain for place in page.items], page.next) == (["a.org"], "a.org")
    rest = do(world, explanation.explain_job, found.last[0].job, after=page.next)
    assert [place.domain for place in rest.items] == ["b.org"]
    with pytest.raises(NotFound):
        do(world, explanation.explain_domain, "news", "none.org")
    with pytest.raises(NotFound):
        do(world, explanation.explain_job, 10**30)


@pytest.mark.parametrize("kind", HarvestKind)
def test_a_copy_has_every_value_of_the_original_but_its_name_and_dates(sqlite_world: World, kind: HarvestKind) -> None:
    world = sqlite_world
    with world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(ExtendedField(entity="harvest", name="law", kind="text", choices=[], default=""))
    create(world, name="before", kind=HarvestKind.SNAPSHOT, schedule=None)
    given: dict[str, Any] = {
        "comments": "Why",
        "audience": "All",
        "channel": "snapshots",
        "schedule": None,
        "max_bytes": 5,
        "max_objects": 6,
        "max_seconds": 60,
        "qa_sample": "10%",
        "qa_follows": True,
        "previous": "before",
        "facts": {"operator": "KB"},
        "permission": "only-granted",
        "extended": {"law": "deposit"},
    }
    if kind is HarvestKind.SELECTIVE:
        given |= {"channel": "focused", "schedule": "hourly", "max_bytes": -1, "max_objects": -1, "previous": None}
    create(world, kind=kind, traps=[TrapInput(expression="calendar", is_active=False)], first_run=START + DAY, **given)
    copied = do(world, copying.copy_harvest, "news", HarvestCopy(name="copy"))
    own = {"name", "first_run", "configurations", "traps"}
    assert set(HarvestCreation.model_fields) - own == {"kind", "collection", *given}
    assert {name: getattr(copied, name) for name in given} == given
    assert (copied.kind, copied.collection, copied.first_run == START + DAY) == (kind, "news", False)
    assert [(trap.expression, trap.is_active) for trap in copied.traps] == [("calendar", False)]


@pytest.mark.both_databases
def test_harvests_are_listed_by_name_in_pages_and_searched(world: World) -> None:
    for name in ("b", "A news", "c_news", "d%"):
        create(world, name=name)
    create(world, name="whole", kind=HarvestKind.SNAPSHOT, schedule=None)
    names: list[str] = []
    after = ""
    while True:
        page = do(world, listing.list_harvests, after=after, limit=2)
        names += [item.name for item in page.items]
        if page.next is None:
            break
        after = page.next
    assert sorted(names) == ["A news", "b", "c_news", "d%", "whole"]
    assert page.total == 5
    assert {item.name for item in do(world, listing.list_harvests, search="NEWS").items} == {"A news", "c_news"}
    assert [item.name for item in do(world, listing.list_harvests, search="%").items] == ["d%"]
    snapshots = do(world, listing.list_harvests, kind=HarvestKind.SNAPSHOT, is_active=False)
    assert [item.name for item in snapshots.items] == ["whole"]
    with pytest.raises(InvalidInput):
        do(world, listing.list_harvests, search="\0")


def test_runs_are_listed_newest_first_with_the_states_of_their_jobs(world: World, clock: MovableClock) -> None:
    made = create(world, configurations=[_choice(world, "a.org"), _choice(world, "b.org", max_bytes=5)])
    do(world, states.activate_harvest, "news", ANY)
    for _ in range(3):
        clock.move(HOUR)
        world.generate(made.id)
    page = do(world, listing.list_runs, "news", limit=2)
    assert [(run.number, run.jobs, run.statuses) for run in page.items] == [(2, 2, {"NEW": 2}), (1, 2, {"NEW": 2})]
    rest = do(world, listing.list_runs, "news", after=page.next)
    assert [run.number for run in rest.items] == [0]
    assert do(world, listing.show_run, "news", 1).configurations == 2
    with pytest.raises(NotFound):
        do(world, listing.show_run, "news", 3)


def test_readers_may_look_and_not_change(sqlite_world: World) -> None:
    create(sqlite_world)
    reader = Actor("r", Role.READER, Door.API)
    with sqlite_world.database.transaction(reader) as transaction:
        assert definition.show_harvest(transaction, "news").name == "news"
        assert preview.preview_run(transaction, "news").jobs == 0
        changes: list[tuple[Any, ...]] = [
            (definition.create_harvest, HarvestCreation(name="x", collection="x")),
            (definition.change_harvest, "news", HarvestChange()),
            (definition.delete_harvest, "news"),
            (states.activate_harvest, "news", ANY),
            (states.deactivate_harvest, "news", ANY),
            (states.run_harvest_now, "news", ANY),
            (chosen.add_configurations, "news", ConfigurationsChange(configurations=())),
            (event_seeds.add_event_seeds, "news", EventSeeds(text="")),
        ]
        for use_case, *arguments in changes:
            with pytest.raises(Forbidden):
                use_case(transaction, *arguments)


def test_operations_have_names_and_addresses_of_their_own() -> None:
    operations = (*OPERATIONS, *GENERATION_OPERATIONS)
    assert len({each.name for each in operations}) == len(operations)
    assert len({(each.method, each.path) for each in operations}) == len(operations)
    for each in operations:
        assert each.is_list == str(each.use_case.__annotations__["return"]).startswith("Page[")


def _choice(world: World, domain: str, **values: Any) -> ConfigurationChoice:
    world.domain(domain, **values)
    return ConfigurationChoice(domain=domain)
