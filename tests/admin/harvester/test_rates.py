"""The rate of a domain's configuration becomes the least pause between two visits to its hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.admin.harvesters import Admin, Wanted

from admin.harvester.harvester import _with_rates
from admin.harvests.dispatch.queue import claimed
from admin.models.transaction import COMMAND_LINE
from archive.settings.generation import GenerationSettings
from archive.settings.load import load
from frontier.definition.edits import edited
from frontier.definition.profile import make_profile
from frontier.politeness import Politeness, delay_ms


@pytest.mark.parametrize(
    ("politeness", "given", "expected"),
    [
        ({}, {}, {"slow.example": 30.0, "usual.example": 0.6}),
        ({"min_delay_seconds": 60}, {}, {"slow.example": 30.0, "usual.example": 0.6}),
        (
            {},
            {"slow.example": 120.0, "www.other.example": 5.0},
            {"slow.example": 120.0, "usual.example": 0.6, "www.other.example": 5.0},
        ),
        ({}, {"slow.example": 20.0}, {"slow.example": 30.0, "usual.example": 0.6}),
    ],
)
def test_every_rate_becomes_a_least_delay_unless_the_template_has_a_longer_one(
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
    delays = _with_rates(found.profile, found).get("least_delays", {})
    assert {name: seconds for name, seconds in delays.items() if seconds > 0.001} == pytest.approx(expected)
    made = make_profile({"least_delays": delays}, "the test")
    for name, seconds in expected.items():
        assert made.least_delay(f"www.{name}:8080") == pytest.approx(seconds)
        assert made.least_delay(name) == pytest.approx(seconds)
        assert made.least_delay(f"not{name}") == 0


def test_of_a_rate_and_a_delay_of_the_template_for_one_host_the_longer_one_holds(home: Path) -> None:
    admin = Admin(load({"home": str(home)}, environment={}))
    given = {"example": 10.0, "www.slow.example": 0.5, "www.usual.example": 20.0}
    wanted = [Wanted("slow.example", max_rate=2), Wanted("usual.example", max_rate=100)]
    job = admin.job(wanted, ["http://slow.example/"], profile={"least_delays": given})
    with admin.database.transaction(COMMAND_LINE) as transaction:
        found = claimed(transaction, job)
    admin.database.close()
    made = make_profile({"least_delays": _with_rates(found.profile, found)["least_delays"]}, "the test")
    hosts = ("slow.example", "www.slow.example", "usual.example", "www.usual.example", "other.example")
    assert [made.least_delay(host) for host in hosts] == [30.0, 30.0, 10.0, 20.0, 10.0]


@pytest.mark.parametrize(
    ("politeness", "sheets", "edit"),
    [
        ({"min_delay_seconds": 0}, [], {}),
        ({"max_delay_seconds": 1}, [], {}),
        ({}, ["slow.example min_delay_seconds=0.1 delay_factor=0"], {}),
        ({}, [], {"politeness": {"min_delay_seconds": 0.1}}),
        ({}, [], {"sheets": ["slow.example fast"]}),
    ],
)
def test_a_rate_holds_whatever_the_profile_or_an_edit_of_the_running_job_allows(
    home: Path, politeness: dict[str, float], sheets: list[str], edit: dict[str, Any]
) -> None:
    admin = Admin(load({"home": str(home)}, environment={}))
    wanted = [Wanted("slow.example", max_rate=30)]
    job = admin.job(wanted, ["http://slow.example/"], profile={"politeness": politeness, "sheets": sheets})
    with admin.database.transaction(COMMAND_LINE) as transaction:
        found = claimed(transaction, job)
    admin.database.close()
    profile = edited(make_profile(_with_rates(found.profile, found), "the test"), edit)
    rules = Politeness.of(admin.settings.frontier, profile.politeness)
    rules = rules.with_values(profile.page_rules().values_for("http://www.slow.example/"))
    assert delay_ms(0, rules.with_least_delay(profile.least_delay("www.slow.example"))) >= 2_000


def test_a_job_of_the_largest_size_has_the_rates_of_all_its_domains_beside_the_delays_of_its_template() -> None:
    [most] = (each.le for each in GenerationSettings.model_fields["job_configurations"].metadata if hasattr(each, "le"))
    delays = {f"site{number}.example": 0.6 for number in range(2 * most)}
    assert make_profile({"least_delays": delays}, "the test").least_delay("www.site7.example") == 0.6
