"""Errors of scripts at the capture against those in replay."""

from __future__ import annotations

from typing import Any

from browsers.comparison.errors import NewError, new_errors


def error(text: str, count: int = 1, **more: str) -> dict[str, Any]:
    return {"text": text, "count": count, **more}


def test_an_error_that_the_capture_had_is_not_new() -> None:
    before = [error("x is not defined"), error("status 404 of /a.json?t=17")]
    after = [error("x is not defined", 9), error("status 500 of /a.json?t=18")]
    assert new_errors(before, [after]) == []


def test_new_errors_have_text_place_and_number() -> None:
    after = [error("rare"), error("y is not defined", 2, at="http://a.test/y.js:3"), error("y is not defined", 5)]
    assert new_errors([], [after]) == [
        NewError("y is not defined", 7, "http://a.test/y.js:3"),
        NewError("rare", 1),
    ]


def test_an_error_of_one_visit_alone_is_chance() -> None:
    assert new_errors([], [[error("now and then"), error("always 1")], [error("always 2")]]) == [
        NewError("always 1", 1)
    ]
    assert new_errors([], []) == []
