"""The rate of a domain's configuration becomes the least pause between two visits to its hosts."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select
from support.admin.harvesters import Admin, Wanted

from admin.harvester.harvester import _with_rates
from admin.harvests.dispatch.queue import claimed
from admin.models.domain_tables import Configuration, Domain
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load
from frontier.definition.profile import make_profile


@pytest.mark.parametrize(
    ("shortest", "given", "expected"),
    [
        (None, {}, {"slow.example": 30.0}),
        (0, {}, {"slow.example": 30.0, "usual.example": 0.6}),
        (60, {}, {}),
        (None, {"slow.example": 120.0, "www.other.example": 5.0}, {"slow.example": 120.0, "www.other.example": 5.0}),
        (None, {"slow.example": 20.0}, {"slow.example": 30.0}),
    ],
)
def test_a_rate_holds_where_the_politeness_of_the_template_allows_more(
    home: Path, shortest: float | None, given: dict[str, float], expected: dict[str, float]
) -> None:
    admin = Admin(load({"home": str(home)}, environment={}))
    rates = {"slow.example": 2, "usual.example": 100, "any.example": 1_000_000}
    politeness = {} if shortest is None else {"min_delay_seconds": shortest}
    profile = {"politeness": politeness, "least_delays": given}
    job = admin.job([Wanted(name) for name in rates], ["http://slow.example/"], profile=profile)
    with admin.database.transaction(COMMAND_LINE) as transaction:
        for row, name in transaction.session.execute(select(Configuration, Domain.name).join(Configuration.domain)):
            row.max_rate = rates[name]
        transaction.session.flush()
        found = claimed(transaction, job)
    admin.database.close()
    delays = _with_rates(found.profile, found, admin.settings).get("least_delays", {})
    assert {name: seconds for name, seconds in delays.items() if seconds > 0.001} == pytest.approx(expected)
    made = make_profile({"least_delays": delays}, "the test")
    for name, seconds in expected.items():
        assert made.least_delay(f"www.{name}:8080") == pytest.approx(seconds)
        assert made.least_delay(name) == pytest.approx(seconds)
        assert made.least_delay(f"not{name}") == 0
