"""What a job asked for again may change."""

from __future__ import annotations

import pytest

from frontier.definition.job import Job, JobError, Limits, PolitenessOverrides, Profile
from frontier.definition.resume import resumed

STORED = Job.of("j", "c", ["http://example.org/"], Profile(limits=Limits(pages=10, bytes=100)))


def asked(**changes: object) -> Job:
    profile = STORED.profile.model_copy(update=changes)
    return STORED.model_copy(update={"profile": profile, "created": 1})


def test_the_same_job_goes_on_as_old_as_it_was() -> None:
    assert resumed(STORED, asked()) == STORED


@pytest.mark.parametrize("limits", [Limits(pages=11, bytes=100), Limits(pages=10), Limits()])
def test_limits_may_be_raised(limits: Limits) -> None:
    assert resumed(STORED, asked(limits=limits)).profile.limits == limits


def test_politeness_may_change() -> None:
    overrides = PolitenessOverrides(min_delay_seconds=10)
    assert resumed(STORED, asked(politeness=overrides)).profile.politeness == overrides


def test_other_seeds_may_be_asked_for() -> None:
    other = Job.of("j", "c", ["http://example.com/"], STORED.profile)
    assert resumed(STORED, other).seeds == other.seeds


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"limits": Limits(pages=9, bytes=100)}, "limits.pages = 10, which can be raised but not lowered to 9"),
        ({"limits": Limits(pages=10, bytes=100, seconds=5)}, "limits.seconds = None"),
        ({"scope": "any"}, "profile scope = 'host', not 'any'"),
        ({"exclude": ("x",)}, "profile exclude = (), not ('x',)"),
    ],
)
def test_any_other_change_is_named(changes: dict[str, object], said: str) -> None:
    with pytest.raises(JobError) as caught:
        resumed(STORED, asked(**changes))
    assert said in str(caught.value)
    assert "another job name" in str(caught.value)


def test_another_collection_is_named() -> None:
    with pytest.raises(JobError, match="collection = 'c', not 'd'"):
        resumed(STORED, STORED.model_copy(update={"collection": "d"}))
