"""Why a URL is in or out, and which values hold for it."""

from __future__ import annotations

from dataclasses import asdict

from archive.settings import FrontierSettings
from frontier.definition.job import PolitenessOverrides, Profile
from frontier.explanation import ScopeExplainer, held_values

PROFILE = Profile(
    rules=("REJECT MatchesRegex .*/print/.*", "ACCEPT OnDomains example.com"),
    sheets=("example.org hops=none robots=ignore", "regex:.*\\.pdf robots=obey"),
    politeness=PolitenessOverrides(max_retries=1),
)


def test_each_step_tells_its_own_decision() -> None:
    found = ScopeExplainer(PROFILE, ["http://www.example.org/"]).explain("HTTP://www.example.org/print/x")
    assert (found.decision, found.reason, found.rule) == (
        "reject", "regex", "rule 1: REJECT MatchesRegex .*/print/.*",
    )  # fmt: skip
    assert (found.canonical, found.surt) == ("http://www.example.org/print/x", "org,example)/print/x")
    assert found.compared == "http org,example,www)/print/x"
    decisions = {step.name: step.decision for step in found.steps}
    assert decisions["SurtPrefixed"] == "accept"
    assert decisions["Reject"] == "reject"
    assert decisions["rule 1: REJECT MatchesRegex .*/print/.*"] == "reject"
    assert decisions["rule 2: ACCEPT OnDomains example.com"] == "pass"
    assert [(each.key, each.value) for each in found.sheet_values] == [("robots", "ignore"), ("hops", "none")]


def test_a_seed_is_known_and_the_hop_path_counts() -> None:
    explainer = ScopeExplainer(PROFILE, ["http://example.org/"])
    assert explainer.explain("http://example.org/").is_seed
    assert explainer.explain("http://example.org/").rule == "seed"
    assert explainer.explain("http://example.net/a.png", hop_path="LE").rule == "embed"
    assert explainer.explain("http://example.net/a.png").decision == "reject"


def test_what_is_no_url_is_explained() -> None:
    found = ScopeExplainer(PROFILE).explain("mailto:x@example.org")
    assert (found.decision, found.reason, found.canonical) == ("reject", "scheme", "")
    assert [step.name for step in found.steps] == ["Canonical"]
    assert asdict(found)["steps"][0]["decision"] == "reject"


def test_each_value_names_its_source() -> None:
    found = {each.key: each for each in held_values(PROFILE, "http://example.org/a.pdf", FrontierSettings())}
    assert found["robots"].source == "sheet 2: regex:.*\\.pdf robots=obey"
    assert found["hops"].source == "sheet 1: example.org hops=none robots=ignore"
    assert (found["max_retries"].value, found["max_retries"].source) == (1, "profile politeness.max_retries")
    assert (found["min_delay_seconds"].value, found["min_delay_seconds"].source) == (
        3.0, "setting frontier.min_delay_seconds",
    )  # fmt: skip
    assert found["visitor"].source == "default of visitor"


def test_rules_that_wait_for_more_are_named() -> None:
    profile = Profile(rules=("REJECT ContentTypeMatchesRegex video/.*", "REJECT IpAddressSet 192.0.2.0/24"))
    found = ScopeExplainer(profile, ["http://example.org/"]).explain("http://example.org/x")
    assert (found.decision, found.awaits) == ("accept", ("addresses", "answer"))
    assert [step.needs for step in found.steps if not step.is_built_in] == ["answer", "addresses"]
