"""Jobs are filled from the stream; limits of memory hold whatever the seed lists are."""

from __future__ import annotations

import re

import pytest
from support.admin.harvest_world import World, settings_with
from support.each_value import each_value

from admin.harvests.generation import jobs as jobs_module
from admin.harvests.generation.profiles import trap_of_domain
from admin.models.job_tables import JobStatus


def test_the_configuration_after_a_full_job_opens_the_next(sqlite_world: World) -> None:
    for number in range(5):
        sqlite_world.domain(f"d{number}.org")
    harvest_id = sqlite_world.snapshot()
    sqlite_world.generate(harvest_id, settings_with(job_configurations=2))
    assert [len(names) for names in sqlite_world.domains_by_job(harvest_id)] == [2, 2, 1]
    second = sqlite_world.jobs(harvest_id)[1]
    assert sqlite_world.entries(second.id)[0].reason.startswith("begins the job: the job has 2 configurations; ")


def test_a_domain_that_is_larger_than_any_job_has_a_job_of_its_own(sqlite_world: World) -> None:
    world = sqlite_world
    other = world.harvest("other")
    for name in ("a.org", "b.org"):
        world.domain(name)
        world.history(name, other, objects=50, size=50)
    world.domain("huge.org")
    world.history("huge.org", other, objects=20_000_000, size=20_000_000)
    harvest_id = world.snapshot()
    world.generate(harvest_id, settings_with(domain_objects=30_000_000))
    assert world.domains_by_job(harvest_id) == [["huge.org"], ["a.org", "b.org"]]


def test_seeds_that_are_too_long_for_one_job_are_split(sqlite_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world = sqlite_world
    monkeypatch.setattr(jobs_module, "_JOB_SEED_CHARACTERS", 1_500)
    for number in range(3):
        seeds = "\n".join(f"http://d{number}.org/{page}" for page in range(40))
        world.domain(f"d{number}.org", seeds=seeds)
    harvest_id = world.snapshot()
    world.generate(harvest_id)
    assert [len(names) for names in world.domains_by_job(harvest_id)] == [2, 1]
    second = world.jobs(harvest_id)[1]
    assert "characters of seeds, more than 1500" in world.entries(second.id)[0].reason


def test_long_seed_lists_are_read_few_at_a_time(sqlite_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world = sqlite_world
    monkeypatch.setattr(jobs_module, "PAGE_CHARACTERS", 100)
    read: list[int] = []
    original = jobs_module._seeds

    def counted(session: object, lists: dict[int, list[int]]) -> object:
        read.append(len(lists))
        return original(session, lists)  # type: ignore[arg-type]

    monkeypatch.setattr(jobs_module, "_seeds", counted)
    lengths = [10, 10, 500, 10, 60, 60]
    for number, length in enumerate(lengths):
        world.domain(f"d{number}.org", seeds=f"http://d{number}.org/{'x' * length}")
    harvest_id = world.snapshot()
    world.generate(harvest_id)
    assert world.jobs(harvest_id)[0].configurations_count == 6
    assert sum(read) == 6
    assert max(read) <= 3
    assert len(read) >= 4


def test_a_harvest_without_configurations_makes_no_job(sqlite_world: World) -> None:
    harvest_id = sqlite_world.harvest()
    run = sqlite_world.generate(harvest_id)
    assert run is not None
    assert (run.jobs, run.configurations) == (0, 0)


def test_jobs_are_stored_in_parts_and_none_is_left_a_draft(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from admin.harvests.generation import run

    monkeypatch.setattr(run, "CONFIGURATIONS_STORED_TOGETHER", 3)
    for number in range(10):
        world.domain(f"d{number}.org")
    harvest_id = world.snapshot()
    world.generate(harvest_id, settings_with(job_configurations=2))
    assert [job.status for job in world.jobs(harvest_id)] == [JobStatus.NEW] * 5


@each_value(
    ("expression", "url", "is_found"),
    [
        ("calendar", "http://www.a.org/calendar/1", True),
        ("calendar", "http://a.org/calendar", True),
        ("calendar", "http://a.org:8080/x?calendar", True),
        ("calendar", "http://user@a.org/calendar", True),
        ("calendar", "http://b.org/calendar", False),
        ("calendar", "http://notaa.org/calendar", False),
        ("calendar", "http://b.org/?u=http://a.org/calendar", False),
        ("calendar", "http://a.org.evil.example/calendar", False),
        ("^http://a\\.org/x", "http://a.org/x", True),
        ("^/x", "http://a.org/x", False),
        ("x$", "http://a.org/x", True),
        ("(a|b)\\1", "http://a.org/bb", True),
        ("(?i)CAL", "http://b.org/cal", True),
    ],
)
def test_the_traps_of_a_domain_hold_for_its_urls_alone(expression: str, url: str, is_found: bool) -> None:
    assert bool(re.search(trap_of_domain(expression, "a.org"), url)) == is_found
