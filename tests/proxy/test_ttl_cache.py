"""Facts are believed for a while, and not too many of them."""

from __future__ import annotations

from dataclasses import dataclass

from proxy.ttl_cache import TtlCache


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_fact_is_believed_until_its_time_is_over() -> None:
    clock = Clock()
    facts = TtlCache[str, int](10, 5, clock)
    facts.note("a", 1)

    clock.now = 9.9
    assert facts.get("a") == 1
    clock.now = 10
    assert facts.get("a") is None
    assert len(facts) == 0


def test_a_fact_noted_again_is_young_again_and_a_changed_one_is_not() -> None:
    clock = Clock()
    facts = TtlCache[str, int](10, 5, clock)
    facts.note("again", 1)
    facts.note("changed", 1)
    clock.now = 5
    facts.note("again", 2)
    facts.change("changed", 2)
    facts.change("unknown", 2)
    assert (facts.get("again"), facts.get("changed"), facts.get("unknown")) == (2, 2, None)

    clock.now = 12
    assert (facts.get("again"), facts.get("changed")) == (2, None)


def test_when_full_the_oldest_goes() -> None:
    facts = TtlCache[int, int](10, 3)
    for number in range(3):
        facts.note(number, number)
    facts.note(0, 0)
    facts.note(3, 3)

    assert [facts.get(number) for number in range(4)] == [0, None, 2, 3]
    facts.forget(2)
    facts.forget(2)
    assert len(facts) == 2
