"""admin/harvests/templates/comparison.py: differences by lines and by values."""

from __future__ import annotations

import random

from admin.harvests.templates.comparison import (
    MOST_ROWS,
    ComparedRow,
    RowChange,
    side_by_side,
    unified_difference,
    value_differences,
)


def test_lines_that_differ_are_shown_with_their_surroundings() -> None:
    old = "a: 1\nb: 2\nc: 3\n"
    shown = unified_difference(old, "a: 1\nb: 5\nc: 3\n", "t/1", "t/2")
    assert shown == "--- t/1\n+++ t/2\n@@ -1,3 +1,3 @@\n a: 1\n-b: 2\n+b: 5\n c: 3\n"
    assert unified_difference(old, old, "t/1", "t/2") == ""


def test_a_missing_line_end_and_another_line_end_are_told() -> None:
    assert "-a: 1\n+a: 1 (no line end)\n" in unified_difference("a: 1\n", "a: 1", "1", "2")
    assert unified_difference("a: 1\r\n", "a: 1\n", "1", "2") == "\n"


def test_values_that_differ_are_named_by_their_dotted_keys() -> None:
    old = "limits: {pages: 1, bytes: 2}\nexclude: [a, b]\nhops: 1\nscope: host\n"
    new = "scope: 'host'\nlimits:\n  pages: 3\n  bytes: 2\nexclude:\n  - b\n  - c\nrobots: obey\n"
    found = {each.key: each for each in value_differences(old, new)}
    assert sorted(found) == ["exclude", "hops", "limits.pages", "robots"]
    assert (found["exclude"].added, found["exclude"].removed) == (["c"], ["a"])
    assert (found["limits.pages"].old, found["limits.pages"].new) == (1, 3)
    assert (found["hops"].was_set, found["hops"].is_set) == (True, False)
    assert (found["robots"].was_set, found["robots"].is_set) == (False, True)


def test_comments_and_style_make_no_difference_of_values() -> None:
    assert value_differences("a: [x, 1]  # c\n", "# d\na:\n  - 'x'\n  - 1\n") == []


def test_a_number_and_a_text_and_a_truth_differ() -> None:
    found = value_differences("a: 1\nb: 1\n", "a: '1'\nb: true\n")
    assert [each.key for each in found] == ["a", "b"]


def test_long_texts_of_alternating_lines_are_compared_in_time() -> None:
    old = "".join(f"# same {n}\n# old {n}\n" for n in range(9_000))
    new = "".join(f"# same {n}\n# new {n}\n" for n in range(9_000))
    shown = unified_difference(old, new, "1", "2").splitlines()
    assert shown[2] == "@@ -1,18000 +1,18000 @@"
    assert sum(line.startswith("-") for line in shown) == 18_000
    assert [line for line in shown if line.startswith(" ")] == [" # same 0"]


def test_both_texts_stand_side_by_side_with_their_line_numbers() -> None:
    old = "".join(f"line {number}\n" for number in range(1, 21))
    new = old.replace("line 10\n", "other 10\nmore\n").replace("line 20\n", "")
    rows = side_by_side(old, new)
    assert rows[0] == ComparedRow(change=RowChange.SKIPPED, new="6 equal lines")
    assert [(row.change, row.old_number, row.new_number) for row in rows[1:]] == [
        *((RowChange.EQUAL, number, number) for number in (7, 8, 9)),
        (RowChange.CHANGED, 10, 10),
        (RowChange.ADDED, None, 11),
        *((RowChange.EQUAL, number, number + 1) for number in (11, 12, 13)),
        (RowChange.SKIPPED, None, None),
        *((RowChange.EQUAL, number, number + 1) for number in (17, 18, 19)),
        (RowChange.REMOVED, 20, None),
    ]


def test_rows_have_every_line_that_is_not_skipped() -> None:
    chance = random.Random(7)
    for _ in range(200):
        old, new = ([chance.choice("abcd") for _ in range(chance.randrange(30))] for _ in range(2))
        rows = side_by_side("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new))
        for lines, found in (
            (old, {row.old_number: row.old for row in rows if row.old_number}),
            (new, {row.new_number: row.new for row in rows if row.new_number}),
        ):
            assert all(lines[number - 1] == line for number, line in found.items())
        skipped = sum(int(row.new.split()[0]) for row in rows if row.change is RowChange.SKIPPED)
        assert sum(row.old_number is not None for row in rows) + skipped == len(old)
        assert sum(row.new_number is not None for row in rows) + skipped == len(new)


def test_long_texts_have_a_bounded_number_of_rows() -> None:
    old = "".join(f"{number}\n" for number in range(19_000))
    rows = side_by_side(old, "".join(f"x{number}\n" for number in range(19_000)))
    assert len(rows) <= MOST_ROWS + 1
