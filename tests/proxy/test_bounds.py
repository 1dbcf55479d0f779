"""proxy/bounds.py: what an exchange's client can count on, and what it leaves behind when it goes."""

from __future__ import annotations

import pytest

from archive.sections import ProxySettings
from proxy.bounds import Bounds


def bounds(**settings: float) -> Bounds:
    given = {"connect_seconds": 10, "total_seconds": 100, "orphan_seconds": 20, **settings}
    return Bounds(ProxySettings.model_validate(given), 1000.0)


def test_a_step_that_takes_too_long_is_up_and_the_exchange_is_not_over() -> None:
    found = bounds()
    assert [found.is_up(now) for now in (1009.9, 1010)] == [False, True]
    found.wait(1009, 60)
    found.wait_longer(5)
    assert [found.is_up(now) for now in (1073.9, 1074)] == [False, True]
    assert not found.is_over(1074)


def test_however_often_a_step_begins_anew_the_whole_ends() -> None:
    found = bounds()
    found.wait(1099, 60)
    assert [(found.is_up(now), found.is_over(now)) for now in (1099.9, 1100)] == [(False, False), (True, True)]


def test_an_orphan_gets_its_own_time_and_never_more_than_it_had() -> None:
    found = bounds()
    found.wait(1000, 1000)
    found.orphaned(1050, 0)
    assert [found.is_over(now) for now in (1069.9, 1070)] == [False, True]
    late = bounds()
    late.orphaned(1095, 0)
    assert late.is_over(1100)


@pytest.mark.parametrize(
    ("limit", "orphan_bytes", "longest"), [(0, 0, 0), (0, 50, 550), (1000, 0, 1000), (1000, 50, 550), (510, 50, 510)]
)
def test_an_orphan_may_grow_by_so_much(limit: int, orphan_bytes: int, longest: int) -> None:
    found = bounds(max_body_bytes=limit, orphan_bytes=orphan_bytes)
    found.orphaned(1000, 500)
    assert found.longest == longest
