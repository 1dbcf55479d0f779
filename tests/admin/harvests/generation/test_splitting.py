"""The stages of splitting, rows N15 to N24, each with its boundary."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.each_value import each_value

from admin.harvests.generation.expectations import BudgetLimits
from admin.harvests.generation.splitting import ConfigurationCandidate, OpenJob, added, opened, order, refusal
from archive.settings.generation import GenerationSettings

SETTINGS = GenerationSettings()
NONE = BudgetLimits()


def candidate(name: str = "new.org", expected: int = 10, **values: object) -> ConfigurationCandidate:
    one = ConfigurationCandidate(1, 1, name, "default", "plain", "", NONE, expected, "")
    return replace(one, **values)  # type: ignore[arg-type]


def job_of(
    *candidates: ConfigurationCandidate, harvest: BudgetLimits = NONE, settings: GenerationSettings = SETTINGS
) -> OpenJob:
    domains = {one.domain_name for one in candidates}
    job = opened(domains, candidates[0], harvest, settings)
    for one in candidates[1:]:
        job = added(job, one)
    return job


def test_stage_1_a_domain_is_in_a_job_once() -> None:
    job = job_of(candidate("a.org"))
    assert refusal(job, candidate("a.org", configuration_name="other"), SETTINGS) == (
        "the job has a configuration of this domain"
    )
    assert refusal(job, candidate("b.org"), SETTINGS) is None


def test_stage_2_a_job_has_at_most_its_number_of_configurations() -> None:
    job = replace(job_of(candidate("a.org")), count=9_999)
    assert refusal(job, candidate(), SETTINGS) is None
    assert refusal(replace(job, count=10_000), candidate(), SETTINGS) == "the job has 10000 configurations"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"template": "chromium"}, "the template is not plain"),
        ({"attributes": '{"hops": 3}'}, "the attributes differ"),
        ({}, None),
    ],
)
def test_stage_3_a_job_has_one_template_and_one_set_of_attributes(values: dict[str, str], reason: str | None) -> None:
    assert refusal(job_of(candidate("a.org")), candidate(**values), SETTINGS) == reason


@each_value(
    ("harvest", "first", "other", "fits"),
    [
        # The harvest sets the limit: the configuration's may not be smaller.
        (100, 100, 100, True),
        (100, 100, 101, True),
        (100, 100, 99, False),
        (100, 200, -1, True),
        (100, -1, 99, False),
        (100, -1, 100, True),
        # The configuration sets the limit: the others must have the same.
        (100, 50, 50, True),
        (100, 50, 51, False),
        (100, 50, 49, False),
        (100, 50, -1, False),
        (-1, 50, 50, True),
        (-1, 50, 60, False),
        (-1, 50, -1, False),
        # Nothing is limited.
        (-1, -1, -1, True),
        (-1, -1, 50, False),
        (0, 0, 0, True),
        (0, 5, 0, True),
        (5, 0, 5, False),
    ],
)
@each_value("by_objects", [False, True])
def test_stage_4_limits_go_together(harvest: int, first: int, other: int, fits: bool, by_objects: bool) -> None:
    settings = GenerationSettings(split_by_object_limit=by_objects)
    limits = (lambda value: BudgetLimits(objects=value)) if by_objects else (lambda value: BudgetLimits(bytes=value))
    job = job_of(candidate("a.org", limits=limits(first)), harvest=limits(harvest), settings=settings)
    assert (refusal(job, candidate(limits=limits(other)), settings) is None) == fits


def test_stage_4_does_not_look_at_the_other_kind_of_limit() -> None:
    job = job_of(candidate("a.org", limits=BudgetLimits(objects=5)))
    assert refusal(job, candidate(limits=BudgetLimits(objects=7)), SETTINGS) is None


@pytest.mark.parametrize(
    ("total", "expected", "fits"), [(7_999_990, 10, True), (7_999_990, 11, False), (0, 9_000_000, True)]
)
def test_stage_5_a_job_has_at_most_its_number_of_expected_objects(total: int, expected: int, fits: bool) -> None:
    job = replace(job_of(candidate("a.org")), total=total, smallest=expected, largest=expected)
    assert (refusal(job, candidate(expected=expected), SETTINGS) is None) == fits


@pytest.mark.parametrize(
    ("first", "expected", "fits"),
    [
        (100, 10_000, True),
        (100, 10_001, False),
        (10_000, 100, True),
        (10_001, 100, False),
        (0, 100, True),
        (0, 2_001, False),
    ],
)
def test_stage_6_expectations_differ_at_most_by_a_factor(first: int, expected: int, fits: bool) -> None:
    assert (refusal(job_of(candidate("a.org", first)), candidate(expected=expected), SETTINGS) is None) == fits


def test_stage_6_does_not_ask_what_lies_within_the_range_of_the_job() -> None:
    tight = GenerationSettings(relative_difference=1, absolute_difference=0)
    job = replace(job_of(candidate("a.org")), smallest=10, largest=100_000)
    assert refusal(job, candidate(expected=50_000), tight) is None
    assert refusal(job, candidate(expected=9), tight) == "expectations would range from 9 to 100000"


@pytest.mark.parametrize(("first", "expected", "fits"), [(10, 2_010, True), (10, 2_011, False), (0, 2_000, True)])
def test_stage_7_small_differences_do_not_count(first: int, expected: int, fits: bool) -> None:
    assert (refusal(job_of(candidate("a.org", first)), candidate(expected=expected), SETTINGS) is None) == fits


def test_what_is_too_large_for_any_job_may_begin_one() -> None:
    job = job_of(candidate("huge.org", 10**9))
    assert (job.total, job.count) == (10**9, 1)
    assert refusal(job, candidate(expected=1), SETTINGS) is not None


def test_the_order_is_template_attributes_limit_descending_and_expectation_descending() -> None:
    wanted = [
        candidate("f.org", 9, template="a", limits=NONE),
        candidate("e.org", 1, template="a", limits=NONE),
        candidate("d.org", 5, template="a", limits=BudgetLimits(bytes=100)),
        candidate("c.org", 5, template="a", limits=BudgetLimits(bytes=50)),
        candidate("d.org", 5, template="a", limits=BudgetLimits(bytes=50)),
        candidate("d.org", 5, template="a", limits=BudgetLimits(bytes=50), configuration_name="other"),
        candidate("a.org", 99, template="a", attributes='{"hops": 3}', limits=NONE),
        candidate("a.org", 1, template="b", limits=NONE),
        candidate("a.org", 1, template="b", limits=BudgetLimits(0, 0)),
    ]
    assert sorted(set(wanted), key=lambda one: order(one, SETTINGS)) == wanted
