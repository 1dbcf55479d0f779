"""admin/harvests/templates/profile_values.py: a job's own copy of a template's values."""

from __future__ import annotations

from typing import Any

import pytest

from admin.harvests.templates.profile_values import JobLimits, profile_of
from admin.harvests.templates.stock import DEFAULT_TEMPLATE, stock_text
from admin.models.errors import InvalidInput
from frontier.definition.job import JobError, Profile

TEXT = stock_text(DEFAULT_TEMPLATE).replace("  bytes: null", "  bytes: 500").replace("headers: {}", "headers: {X-A: b}")


def test_without_anything_set_the_job_has_the_values_of_the_template() -> None:
    values = profile_of(TEXT)
    assert values["limits"]["bytes"] == 500
    assert (values["scope"], values["hops"], values["headers"]) == ("domain", 20, {"X-A": "b"})
    assert Profile.model_validate(values).model_dump(mode="json") == values


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (JobLimits(), {"urls": None, "bytes": 500, "seconds": None}),
        (JobLimits(objects=7, bytes=1000, seconds=60), {"urls": 7, "bytes": 1000, "seconds": 60}),
        (JobLimits(bytes=100), {"urls": None, "bytes": 100, "seconds": None}),
    ],
)
def test_a_limit_of_the_job_takes_the_place_of_the_template_s(limits: JobLimits, expected: dict[str, Any]) -> None:
    found = profile_of(TEXT, limits=limits)["limits"]
    assert {name: found[name] for name in expected} == expected


def test_traps_are_added_once_each_after_the_patterns_of_the_template() -> None:
    own = profile_of(TEXT)["exclude"]
    assert profile_of(TEXT, traps=["/trap/", own[0], "/trap/"])["exclude"] == [*own, "/trap/"]


def test_attributes_of_the_configuration_win_over_the_template() -> None:
    values = profile_of(TEXT, attributes={"hops": 3, "robots": "ignore", "politeness.per_host": 2})
    assert (values["hops"], values["robots"], values["politeness"]["per_host"]) == (3, "ignore", 2)


def test_a_group_of_attributes_changes_only_its_own_keys() -> None:
    values = profile_of(TEXT, attributes={"politeness": {"per_host": 3}})
    template = profile_of(TEXT)
    assert values["politeness"] == {**template["politeness"], "per_host": 3}


def test_one_job_s_values_do_not_change_those_of_the_next() -> None:
    profile_of(TEXT, traps=["/a/"], limits=JobLimits(objects=1), attributes={"headers": {"X-B": "c"}, "hops": 1})
    again = profile_of(TEXT)
    assert (again["limits"]["urls"], again["headers"], again["hops"]) == (None, {"X-A": "b"}, 20)
    assert "/a/" not in again["exclude"]


def test_what_makes_no_profile_is_named() -> None:
    with pytest.raises(JobError, match="the job's profile: hops = 'x' can't be used"):
        profile_of(TEXT, attributes={"hops": "x"})
    with pytest.raises(JobError, match=r"exclude\.2 = '\(' can't be used"):
        profile_of(TEXT, traps=["("])
    with pytest.raises(InvalidInput, match="the key hops is absent"):
        profile_of("scope: host\n")
