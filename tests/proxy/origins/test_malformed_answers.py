"""An origin whose answers are malformed gets its requests with pauses; others are not touched."""

from __future__ import annotations

import pytest

from proxy.origins.malformed_answers import ENTRIES, PAUSE_SECONDS, TOLERATED, MalformedAnswers


class Clock:
    """The test sets this clock."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def noted(malformed: MalformedAnswers, origin: str, times: int) -> None:
    for _ in range(times):
        malformed.note(origin)


def test_a_few_malformed_answers_have_no_consequence(clock: Clock) -> None:
    malformed = MalformedAnswers(clock)
    noted(malformed, "bad", TOLERATED)

    assert not malformed.rests("bad")
    assert malformed.turn("bad") == 0.0


def test_more_of_them_put_a_pause_between_any_two_requests(clock: Clock) -> None:
    malformed = MalformedAnswers(clock)
    noted(malformed, "bad", TOLERATED + 1)

    assert malformed.rests("bad")
    assert [malformed.turn("bad") for _ in range(4)] == [PAUSE_SECONDS * number for number in range(4)]
    clock.now += 10
    assert malformed.turn("bad") == 0.0
    assert malformed.turn("bad") == PAUSE_SECONDS


def test_other_origins_do_not_wait(clock: Clock) -> None:
    malformed = MalformedAnswers(clock)
    noted(malformed, "bad", 100)

    assert not malformed.rests("good")
    assert [malformed.turn("good") for _ in range(3)] == [0.0, 0.0, 0.0]


def test_an_origin_without_malformed_answers_for_a_minute_is_forgotten(clock: Clock) -> None:
    malformed = MalformedAnswers(clock)
    noted(malformed, "bad", 100)
    malformed.turn("bad")
    clock.now += 61

    assert malformed.turn("bad") == 0.0
    assert not malformed.rests("bad")


def test_the_number_of_known_origins_is_bounded(clock: Clock) -> None:
    malformed = MalformedAnswers(clock)
    for number in range(ENTRIES + 50):
        noted(malformed, f"host-{number}", TOLERATED + 1)

    assert len(malformed) == ENTRIES
    assert not malformed.rests("host-0")
    assert malformed.rests(f"host-{ENTRIES + 49}")
