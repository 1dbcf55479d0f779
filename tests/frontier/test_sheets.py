"""Which sheet holds for which URL."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from frontier.definition.job import Profile
from frontier.definition.sheets import PageRules, Sheets, parse_sheet

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
        ("org,example) hops=2", "sets no key that a sheet may have"),
        ("org,example) visitor=firefly", "is no value of visitor; use plain, browser, mixed"),
        ("org,example) rendered_fraction=2", "is no number from 0 to 1"),
        ("org,example) rendered_fraction=nan", "is no number from 0 to 1"),
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
