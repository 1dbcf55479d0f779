"""The rows N25 to N33, and all vectors of section 1.5, in both readings."""

from __future__ import annotations

import pytest

from admin.harvests.generation.expectations import (
    BudgetLimits,
    PastHarvest,
    both,
    bytes_per_object,
    expected,
    java_divided,
)
from archive.settings.generation import GenerationSettings

SEED = GenerationSettings()
TODAY = GenerationSettings(bytes_per_object="netarchivesuite")
GIGABYTE = BudgetLimits(bytes=1_000_000_000)
NONE = BudgetLimits()


def past(objects: int, average: int, *, complete: bool = True, ended: int = 0) -> PastHarvest:
    return PastHarvest(objects, objects * average, complete, ended)


@pytest.mark.parametrize(
    ("best", "configuration", "harvest", "seed", "today"),
    [
        pytest.param(past(1000, 50_000), NONE, GIGABYTE, 2900, 2900, id="best complete"),
        pytest.param(past(1000, 50_000, complete=False), NONE, GIGABYTE, 10500, 10500, id="best not complete"),
        pytest.param(past(40, 10_000), NONE, GIGABYTE, 2667, 2667, id="40 small objects"),
        pytest.param(past(40, 100_000), NONE, GIGABYTE, 2667, 1036, id="40 large objects"),
        pytest.param(past(60, 10_000), NONE, GIGABYTE, 2685, 10054, id="60 small objects"),
        pytest.param(past(30_000, 50_000), NONE, GIGABYTE, 20_000, 20_000, id="history above the limit"),
        pytest.param(None, NONE, GIGABYTE, 5000, 5000, id="never harvested"),
        pytest.param(None, NONE, BudgetLimits(bytes=10_000_000), 263, 263, id="never harvested, small limit"),
        pytest.param(None, BudgetLimits(objects=1000), GIGABYTE, 1000, 1000, id="never harvested, object limit"),
        pytest.param(past(1000, 50_000), NONE, NONE, 1400, 1400, id="no limits anywhere"),
        pytest.param(
            past(1000, 50_000), BudgetLimits(objects=1500), GIGABYTE, 1500, 1500, id="object limit of its own"
        ),
        pytest.param(past(1000, 50_000), BudgetLimits(objects=1500), NONE, 1050, 1050, id="the only limit is its own"),
        pytest.param(None, BudgetLimits(bytes=10_000_000), GIGABYTE, 263, 263, id="its own limit always counts"),
        pytest.param(None, BudgetLimits(bytes=0), GIGABYTE, 0, 0, id="zero bytes"),
        pytest.param(past(1000, 50_000), BudgetLimits(objects=0), NONE, 0, 0, id="zero objects"),
        pytest.param(past(0, 0), NONE, GIGABYTE, 2631, 2631, id="complete and empty"),
        pytest.param(past(0, 0, complete=False), NONE, GIGABYTE, 13157, 13157, id="incomplete and empty"),
    ],
)
def test_the_expected_number_of_objects_in_both_readings(
    best: PastHarvest | None, configuration: BudgetLimits, harvest: BudgetLimits, seed: int, today: int
) -> None:
    assert expected(best, configuration, harvest, SEED).objects == seed
    assert expected(best, configuration, harvest, TODAY).objects == today


@pytest.mark.parametrize(
    ("objects", "average", "seed", "today"),
    [
        (49, 50_000, 38_000, 50_000),
        (50, 50_000, 50_000, 50_000),
        (51, 50_000, 50_000, 50_000),
        (49, 10_000, 38_000, 38_000),
        (50, 10_000, 38_000, 10_000),
        (51, 10_000, 38_000, 10_000),
        (1000, 0, 38_000, 38_000),
    ],
)
def test_the_bytes_of_an_object_are_believed_from_fifty_objects_on(
    objects: int, average: int, seed: int, today: int
) -> None:
    assert bytes_per_object(past(objects, average), SEED) == seed
    assert bytes_per_object(past(objects, average), TODAY) == today


def test_an_object_has_at_least_one_byte() -> None:
    assert bytes_per_object(PastHarvest(1000, 10, True), TODAY) == 1


def test_a_gigabyte_of_average_objects_is_26315() -> None:
    assert expected(past(10**6, 38_000), NONE, GIGABYTE, SEED).objects == 26_315


@pytest.mark.parametrize(("number", "divisor", "result"), [(7, 2, 3), (-7, 2, -3), (-10_000, 10, -1000), (0, 3, 0)])
def test_division_cuts_towards_zero(number: int, divisor: int, result: int) -> None:
    assert java_divided(number, divisor) == result


@pytest.mark.parametrize(
    ("harvest", "configuration", "result"),
    [
        (NONE, NONE, NONE),
        (GIGABYTE, NONE, GIGABYTE),
        (GIGABYTE, BudgetLimits(5, 7), BudgetLimits(5, 7)),
        (BudgetLimits(3, 10), BudgetLimits(5, 7), BudgetLimits(3, 7)),
        (NONE, BudgetLimits(bytes=0), BudgetLimits(0, 0)),
        (BudgetLimits(objects=0), GIGABYTE, BudgetLimits(0, 0)),
    ],
)
def test_the_tighter_limits_hold_and_zero_of_one_is_zero_of_both(
    harvest: BudgetLimits, configuration: BudgetLimits, result: BudgetLimits
) -> None:
    assert both(harvest, configuration) == result


def test_the_reason_says_what_was_known() -> None:
    assert expected(past(1000, 50_000), NONE, GIGABYTE, SEED).why == (
        "1000 objects when complete, 50000 bytes each, at most 20000"
    )
    assert expected(None, NONE, GIGABYTE, SEED).why == "no earlier harvest, at most 26315"


def test_a_guess_that_is_trusted_more_than_history_is_warned_of() -> None:
    assert SEED.warnings() == ()
    (warning,) = GenerationSettings(error_factor_guess=10).warnings()
    assert "generation.error_factor_guess = 10 is not smaller than generation.error_factor_previous = 10" in warning
