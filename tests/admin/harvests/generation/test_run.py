"""One run of a harvest, from its configurations to its jobs."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.exc import DataError, DBAPIError, OperationalError
from support.admin.harvest_database import DAY, HOUR, MINUTE, START, MovableClock
from support.admin.harvest_world import World, settings_with, template_text
from support.stores.postgres_server import PostgresServer

from admin.harvests.dispatch.queue import claimed, move, resubmit
from admin.harvests.generation.content_hash import run_hash
from admin.harvests.generation.run import EventKind, GenerationEvent, Generator, is_away
from admin.models.database import Database
from admin.models.domain_tables import (
    CONFIGURATION_SEED_LISTS,
    Configuration,
    CrawlerTrap,
    CrawlerTrapList,
    Domain,
    ExtendedField,
    ExtendedValue,
)
from admin.models.errors import DatabaseRefused, IllegalState
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS, Channel, Harvest, ScheduleEnd, Template, TemplateVersion
from admin.models.job_tables import HarvestJob, JobConfiguration, JobStatus, StopReason
from admin.models.people_tables import AuditEntry
from admin.models.transaction import COMMAND_LINE


def test_a_selective_harvest_gets_new_jobs_with_their_own_copy_of_everything(world: World) -> None:
    world.schedule()
    world.template("deep", {"hops": 9}, {"hops": 10, "exclude": ["logout"]})
    one = world.domain("a.org", template="deep", attributes={"hops": 3}, max_bytes=5_000_000, traps=["calendar"])
    harvest_id = world.harvest(configurations=[one], schedule="hourly", comments="Why", audience="All", max_seconds=60)
    run = world.generate(harvest_id)

    assert run is not None
    assert (run.number, run.jobs, run.configurations, run.left_out, run.started) == (0, 1, 1, {}, START)
    (job,) = world.jobs(harvest_id)
    assert (job.status, job.run_number, job.collection, job.created) == (JobStatus.NEW, 0, "news", START)
    assert (job.template_name, job.template_version) == ("deep", 2)
    assert (job.profile["hops"], job.profile["limits"]["seconds"]) == (3, 60)
    assert job.profile["exclude"][0] == "logout"
    assert "calendar" in job.profile["exclude"][1]
    assert job.seeds == "http://www.a.org/"
    assert (job.max_bytes, job.max_objects, job.max_seconds) == (5_000_000, -1, 60)
    assert (job.expected_objects, job.configurations_count) == (131, 1)
    assert job.facts == {
        "harvest": "news",
        "kind": "selective",
        "run": 0,
        "comments": "Why",
        "audience": "All",
        "schedule": "hourly",
        "extended": {},
    }
    (entry,) = world.entries(job.id)
    assert (entry.configuration_id, entry.configuration_name, entry.expected_objects) == (one, "default", 131)
    assert entry.reason == "begins the job: it is the first of its chunk; no earlier harvest, at most 131"
    harvest = world.row(harvest_id)
    assert (harvest.runs_made, harvest.next_run, harvest.edition) == (1, START + HOUR - MINUTE, 1)


def test_each_configuration_says_why_it_is_in_its_job(sqlite_world: World) -> None:
    world = sqlite_world
    made = [world.domain("a.org", max_bytes=100), world.domain("b.org", max_bytes=100), world.domain("c.org")]
    harvest_id = world.harvest(configurations=made)
    world.generate(harvest_id)
    first, second = world.jobs(harvest_id)
    assert [entry.domain_name for entry in world.entries(first.id)] == ["c.org"]
    assert [entry.reason for entry in world.entries(second.id)] == [
        "begins the job: the limit 100 is below the harvest's, -1; no earlier harvest, at most 0",
        "fits; no earlier harvest, at most 0",
    ]


def test_a_domain_with_two_configurations_is_in_two_jobs(sqlite_world: World) -> None:
    made = [sqlite_world.domain("a.org"), sqlite_world.domain("a.org", configuration="other")]
    harvest_id = sqlite_world.harvest(configurations=made)
    sqlite_world.generate(harvest_id)
    assert sqlite_world.domains_by_job(harvest_id) == [["a.org"], ["a.org"]]


@pytest.mark.parametrize("seeds", ["", "\n\n", "# http://a.org/\n  \n", "not a seed\n", "\ufeff#comment\r\n"])
def test_a_configuration_without_seeds_is_skipped_and_counted(sqlite_world: World, seeds: str) -> None:
    world = sqlite_world
    harvest_id = world.harvest(configurations=[world.domain("a.org", seeds=seeds), world.domain("b.org")])
    run = world.generate(harvest_id)
    assert run is not None
    assert (run.jobs, run.configurations, run.left_out) == (1, 1, {"no-seeds": 1})
    assert world.row(harvest_id).is_active


def test_a_seed_list_with_a_bad_line_is_harvested_without_the_line(sqlite_world: World) -> None:
    seeds = "\ufeffhttp://a.org/\r\nhttp://a.org/\nftp://a.org/\n # no\n http://a.org/b \n"
    harvest_id = sqlite_world.harvest(configurations=[sqlite_world.domain("a.org", seeds=seeds)])
    sqlite_world.generate(harvest_id)
    assert sqlite_world.jobs(harvest_id)[0].seeds == "http://a.org/\nhttp://a.org/b"


@pytest.mark.parametrize(("days", "is_left_out"), [(364, True), (365, False), (366, False)])
def test_an_alias_is_left_out_of_a_snapshot_until_it_expires(world: World, days: int, is_left_out: bool) -> None:
    world.domain("a.org")
    world.domain("a.net", alias_of="a.org", alias_since=START - days * DAY)
    harvest_id = world.snapshot()
    run = world.generate(harvest_id)
    assert run is not None
    assert run.left_out == ({"alias": 1} if is_left_out else {})
    (job,) = world.jobs(harvest_id)
    assert job.aliases == ({"a.net": "a.org"} if is_left_out else {})
    assert job.configurations_count == (1 if is_left_out else 2)


def test_a_selective_harvest_takes_an_alias_that_was_chosen(sqlite_world: World) -> None:
    world = sqlite_world
    world.domain("a.org")
    chosen = world.domain("a.net", alias_of="a.org", alias_since=START)
    harvest_id = world.harvest(configurations=[chosen])
    world.generate(harvest_id)
    assert world.domains_by_job(harvest_id) == [["a.net"]]


@pytest.mark.parametrize(
    ("exclude", "values", "left_out"),
    [
        (False, {"max_bytes": 0}, {}),
        (True, {"max_bytes": 0}, {"zero-budget": 1}),
        (True, {"max_objects": 0}, {"zero-budget": 1}),
        (True, {"max_objects": 1}, {}),
    ],
)
def test_configurations_without_budget_are_left_out_when_the_setting_says_so(
    sqlite_world: World, exclude: bool, values: dict[str, int], left_out: dict[str, int]
) -> None:
    world = sqlite_world
    harvest_id = world.harvest(configurations=[world.domain("a.org", **values)])
    run = world.generate(harvest_id, settings_with(exclude_zero_budget=exclude))
    assert run is not None
    assert run.left_out == left_out
    if not exclude:
        (entry,) = world.entries(world.jobs(harvest_id)[0].id)
        assert (entry.max_bytes, entry.max_objects, entry.expected_objects) == (0, 0, 0)


def test_a_continued_snapshot_leaves_out_what_any_snapshot_of_its_chain_completed(world: World) -> None:
    for name in ("done-first.org", "done-second.org", "limited.org", "new.org", "worse.org"):
        world.domain(name)
    first = world.snapshot("first", runs_made=1, created=1)
    second = world.snapshot("second", runs_made=1, created=2, previous_id=first)
    third = world.snapshot("third", created=3, previous_id=second)
    world.history("done-first.org", first)
    world.history("done-second.org", first, reason=StopReason.SIZE_LIMIT, ended=1)
    world.history("done-second.org", second, ended=2)
    world.history("limited.org", second, reason=StopReason.SIZE_LIMIT)
    world.history("worse.org", first, ended=1)
    world.history("worse.org", second, reason=StopReason.UNFINISHED, ended=2)
    run = world.generate(third)
    assert run is not None
    assert run.left_out == {"complete-before": 2}
    assert sorted(name for job in world.domains_by_job(third) for name in job) == [
        "limited.org",
        "new.org",
        "worse.org",
    ]


def test_the_limits_of_a_snapshot_and_of_its_configurations_both_hold(sqlite_world: World) -> None:
    world = sqlite_world
    world.domain("a.org", max_bytes=5_000, max_objects=7)
    world.domain("b.org")
    world.domain("c.org", max_bytes=2_000_000_000)
    harvest_id = world.snapshot(max_bytes=1_000_000_000, max_objects=9)
    world.generate(harvest_id)
    wide, narrow = world.jobs(harvest_id)
    assert [(e.domain_name, e.max_bytes, e.max_objects) for e in world.entries(wide.id)] == [
        ("b.org", 10**9, 9),
        ("c.org", 10**9, 9),
    ]
    assert [(e.domain_name, e.max_bytes, e.max_objects) for e in world.entries(narrow.id)] == [("a.org", 5_000, 7)]
    assert (narrow.max_bytes, narrow.max_objects) == (5_000, 7)


def test_deduplication_is_against_the_run_before(world: World) -> None:
    world.schedule()
    other = world.harvest("other", configurations=[world.domain("b.org")], schedule="hourly")
    harvest_id = world.harvest(
        configurations=[world.domain("a.org"), world.domain("c.org", max_bytes=5)], schedule="hourly"
    )
    runs: list[list[int]] = []
    for _ in range(3):
        world.generate(other)
        world.generate(harvest_id)
        runs.append([job.id for job in world.jobs(harvest_id)][-2:])
    for number, job in enumerate(world.jobs(harvest_id)):
        assert job.duplicate_reduction_jobs == (runs[number // 2 - 1] if number >= 2 else [])


def test_snapshots_are_deduplicated_against_their_chain_and_the_chain_before_it(world: World) -> None:
    old = world.snapshot("old", runs_made=1, created=1)
    older_part = world.snapshot("old, second part", runs_made=1, created=2, previous_id=old)
    world.snapshot("never run", created=3, is_active=False)
    first = world.snapshot("first", runs_made=1, created=4)
    second = world.snapshot("second", runs_made=1, created=5, previous_id=first)
    third = world.snapshot("third", created=6, previous_id=second)
    selective = world.harvest("selective", created=5)
    world.domain("a.org")
    ids: dict[int, list[int]] = {}
    with world.database.transaction(COMMAND_LINE) as transaction:
        for harvest_id in (old, older_part, first, second, selective, second):
            row = world.job_row(harvest_id)
            transaction.session.add(row)
            transaction.session.flush()
            ids.setdefault(harvest_id, []).append(row.id)
    world.generate(third)
    (job,) = world.jobs(third)
    assert job.duplicate_reduction_jobs == sorted(ids[old] + ids[older_part] + ids[first] + ids[second])


def test_traps_of_lists_harvests_and_domains_reach_the_profile(sqlite_world: World) -> None:
    world = sqlite_world
    one, two = world.domain("a.org", traps=["day=\\d"]), world.domain("b.org")
    harvest_id = world.harvest(configurations=[one, two])
    with world.database.transaction(COMMAND_LINE) as transaction:
        on = CrawlerTrapList(name="on", description="", traps=[CrawlerTrap(position=0, expression="global")])
        off = CrawlerTrapList(
            name="off", description="", is_active=False, traps=[CrawlerTrap(position=0, expression="unused")]
        )
        transaction.session.add_all([on, off, CrawlerTrap(harvest_id=harvest_id, position=0, expression="harvests")])
    world.generate(harvest_id)
    (job,) = world.jobs(harvest_id)
    assert job.profile["exclude"][:2] == ["global", "harvests"]
    assert len(job.profile["exclude"]) == 3


def test_extended_fields_reach_the_job_when_they_shall(sqlite_world: World) -> None:
    world = sqlite_world
    harvest_id = world.harvest(configurations=[world.domain("a.org")], facts={"operator": "KB", "harvest": "forged"})
    with world.database.transaction(COMMAND_LINE) as transaction:
        for name, kept, default in (("event", True, ""), ("note", False, "x"), ("law", True, "deposit")):
            row = ExtendedField(
                entity="harvest", name=name, kind="text", default=default, is_kept_with_jobs=kept, choices=[]
            )
            transaction.session.add(row)
            transaction.session.flush()
            if name == "event":
                transaction.session.add(ExtendedValue(field_id=row.id, entity_id=harvest_id, value="Election"))
        for name, kept in (("county", True), ("phone", False)):
            row = ExtendedField(entity="domain", name=name, kind="text", default="", is_kept_with_jobs=kept, choices=[])
            transaction.session.add(row)
            transaction.session.flush()
            domain_id = transaction.session.scalars(select(Domain.id).where(Domain.name == "a.org")).one()
            transaction.session.add(ExtendedValue(field_id=row.id, entity_id=domain_id, value="Skåne"))
    world.generate(harvest_id)
    (job,) = world.jobs(harvest_id)
    assert (job.facts["operator"], job.facts["harvest"]) == ("KB", "news")
    assert job.facts["extended"] == {"event": "Election", "law": "deposit"}
    assert job.facts["domains"] == {"a.org": {"county": "Skåne"}}


@pytest.mark.both_databases
def test_a_stored_job_can_not_be_changed_except_for_its_progress(world: World) -> None:
    harvest_id = world.harvest(configurations=[world.domain("a.org")])
    world.generate(harvest_id)

    def change(**values: object) -> None:
        with world.database.transaction(COMMAND_LINE) as transaction:
            job = transaction.session.scalars(select(HarvestJob)).one()
            for name, value in values.items():
                setattr(job, name, value)

    change(status=JobStatus.SUBMITTED, submitted=START)
    for name, value in (("seeds", "http://evil.example/"), ("max_bytes", 5), ("profile", {}), ("channel_id", 2)):
        with pytest.raises(IllegalState, match=rf"job \d+ is stored, so its {name} can't be changed"):
            change(**{name: value})
    with (
        pytest.raises(IllegalState, match="its max_bytes can't be changed"),
        world.database.transaction(COMMAND_LINE) as transaction,
    ):
        transaction.session.scalars(select(JobConfiguration)).one().max_bytes = 5


@pytest.mark.parametrize("is_deleted", [False, True], ids=["changed", "deleted"])
def test_a_job_keeps_the_rate_of_its_configuration(sqlite_world: World, is_deleted: bool) -> None:
    world = sqlite_world
    configuration = world.domain("a.org", max_rate=7)
    harvest_id = world.harvest(configurations=[configuration])
    world.generate(harvest_id)
    (job,) = world.jobs(harvest_id)
    with world.database.transaction(COMMAND_LINE) as transaction:
        assert move(transaction, job.id, JobStatus.NEW, JobStatus.SUBMITTED)
        again = resubmit(transaction, job.id)
        if is_deleted:
            transaction.session.execute(update(Domain).values(default_configuration_id=None))
            transaction.session.execute(delete(HARVEST_CONFIGURATIONS))
            transaction.session.execute(delete(CONFIGURATION_SEED_LISTS))
            transaction.session.execute(delete(Configuration))
        else:
            transaction.session.get_one(Configuration, configuration).max_rate = 9
        transaction.session.flush()
        assert [each.max_rate for number in (job.id, again) for each in claimed(transaction, number).domains] == [7, 7]


def test_a_job_keeps_its_template_when_the_template_changes(sqlite_world: World) -> None:
    world = sqlite_world
    world.template("own", {"hops": 1})
    world.schedule()
    harvest_id = world.harvest(configurations=[world.domain("a.org", template="own")], schedule="hourly")
    world.generate(harvest_id)
    with world.database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.scalars(select(Template).where(Template.name == "own")).one()
        row.versions.append(
            TemplateVersion(number=2, text=template_text(hops=2), sha256="", comments="", created=0, created_by="me")
        )
    world.generate(harvest_id)
    assert [(job.template_version, job.profile["hops"]) for job in world.jobs(harvest_id)] == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("template", "attributes", "reason"),
    [
        ("hops: [", {}, "template 'bad' version 1 makes no profile"),
        ("- a\n", {}, "template 'bad' version 1 makes no profile"),
        ({"hosp": 3}, {}, "hosp"),
        ({}, {"hops": "many"}, r"with the attributes .*many.*hops"),
        ("a: &a [x]\n" + "x" * 1_000_001, {}, "makes no profile: "),
        ({"limits": {"byts": 3}}, {}, "byts"),
    ],
)
def test_a_failing_harvest_is_deactivated_alone_with_its_reason(
    sqlite_world: World, template: str | dict[str, object], attributes: dict[str, object], reason: str
) -> None:
    world = sqlite_world
    world.template("bad", template)
    good = world.domain("a.org")
    harvest_id = world.harvest(configurations=[good, world.domain("b.org", template="bad", attributes=attributes)])
    other = world.harvest("other", configurations=[good])
    heard: list[GenerationEvent] = []
    generator = world.generator(lambda _, event: heard.append(event), settings=settings_with(chunk_configurations=1))
    assert generator.generate(harvest_id) is None
    assert generator.generate(other) is not None

    row = world.row(harvest_id)
    assert (row.is_active, row.runs_made) == (False, 0)
    assert world.jobs(harvest_id) == []
    assert [(event.kind, event.harvest_name) for event in heard[:2]] == [
        (EventKind.HARVEST_DEACTIVATED, "news"),
        (EventKind.RUN_GENERATED, "other"),
    ]
    assert re.search(reason, row.why_inactive)
    with world.database.transaction(COMMAND_LINE) as transaction:
        (entry,) = transaction.session.scalars(select(AuditEntry))
        assert (entry.action, entry.actor, entry.new) == (
            "harvest.deactivate",
            "scheduler",
            {"is_active": False, "why_inactive": row.why_inactive},
        )


def test_a_value_that_the_database_refuses_deactivates_the_harvest_instead_of_being_tried_for_ever(
    world: World,
) -> None:
    harvest_id = world.harvest(configurations=[world.domain("a.org")])
    generator = world.generator()

    def too_long(session: object, *_: object) -> object:
        raise DatabaseRefused("the value is too long") from DataError("INSERT", None, Exception("too long"))

    original = Generator._store
    Generator._store = too_long  # type: ignore[method-assign,assignment]
    try:
        assert generator.generate(harvest_id) is None
    finally:
        Generator._store = original  # type: ignore[method-assign]
    row = world.row(harvest_id)
    assert (row.is_active, row.why_inactive) == (False, "the value is too long")


@pytest.mark.parametrize(
    ("cause", "away"),
    [
        (OperationalError("", None, Exception()), True),
        (DBAPIError("", None, Exception(), connection_invalidated=True), True),
        (DataError("", None, Exception()), False),
        (None, False),
    ],
)
def test_a_database_is_away_when_it_can_not_be_reached(cause: Exception | None, away: bool) -> None:
    error = DatabaseRefused("x")
    error.__cause__ = cause
    assert is_away(error) == away


def test_a_harvest_without_channel_is_deactivated_with_the_remedy(sqlite_world: World) -> None:
    world = sqlite_world
    with world.database.transaction(COMMAND_LINE) as transaction:
        for channel in transaction.session.scalars(select(Channel)):
            channel.is_default = False
    harvest_id = world.harvest(configurations=[world.domain("a.org")])
    assert world.generate(harvest_id) is None
    assert "there is no default channel for selective harvests; make one" in world.row(harvest_id).why_inactive


def test_a_run_without_jobs_counts_and_is_told_of(sqlite_world: World) -> None:
    world = sqlite_world
    world.schedule()
    harvest_id = world.harvest(configurations=[world.domain("a.org", seeds="#")], schedule="hourly")
    heard: list[GenerationEvent] = []
    run = world.generator(lambda _, event: heard.append(event)).generate(harvest_id)
    assert run is not None
    assert run.jobs == 0
    assert heard[-1].kind == EventKind.NO_JOBS
    assert heard[-1].message == "no configuration was left to harvest: 1 no-seeds"
    assert (world.row(harvest_id).runs_made, world.row(harvest_id).is_active) == (1, True)


def test_three_days_without_scheduler_give_one_run_and_a_count(world: World, clock: MovableClock) -> None:
    world.schedule()
    harvest_id = world.harvest(configurations=[world.domain("a.org")], schedule="hourly")
    clock.move(3 * DAY)
    heard: list[GenerationEvent] = []
    run = world.generator(lambda _, event: heard.append(event)).generate(harvest_id)
    assert run is not None
    assert run.dates_skipped == 72
    assert world.row(harvest_id).next_run == START + 3 * DAY + HOUR - MINUTE
    assert EventKind.DATES_SKIPPED in [event.kind for event in heard]
    assert len(world.jobs(harvest_id)) == 1


def test_a_schedule_that_ends_after_two_runs_has_two_runs_and_extra_ones_do_not_count(
    sqlite_world: World, clock: MovableClock
) -> None:
    world = sqlite_world
    world.schedule("twice", ends=ScheduleEnd.COUNT, ends_after=2)
    harvest_id = world.harvest(configurations=[world.domain("a.org")], schedule="twice", next_run=START + HOUR)
    with world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.get_one(Harvest, harvest_id).run_now = True
    extra = world.generate(harvest_id)
    assert extra is not None
    assert extra.is_extra
    row = world.row(harvest_id)
    assert (row.next_run, row.run_now, row.runs_made) == (START + HOUR, False, 1)
    clock.move(HOUR + 1)
    heard: list[GenerationEvent] = []
    generator = world.generator(lambda _, event: heard.append(event))
    assert generator.generate(harvest_id) is not None
    following = world.row(harvest_id).next_run
    assert following is not None
    clock.move(DAY)
    run = generator.generate(harvest_id)
    assert run is not None
    row = world.row(harvest_id)
    assert (row.next_run, row.runs_made, run.number) == (None, 3, 2)
    assert heard[-1].kind == EventKind.SCHEDULE_ENDED


@pytest.mark.both_databases
def test_a_harvest_that_is_changed_while_it_is_generated_keeps_nothing(sqlite_world: World) -> None:
    world = sqlite_world
    harvest_id = world.harvest(configurations=[world.domain("a.org")])
    generator = world.generator()
    original = type(generator)._complete

    def changed_first(*arguments: object) -> object:
        with world.database.transaction(COMMAND_LINE) as transaction:
            row = transaction.session.get_one(Harvest, harvest_id)
            transaction.check_edition("harvest", row.name, row, 1)
            row.is_active = False
        return original(*arguments)  # type: ignore[arg-type]

    type(generator)._complete = changed_first  # type: ignore[method-assign,assignment]
    try:
        assert generator.generate(harvest_id) is None
    finally:
        type(generator)._complete = original  # type: ignore[method-assign]
    assert world.jobs(harvest_id) == []
    assert world.row(harvest_id).runs_made == 0
    assert world.row(harvest_id).why_inactive == ""


@pytest.mark.both_databases
def test_a_configuration_that_is_deleted_meanwhile_stays_in_the_job_without_its_number(world: World) -> None:
    one, two = world.domain("a.org"), world.domain("b.org")
    harvest_id = world.harvest(configurations=[one, two])
    generator = world.generator()
    original = type(generator)._store

    def deleted_first(*arguments: object) -> object:
        with world.database.transaction(COMMAND_LINE) as transaction:
            row = transaction.session.scalars(select(Domain).where(Domain.name == "a.org")).one()
            transaction.session.delete(row)
        return original(*arguments)  # type: ignore[arg-type]

    type(generator)._store = deleted_first  # type: ignore[method-assign,assignment]
    try:
        assert generator.generate(harvest_id) is not None
    finally:
        type(generator)._store = original  # type: ignore[method-assign]
    (job,) = world.jobs(harvest_id)
    found = [(entry.domain_name, entry.configuration_id) for entry in world.entries(job.id)]
    assert found == [("a.org", None), ("b.org", two)]


def test_a_harvest_that_is_gone_gives_no_run(sqlite_world: World) -> None:
    assert sqlite_world.generate(77) is None


def test_drafts_are_undone_harvest_by_harvest(world: World) -> None:
    one, two = world.harvest("one"), world.harvest("two")
    with world.database.transaction(COMMAND_LINE) as transaction:
        for harvest_id in (one, two, one, two, one, one, one, one):
            transaction.session.add(world.job_row(harvest_id, status=JobStatus.DRAFT))
        transaction.session.add(world.job_row(one, status=JobStatus.NEW))
    generator = world.generator()
    assert generator.undo_drafts(without=[one]) == 2
    assert generator.undo_drafts() == 6
    assert [job.status for job in world.jobs(one)] == [JobStatus.NEW]


def test_equal_configurations_give_equal_jobs_on_both_databases(
    postgres_server: PostgresServer, clock: MovableClock, sqlite_world: World
) -> None:
    other = Database(postgres_server.url("equal"), clock)
    other.check()
    settings = settings_with(chunk_configurations=25, job_configurations=4)
    hashes: list[str] = []
    for one in (sqlite_world, World(other)):
        for number in range(60):
            one.domain(
                f"d{number:02}.org" if number % 7 else f"D-{number}.net",
                max_bytes=(-1, 100, 5_000_000)[number % 3],
                attributes={} if number % 4 else {"hops": number % 3, "scope": "page"},
            )
        for harvest_id in (one.snapshot("first"), one.snapshot("second")):
            one.generate(harvest_id, settings)
            assert len(one.jobs(harvest_id)) > 15
            with one.database.transaction(COMMAND_LINE) as transaction:
                hashes.append(run_hash(transaction.session, harvest_id, 0))
    other.close()
    assert len(hashes) == 4
    assert len(set(hashes)) == 1
