"""What the proxy's answers mean."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from browsers.proxying.outcomes import proxy_error, retry_after, worst_error
from browsers.visit import FleetUnavailable

NOW = datetime(2026, 11, 21, 9, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "header", "expected"),
    [
        (502, "-2 refused", (-2, "refused")),
        (502, "-6 dns", (-6, "dns")),
        (504, "-4 timeout", (-4, "timeout")),
        (403, "-5001 private", (-5001, "private")),
        (502, "-2", (-2, "refused")),
        (502, "nonsense", (-5, "nonsense")),
        (502, "", (-5, "unexpected")),
        (502, None, None),
        (200, "-2 refused", None),
    ],
)
def test_the_error_header_counts_only_on_answers_of_the_proxy(
    status: int, header: str | None, expected: tuple[int, str] | None
) -> None:
    headers = {} if header is None else {"ghostfleet-error": header}

    assert proxy_error(status, headers) == expected


def test_our_own_trouble_is_no_outcome_of_the_site() -> None:
    with pytest.raises(FleetUnavailable, match="disk-full") as caught:
        proxy_error(503, {"ghostfleet-error": "0 disk-full", "retry-after": "5"})

    assert caught.value.retry_after == 5
    assert not caught.value.may_be_the_page


def test_an_answer_that_could_not_be_kept_counts_as_a_try() -> None:
    with pytest.raises(FleetUnavailable) as caught:
        proxy_error(503, {"ghostfleet-error": "0 not-kept"})

    assert caught.value.may_be_the_page


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ({}, None),
        ({"-2": 1}, (-2, "refused")),
        ({"-2": 1, "-6": 3}, (-6, "dns")),
        ({"not-kept": 9, "-4": 1}, (-4, "timeout")),
        ({"404": 2}, None),
    ],
)
def test_the_most_frequent_failure_of_a_session_stands_for_it(
    errors: dict[str, int], expected: tuple[int, str] | None
) -> None:
    assert worst_error(errors) == expected


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("", None),
        ("120", 120),
        (" 7 ", 7),
        ("Sat, 21 Nov 2026 09:00:30 GMT", 30),
        ("Sat, 21 Nov 2020 09:00:30 GMT", 0),
        ("Sat, 21 Nov 2026 09:00:30 -0000", 30),
        ("soon", None),
        ("-5", None),
        ("NaN", None),
        ("1e9", None),
        ("9" * 400, 31 * 86400),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 31 * 86400),
        ("Mon, 01 Jan 99999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999", None),
    ],
)
def test_retry_after_is_a_bounded_number_of_seconds(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds
