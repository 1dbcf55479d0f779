"""tests/support/each_value.py: one test for many values."""

from __future__ import annotations

import pytest
from support.each_value import each_value


def test_a_failure_names_its_values_and_all_values_are_tried() -> None:
    tried: list[int] = []

    @each_value(("number", "name"), [(1, "one"), (2, "two"), (3, "three")])
    def look(number: int, name: str) -> None:
        tried.append(number)
        assert name != "three"

    with pytest.raises(AssertionError) as caught:
        look()
    assert (tried, caught.value.__notes__) == ([1, 2, 3], ["with 3, 'three'"])


def test_a_test_that_would_test_nothing_is_refused() -> None:
    def look(number: int) -> None:
        raise AssertionError(number)

    async def later(number: int) -> None:
        raise AssertionError(number)

    with pytest.raises(ValueError, match="no values"):
        each_value("number", [])(look)
    with pytest.raises(TypeError, match="nobody would wait for"):
        each_value("number", [1])(later)  # type: ignore[arg-type]
