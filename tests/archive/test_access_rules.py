"""archive/access_rules.py: which rule decides, pywb's files, and files that can't be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from archive.access_rules import (
    Access,
    AccessControl,
    AccessRule,
    AccessRuleError,
    AccessRules,
    Period,
    load,
    parse_rule,
    period_of,
    rule_for,
)
from archive.dates import parse_date

OLD, NEW = parse_date("20200101"), parse_date("20261101")
NOW = parse_date("20261123")


@pytest.mark.parametrize(
    ("written", "url", "is_covered"),
    [
        ("https://example.org/news/", "http://www.example.org/News/today", True),
        ("https://example.org/news/", "https://example.org/newsletter", False),
        ("https://example.org/news/*", "https://example.org/news/a?b=1", True),
        ("example.org", "http://example.org/x", True),
        ("example.org", "http://sub.example.org/x", False),
        ("*.example.org", "http://sub.example.org/x", True),
        ("*.example.org", "http://example.org:8080/x", True),
        ("*.example.org", "http://example.organic/", False),
        ("*.example.org", "http://example-shop.org/", False),
        ("*.example.org", "http://example2.org/", False),
        ("*.example.org/*", "http://sub.example.org/x", True),
        ("*.example.org:80", "http://sub.example.org/x", True),
        ("*.example.org:8080", "http://example.org:8080/x", True),
        ("*.example.org:8080", "http://example.org:80801/x", False),
        ("https://example.org/news/", "urn:text:https://example.org/news/1", True),
        ("https://example.org/news/", "urn:pageinfo:https://example.org/news/1", True),
        ("https://example.org/news/", "urn:not-modified:https://example.org/news/1", True),
        ("https://example.org/news/", "screenshot:https://example.org/news/1", True),
        ("https://example.org/a/https://", "https://example.org/a/urn:text:https://example.org/", False),
    ],
)
def test_a_rule_covers_what_begins_so(written: str, url: str, is_covered: bool) -> None:
    rules = AccessRules([rule_for(written, Access.EXCLUDE)])
    assert rules.decide(url, OLD, NOW) is (Access.EXCLUDE if is_covered else Access.ALLOW)


@pytest.mark.parametrize("written", ["*.example.org/private/", "*.example.org/private*", "*.example.org?a=1"])
def test_a_domain_with_a_path_is_refused(written: str) -> None:
    with pytest.raises(AccessRuleError, match=r"no path; write \*\.example\.org, or the URL http://example\.org/"):
        rule_for(written, Access.EXCLUDE)


def test_an_exact_rule_is_for_one_url_and_wins_over_longer_and_shorter_ones() -> None:
    rules = AccessRules(
        [
            rule_for("https://example.org/", Access.BLOCK),
            rule_for("https://example.org/a", Access.EXCLUDE),
            rule_for("https://example.org/a", Access.ALLOW, is_exact=True),
        ]
    )
    said = {path: rules.decide(f"https://example.org{path}", OLD, NOW) for path in ("/", "/a", "/a/", "/a/b", "/ab")}
    assert said == {
        "/": Access.BLOCK, "/a": Access.ALLOW, "/a/": Access.ALLOW, "/a/b": Access.EXCLUDE, "/ab": Access.EXCLUDE,
    }  # fmt: skip


def test_a_rule_for_a_period_leaves_other_captures_to_the_next_rule() -> None:
    rules = AccessRules(
        [
            rule_for("example.org/a", Access.EXCLUDE, period=period_of(before="2021")),
            rule_for("example.org", Access.BLOCK, period=period_of(newer_days=90)),
        ]
    )
    assert rules.decide("http://example.org/a", OLD, NOW) is Access.EXCLUDE
    assert rules.decide("http://example.org/a", NEW, NOW) is Access.BLOCK
    assert rules.decide("http://example.org/a", NEW, NOW + 90 * 86_400_000_000) is Access.ALLOW


def test_the_embargo_holds_for_what_is_only_allowed() -> None:
    rules = AccessRules(
        [rule_for("example.org/open", Access.ALLOW_IGNORE_EMBARGO), rule_for("example.org/hidden", Access.BLOCK)],
        embargo=Period(newer=90 * 86_400_000_000),
    )
    assert rules.decide("http://example.org/", NEW, NOW) is Access.EXCLUDE
    assert rules.decide("http://example.org/", OLD, NOW) is Access.ALLOW
    assert rules.decide("http://example.org/open", NEW, NOW) is Access.ALLOW_IGNORE_EMBARGO
    assert rules.decide("http://example.org/hidden", NEW, NOW) is Access.BLOCK


def test_a_file_of_pywb_is_read(tmp_path: Path) -> None:
    (tmp_path / "list.aclj").write_text(
        'org,iana)/about### - {"access": "block"}\n'
        'org,iana)/_css/2013.1/fonts/opensans-semibold.ttf - {"access": "allow"}\n'
        'org,iana)/_css - {"access": "exclude"}\n'
        'com,example - {"access": "exclude", "user": "staff"}\n'
        'com,example - {"access": "block", "older": {"years": 1, "days": 3}, "url": "*.example.com"}\n'
        '* - {"access": "allow_ignore_embargo"}\n'
    )
    rules = load(tmp_path / "list.aclj")
    said = {
        path: str(rules.decide(f"http://www.iana.org{path}", OLD, NOW))
        for path in ("/about", "/about/x", "/_css/2013.1/a", "/_css/2013.1/fonts/OpenSans-Semibold.ttf")
    }
    assert list(said.values()) == ["block", "allow_ignore_embargo", "exclude", "allow"]
    assert rules.decide("http://sub.example.com/", OLD, NOW) is Access.BLOCK
    assert rules.decide("http://sub.example.com/", NEW, NOW) is Access.ALLOW_IGNORE_EMBARGO


def test_a_key_of_pywb_covers_the_letters_that_follow_and_a_domain_does_not(tmp_path: Path) -> None:
    (tmp_path / "list.aclj").write_text(
        'com,exa - {"access": "block", "url": "com,exa"}\n'
        'net,exa - {"access": "block"}\n'
        'org, - {"access": "block", "url": "org,"}\n'
        'test,exa - {"access": "exclude", "url": "exa.test"}\n'
        'localhost - {"access": "exclude", "url": "localhost"}\n'
    )
    rules = load(tmp_path / "list.aclj")
    hosts = ("example.com", "example.net", "example.org", "example.test", "sub.exa.test", "localhost2", "localhost")
    said = [str(rules.decide(f"http://{host}/", OLD, NOW)) for host in hosts]
    assert said == ["block", "block", "block", "allow", "exclude", "allow", "exclude"]


def test_rules_survive_being_written(tmp_path: Path) -> None:
    period = Period(before=OLD, newer=5 * 86_400_000_000)
    rules = AccessRules(
        [AccessRule("org,example)/ä", Access.BLOCK, True, period, "http://example.org/ä", "staff")],
        Access.EXCLUDE,
        Period(after=NEW),
    )
    rules.save(tmp_path / "access.aclj")
    found = load(tmp_path / "access.aclj")
    assert (found.rules, found.default, found.embargo) == (rules.rules, rules.default, rules.embargo)


@pytest.mark.parametrize(
    "line",
    [
        "org,example",
        "org,example - {}",
        'org,example - {"access": "perhaps"}',
        "org,example - [1]",
        "org,example - " + "[" * 60_000,
        'org,example - {"access": "allow", "acess": 1}',
        'org,example - {"access": "allow", "before": "soon"}',
        'org,example - {"access": "allow", "newer": {"fortnights": 2}}',
        'org,example - {"access": "allow", "newer": {"days": 1e400}}',
        'two words - {"access": "allow"}',
        "k" * 80_000 + ' - {"access": "allow"}',
    ],
)
def test_a_line_that_is_no_rule_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(AccessRuleError):
        parse_rule(line)
    (tmp_path / "access.aclj").write_text(f'org - {{"access": "allow"}}\n{line}\n')
    with pytest.raises(AccessRuleError, match=r"access.aclj:2: [^\n]*$"):
        load(tmp_path / "access.aclj")


def test_changed_rules_hold_at_once_and_damaged_ones_show_nothing(tmp_path: Path) -> None:
    control = AccessControl(tmp_path)
    (tmp_path / "news").mkdir()
    assert control.rules("news").is_open
    AccessRules([rule_for("example.org", Access.EXCLUDE)]).save(tmp_path / "news" / "access.aclj")
    assert control.rules("news").decide("http://example.org/", OLD, NOW) is Access.EXCLUDE
    AccessRules().save(tmp_path / "news" / "access.aclj")
    assert control.rules("news").is_open
    (tmp_path / "news" / "access.aclj").write_text("spoilt")
    with pytest.raises(AccessRuleError, match="spoilt"):
        control.rules("news")


def test_an_age_of_a_hundred_years_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "access.aclj"
    AccessRules([], Access.ALLOW, period_of(newer_days=36_500)).save(path)
    assert load(path).embargo == period_of(newer_days=36_500)
