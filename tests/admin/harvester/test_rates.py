"""The rate of a domain's configuration becomes the least pause between two visits to its hosts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.admin.harvesters import Admin, Wanted

from admin.harvester.harvester import _with_rates
from admin.harvests.dispatch.queue import claimed
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load
from frontier.definition.profile import make_profile


@pytest.mark.parametrize(
    ("politeness", "given", "expected"),
    [
        ({}, {}, {"slow.example": 30.0}),
        ({"min_delay_seconds": 0}, {}, {"slow.example": 30.0, "usual.example": 0.6}),
        ({"min_delay_seconds": 60}, {}, {}),
        ({"min_delay_seconds": 59, "per_host": 2}, {}, {"slow.example": 30.0}),
        ({}, {"slow.example": 120.0, "www.other.example": 5.0}, {"slow.example": 120.0, "www.other.example": 5.0}),
        ({}, {"slow.example": 20.0}, {"slow.example": 30.0}),
    ],
)
def test_a_rate_holds_where_the_politeness_of_the_template_allows_more(
    home: Path, politeness: dict[str, float], given: dict[str, float], expected: dict[str, float]
) -> None:
    admin = Admin(load({"home": str(home)}, environment={}))
    rates = {"slow.example": 2, "usual.example": 100, "any.example": 1_000_000}
    profile = {"politeness": politeness, "least_delays": given}
    wanted = [Wanted(name, max_rate=rate) for name, rate in rates.items()]
    job = admin.job(wanted, ["http://slow.example/"], profile=profile)
    with admin.database.transaction(COMMAND_LINE) as transaction:
        found = claimed(transaction, job)
    admin.database.close()
    delays = _with_rates(found.profile, found, admin.settings).get("least_delays", {})
    assert {name: seconds for name, seconds in delays.items() if seconds > 0.001} == pytest.approx(expected)
    made = make_profile({"least_delays": delays}, "the test")
    for name, seconds in expected.items():
        assert made.least_delay(f"www.{name}:8080") == pytest.approx(seconds)
        assert made.least_delay(name) == pytest.approx(seconds)
        assert made.least_delay(f"not{name}") == 0
