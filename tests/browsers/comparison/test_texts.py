"""The texts of a capture and a replay are compared by lines, then by words."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from browsers.comparison.texts import MAX_LINE_CHARACTERS, MAX_NAMED_LINES, TextComparison, compare_texts

ARTICLE = "The pond\n\nA heron stands in the reeds.\nIt waits for frogs.\n"


def test_white_space_and_the_order_of_lines_make_no_difference() -> None:
    moved = "  It waits\tfor frogs.\r\n\r\nThe  pond\n A heron stands in the reeds. "

    assert compare_texts(ARTICLE, moved) == TextComparison(1.0, (), (), False)
    assert compare_texts("", " \n ") == TextComparison(1.0, (), (), False)


def test_lines_that_only_one_text_has_are_named() -> None:
    found = compare_texts(ARTICLE, ARTICLE.replace("frogs", "fish") + "Comments\n")

    assert found.missing == ("It waits for frogs.",)
    assert found.added == ("It waits for fish.", "Comments")
    assert not found.only_digits
    assert 0.8 < found.similarity < 1


def test_a_line_that_stands_once_less_is_missing() -> None:
    found = compare_texts("more\nmore\nless", "more\nless")

    assert (found.missing, found.added) == (("more",), ())


@pytest.mark.parametrize(
    ("capture", "replay", "is_so"),
    [
        ("It is 9:59:07\nHello", "It is 10:00:12\nHello", True),
        ("999 readers", "1,024 readers", True),
        ("2026-11-26 at 9", "2025-01-01 at 17", True),
        ("999 readers", "1,024 writers", False),
        ("999 readers", "", False),
        ("a", "a", False),
    ],
)
def test_a_clock_and_a_counter_are_recognised(capture: str, replay: str, is_so: bool) -> None:
    assert compare_texts(capture, replay).only_digits is is_so


def test_texts_without_spaces_are_compared_by_characters() -> None:
    found = compare_texts("蛙を待つ鷺が池に立つ。", "蛙を待つ鷺が池に座る。")

    assert 0.6 < found.similarity < 1


def test_unlike_texts_have_no_similarity() -> None:
    assert compare_texts(ARTICLE, "Quite other words\n").similarity == 0
    assert compare_texts(ARTICLE, "").similarity == 0


def test_named_lines_are_bounded() -> None:
    found = compare_texts("".join(f"{line} {'x' * 900}\n" for line in range(90)), "")

    assert len(found.missing) == MAX_NAMED_LINES
    assert {len(line) for line in found.missing} == {MAX_LINE_CHARACTERS}


LARGE: dict[str, Callable[[int], str]] = {
    "one line of words": lambda seed: " ".join(f"w{number}" for number in range(seed, 2_400_000, 2)),
    "one word": lambda seed: "ab"[seed] * 10_000_000,
    "same word": lambda seed: ("a " * 500 + "\n") * 10_000 + str(seed),
    "no lines": lambda seed: "\n" * 10_000_000 + str(seed),
    "short lines": lambda seed: "".join(f"{number}\r" for number in range(seed, 2_600_000, 2)),
}
"""The worst inputs. Each of the texts has 10 MB, and hardly a line in common with the other."""
SLOW = ("short lines", "one line of words", "no lines")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in LARGE]
)
def test_texts_of_ten_megabytes_are_compared_in_bounded_memory(name: str) -> None:
    capture, replay = LARGE[name](0), LARGE[name](1)
    tracemalloc.start()
    try:
        found = compare_texts(capture, replay)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 150_000_000
    assert 0 <= found.similarity <= 1


def test_a_sample_of_large_texts_tells_how_similar_they_are() -> None:
    lines = [f"line {number} of a long list" for number in range(120_000)]
    without_a_fifth = [line for number, line in enumerate(lines) if number % 5]

    found = compare_texts("\n".join(lines), "\n".join(without_a_fifth))

    assert found.similarity == pytest.approx(0.89, abs=0.01)
    assert found.added == ()
