"""Which configurations come, which are left out, and what is known of them."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from sqlalchemy import event, insert, select
from support.admin.harvest_database import START
from support.admin.harvest_world import World, settings_with
from support.each_value import each_value

from admin.harvests.generation.candidates import PastDomain, best_harvests, chunks, is_complete_before
from admin.harvests.generation.expectations import BudgetLimits, PastHarvest
from admin.harvests.generation.plan import plan
from admin.models.domain_tables import Configuration
from admin.models.job_tables import DomainHistory, HarvestJob, StopReason
from admin.models.transaction import COMMAND_LINE
from archive.settings.generation import Reading

pytestmark = pytest.mark.both_databases

NOT_RAISED, RAISED, NONE = BudgetLimits(100, 1_000), BudgetLimits(101, 1_001), BudgetLimits()


@each_value(
    ("reason", "reading", "not_raised", "raised"),
    [
        (StopReason.COMPLETE, "seed", True, True),
        (StopReason.OBJECT_LIMIT, "seed", False, False),
        (StopReason.SIZE_LIMIT, "seed", False, False),
        (StopReason.CONFIGURATION_OBJECT_LIMIT, "seed", False, False),
        (StopReason.CONFIGURATION_SIZE_LIMIT, "seed", False, False),
        (StopReason.TIME_LIMIT, "seed", False, False),
        (StopReason.UNFINISHED, "seed", False, False),
        (StopReason.COMPLETE, "netarchivesuite", True, True),
        (StopReason.OBJECT_LIMIT, "netarchivesuite", False, False),
        (StopReason.SIZE_LIMIT, "netarchivesuite", False, False),
        (StopReason.CONFIGURATION_OBJECT_LIMIT, "netarchivesuite", True, False),
        (StopReason.CONFIGURATION_SIZE_LIMIT, "netarchivesuite", True, False),
        (StopReason.TIME_LIMIT, "netarchivesuite", False, False),
        (StopReason.UNFINISHED, "netarchivesuite", True, True),
    ],
)
def test_a_continued_snapshot_leaves_out_domains_by_their_stop_reason(
    reason: StopReason, reading: Reading, not_raised: bool, raised: bool
) -> None:
    past = PastDomain(reason, objects=100, bytes=1_000)
    assert is_complete_before(past, NOT_RAISED, reading) == not_raised
    assert is_complete_before(past, RAISED, reading) == raised
    assert is_complete_before(past, NONE, reading) == raised


def best_of(history: list[PastHarvest]) -> PastHarvest:
    """Return the newest complete harvest; else the one with the most objects, of these the newest."""
    return max(
        history, key=lambda past: (past.is_complete, past.ended if past.is_complete else past.objects, past.ended)
    )


def test_the_database_finds_the_same_best_harvests_as_the_rule(world: World) -> None:
    numbers = random.Random(20)
    names = [f"d{number}.org" for number in range(30)]
    ids = {name: world.domain(name) for name in names}
    harvest_id = world.snapshot()
    histories: dict[int, list[PastHarvest]] = {}
    with world.database.transaction(COMMAND_LINE) as transaction:
        session = transaction.session
        domains = dict(session.execute(select(Configuration.id, Configuration.domain_id)).all())
        jobs = [world.job_row(harvest_id) for _ in range(6)]
        session.add_all(jobs)
        session.flush()
        for configuration_id in ids.values():
            for job in jobs[: numbers.randrange(7)]:
                reason = numbers.choice(list(StopReason))
                objects, size, ended = numbers.randrange(4), numbers.randrange(9), numbers.randrange(5)
                session.add(
                    DomainHistory(
                        job_id=job.id,
                        harvest_id=harvest_id,
                        domain_id=domains[configuration_id],
                        configuration_id=configuration_id,
                        objects=objects,
                        bytes=size,
                        stop_reason=reason,
                        ended=ended,
                    )
                )
                past = PastHarvest(objects, size, reason == StopReason.COMPLETE, ended)
                histories.setdefault(configuration_id, []).append(past)
    with world.database.reading(COMMAND_LINE) as reading:
        found = best_harvests(reading.session, list(ids.values()))
    assert set(found) == set(histories)
    for configuration_id, history in histories.items():
        best = best_of(history)
        one = found[configuration_id]
        assert (one.is_complete, one.ended) == (best.is_complete, best.ended)
        assert one.is_complete or one.objects == best.objects


def test_configurations_come_in_chunks_in_the_order_of_the_golden_list(world: World) -> None:
    world.template("chromium")
    harvest_id = world.harvest("other")
    wanted = [
        ("b.org", {"template": "chromium"}),
        ("unlimited-known.org", {}),
        ("unlimited.org", {}),
        ("million.org", {"max_bytes": 1_000_000}),
        ("small-a.org", {"max_bytes": 1_000}),
        ("small-b.org", {"max_bytes": 1_000}),
        ("zero.org", {"max_bytes": 0}),
        ("deep.org", {"attributes": {"hops": 30}}),
    ]
    for name, values in sorted(wanted, key=lambda each: each[0][::-1]):
        world.domain(name, **values)
    world.history("unlimited-known.org", harvest_id, objects=10_000, size=380_000_000)
    snapshot = world.snapshot()
    with world.database.reading(COMMAND_LINE) as reading:
        planned = plan(reading.session, snapshot, START)
        whole = [list(part) for part in chunks(reading.session, planned, settings_with(), Counter())]
        parts = [
            [one.domain_name for one in part]
            for part in chunks(reading.session, planned, settings_with(chunk_configurations=3), Counter())
        ]
    assert [one.domain_name for one in whole[0]] == [name for name, _ in wanted]
    assert [len(part) for part in parts] == [3, 3, 2]
    assert {name for part in parts for name in part} == {name for name, _ in wanted}


def test_a_page_of_configurations_takes_few_queries(sqlite_world: World) -> None:
    world = sqlite_world
    for number in range(300):
        world.domain(f"d{number}.org")
    harvest_id = world.snapshot()

    asked: list[str] = []
    event.listen(
        world.database.engine, "before_cursor_execute", lambda *arguments: asked.append(arguments[2]), named=False
    )
    world.generate(harvest_id)
    assert len(world.jobs(harvest_id)) == 1
    assert len(asked) < 60


def test_history_of_a_million_kinds_does_not_matter_to_others(sqlite_world: World) -> None:
    world = sqlite_world
    one = world.domain("a.org")
    harvest_id = world.snapshot()
    with world.database.transaction(COMMAND_LINE) as transaction:
        session = transaction.session
        session.execute(
            insert(HarvestJob),
            [
                {
                    "harvest_id": harvest_id,
                    "run_number": number,
                    "channel_id": 1,
                    "collection": "x",
                    "status": "DONE",
                    "template_name": "x",
                    "template_version": 1,
                    "profile": {},
                    "seeds": "",
                    "created": 0,
                }
                for number in range(2_000)
            ],
        )
        session.execute(
            insert(DomainHistory),
            [
                {
                    "job_id": number + 1,
                    "harvest_id": harvest_id,
                    "domain_id": 1,
                    "configuration_id": one,
                    "objects": number,
                    "bytes": 0,
                    "stop_reason": StopReason.UNFINISHED,
                    "ended": 0,
                }
                for number in range(2_000)
            ],
        )
    with world.database.reading(COMMAND_LINE) as reading:
        assert best_harvests(reading.session, [one, 99])[one].objects == 1_999
