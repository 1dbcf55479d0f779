"""Which sheet holds for which URL."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from archive.settings import FrontierSettings
from frontier.definition.job import Job, PolitenessOverrides, Profile
from frontier.definition.scope import Accepted, Candidate, Rejected, Scope
from frontier.definition.sheets import STOCK_SHEETS, PageRules, Sheets, SheetValues, parse_sheet
from frontier.politeness import Politeness

PLAIN = PageRules("plain", 0.1, "synchronous")
BROWSER = PageRules("browser", 0.1, "synchronous")


@pytest.mark.parametrize(
    ("prefix", "url", "matches"),
    [
        ("org,example)", "http://example.org/a", True),
        ("org,example)", "https://www.example.org/a", True),
        ("org,example)", "http://shop.example.org/", False),
        ("org,example", "http://shop.example.org/", True),
        ("org,example", "http://examples.org/", False),
        ("org,", "http://example.org/", True),
        ("org,example)/shop", "http://example.org/shop", True),
        ("org,example)/shop", "http://example.org/shop/cart?x=1", True),
        ("org,example)/shop", "http://example.org/shop?x=1", True),
        ("org,example)/shop", "http://example.org/shopping", False),
        ("org,example:8080)", "http://example.org:8080/", True),
        ("org,example:8080)", "http://example.org/", False),
        ("example.org", "http://example.org/any/where", True),
        ("https://www.example.org/shop", "http://example.org/shop/1", True),
        ("https://www.example.org/shop", "http://example.org/", False),
    ],
)
def test_a_prefix_ends_at_a_border(prefix: str, url: str, matches: bool) -> None:
    sheets = Sheets(PLAIN, [f"{prefix} visitor=browser"])

    assert sheets.rules_for(url) == (BROWSER if matches else PLAIN)


def test_each_key_has_the_value_of_the_longest_prefix_that_sets_it() -> None:
    sheets = Sheets(
        PLAIN,
        [
            "org,example)/shop rendered_fraction=1",
            "org,example) visitor=mixed rendered_fraction=0.5",
            "org, rendering=asynchronous visitor=browser",
        ],
    )

    assert sheets.rules_for("http://example.org/shop/1") == PageRules("mixed", 1.0, "asynchronous")
    assert sheets.rules_for("http://example.org/") == PageRules("mixed", 0.5, "asynchronous")
    assert sheets.rules_for("http://elsewhere.org/") == PageRules("browser", 0.1, "asynchronous")
    assert sheets.rules_for("http://example.net/") == PLAIN


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("org,example)", "is no sheet"),
        ("org,example) hop=2", "sets no key that a sheet may have"),
        ("org,example) visitor=firefly", "is no value of visitor; use plain, browser, mixed"),
        ("org,example) rendered_fraction=2", "is no number from 0 to 1"),
        ("org,example) rendered_fraction=nan", "is no number from 0 to 1"),
        ("org,example) per_host=2", "counted for a host as a whole"),
        ("org,example) host_pages=2", "set limits.host_pages for the job"),
        ("org,example) hops=-1", "is no whole number from 0"),
        ("org,example) min_delay_seconds=inf", "is no number from 0 to"),
        ("regex:( hops=1", "is not a regular expression"),
        ("org,example) visitor=plain visitor=plain", "has visitor twice"),
        ("http:// visitor=plain", "is no SURT prefix"),
        ("x" * 5000 + " visitor=plain", "use at most 4,000"),
    ],
)
def test_a_line_that_is_no_sheet_is_refused_with_the_remedy(line: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Profile(sheets=(line,))


def test_a_hostile_url_costs_one_step_for_each_length_of_a_prefix() -> None:
    sheets = Sheets(PLAIN, [f"org,example)/{'a' * number} visitor=browser" for number in range(1, 100)])

    assert sheets.rules_for(f"http://example.org/{'/?' * 2000}") == PLAIN
    assert len({parse_sheet(f"org,{number}) visitor=plain").prefix for number in range(10)}) == 10


def test_a_regular_expression_counts_before_all_prefixes_and_the_last_one_before_others() -> None:
    sheets = Sheets(
        PLAIN,
        [
            "regex:.*/shop/.* visitor=mixed hops=1",
            "regex:.*/cart visitor=browser",
            "org,example)/shop visitor=plain hops=3 max_links=5",
        ],
    )
    assert sheets.values_for("http://example.org/shop/") == SheetValues(visitor="mixed", hops=1, max_links=5)
    assert sheets.values_for("http://example.org/shop/cart").visitor == "browser"
    assert sheets.values_for("http://example.org/") == SheetValues()
    assert sheets.sources("http://example.org/shop/cart") == {"visitor": 1, "hops": 0, "max_links": 2}


def test_sheets_bound_the_scope_for_their_urls_alone() -> None:
    profile = Profile(
        scope="any",
        hops=1,
        sheets=("example.org hops=none max_path_segments=1", "org,other) hops=0", "a.net embed_hops=0"),
    )
    scope = Scope(Job.of("j", "c", ["http://example.org/"], profile))

    def outcome(url: str, hop_path: str = "LL") -> str:
        decision = scope.decide(Candidate(url, hop_path, depth=hop_path.count("L")))
        return decision.reason if isinstance(decision, Rejected) else "in"

    assert outcome("http://example.org/a") == "in"
    assert outcome("http://example.org/a/b") == "deep-path"
    assert outcome("http://other.org/a", "L") == "hops"
    assert outcome("http://else.org/a/b", "L") == "in"
    assert outcome("http://else.org/a/b") == "hops"
    assert isinstance(scope.decide(Candidate("http://a.net/x", "E")), Accepted)


def test_sheets_change_politeness_for_their_urls_alone() -> None:
    rules = Politeness.of(FrontierSettings(), PolitenessOverrides(min_delay_seconds=1, max_delay_seconds=2))
    sheets = Sheets(PLAIN, ["org,slow) min_delay_seconds=60 max_retries=0 host_failures=2", "org,fast) delay_factor=0"])
    slow = rules.with_values(sheets.values_for("http://slow.org/"))
    assert (slow.min_delay_ms, slow.max_delay_ms, slow.max_retries, slow.host_failures) == (60_000, 60_000, 0, 2)
    assert rules.with_values(sheets.values_for("http://fast.org/")).delay_factor == 0
    assert rules.with_values(sheets.values_for("http://other.org/")) is rules


def test_names_of_stock_sheets_stand_for_their_values_and_the_lines_own_values_win() -> None:
    values = parse_sheet("example.org extra-polite recrawl-1d min_delay_seconds=20 revisit_max_seconds=9").values
    assert values.given() == {
        "delay_factor": 8,
        "min_delay_seconds": 20,
        "max_delay_seconds": 60,
        "revisit_mode": "fixed",
        "revisit_interval_seconds": 86_400,
        "revisit_max_seconds": 9,
    }
    assert parse_sheet("example.org limited plus-one").values.given() == {"hops": 1, "max_links": 500}
    for name in STOCK_SHEETS:
        assert parse_sheet(f"example.org {name}").values.given()


def test_a_sheet_may_have_a_surt_prefix_as_heritrix_writes_it() -> None:
    assert parse_sheet("http://(org,example,www,)/shop hops=1").prefix == "org,example)/shop"


def test_a_sheet_by_address_holds_for_hosts_with_such_an_address_and_gives_way_to_prefixes() -> None:
    lines = (
        "address:192.0.2.0/24 min_delay_seconds=10 robots=ignore",
        "address:192.0.2.7 min_delay_seconds=30",
        "address:2001:db8::/32 max_links=5",
        "org,example min_delay_seconds=1",
    )
    sheets = Sheets(PageRules("plain", 0.1, "synchronous"), lines)
    known = {"shop.test": ("192.0.2.9",), "mail.test:8080": ("192.0.2.7", "2001:db8::5"), "example.org": ("192.0.2.7",)}
    sheets.addresses_of = lambda host: known.get(host, ())
    assert sheets.values_for("http://shop.test/").given() == {"robots": "ignore", "min_delay_seconds": 10}
    assert sheets.values_for("http://mail.test:8080/").given() == {
        "robots": "ignore", "min_delay_seconds": 30, "max_links": 5,
    }  # fmt: skip
    assert sheets.values_for("http://example.org/").given() == {"robots": "ignore", "min_delay_seconds": 1}
    assert sheets.values_for("http://192.0.2.8/").given() == {"robots": "ignore", "min_delay_seconds": 10}
    assert sheets.values_for("http://other.test/") == SheetValues()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("address:example.org robots=ignore", "is no address or network"),
        ("address:192.0.2.0/40 robots=ignore", "is no network"),
        ("address:192.0.2.0/24 hops=3", "before names are looked up"),
    ],
)
def test_a_sheet_by_address_that_can_not_be_used_is_refused(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_sheet(line)
