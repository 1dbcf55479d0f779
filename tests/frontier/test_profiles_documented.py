"""docs/reference/profiles.md says what the models do, its examples can be used, and each key has an effect (T20)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from docs.profile_table import EXAMPLES, ORDER, TARGET, document
from frontier.definition.job import DeviceOverrides, Job, Limits, PolitenessOverrides, Profile, RevisitRules
from frontier.definition.profile import load_profile
from frontier.definition.rules.kinds import RULE_KINDS
from frontier.definition.scope import Accepted, Candidate, Scope
from frontier.definition.sheets import SHEET_KEYS
from frontier.politeness import Politeness

TOP = Path(__file__).resolve().parents[2]
NAMES = [
    (model, name)
    for model in (Profile, Limits, PolitenessOverrides, DeviceOverrides, RevisitRules)
    for name in model.model_fields
]


def _never_read(names: Iterable[str]) -> set[str]:
    """Return the names that no code of ours reads as an attribute."""
    left = set(names)
    for path in (each for folder in ("frontier", "browsers", "admin") for each in (TOP / folder).rglob("*.py")):
        text = path.read_text("utf-8")
        if any(f".{name}" in text for name in left):
            left -= {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    return left


def test_the_page_is_up_to_date() -> None:
    assert TARGET.read_text("utf-8") == document(), "run .venv/bin/python docs/profile_table.py"


def test_every_key_says_what_it_means_and_has_a_row() -> None:
    page = document()
    for model, name in NAMES:
        if name not in ("limits", "seen", "politeness", "device", "revisit"):
            assert model.model_fields[name].description, name
            assert f"| `{name}` |" in page


def test_every_key_is_read_somewhere() -> None:
    """`behaviours` was accepted and read by nothing."""
    scripts = "".join(path.read_text("utf-8") for path in (TOP / "frontier" / "lua").glob("*.lua"))
    limits = {name for name in Limits.model_fields if re.search(rf"'{name}'", scripts)}
    politeness = {name.replace("_seconds", "_ms") for name in PolitenessOverrides.model_fields} & set(
        Politeness.__slots__
    )

    assert _never_read(Profile.model_fields) == set()
    assert limits == set(Limits.model_fields)
    assert len(politeness) == len(PolitenessOverrides.model_fields)


def test_every_example_is_on_the_page() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.toml")) == sorted(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_an_example_can_be_used(name: str) -> None:
    profile = load_profile(EXAMPLES / f"{name}.toml")

    assert profile != Profile()
    assert Job.of("job", "collection", ["https://www.example.org/"], profile)


LINKS = [
    ("domain-harvest", "https://www.example.org/", "https://shop.example.org/a", True),
    ("domain-harvest", "https://www.example.org/", "https://example.net/", False),
    ("domain-harvest", "https://www.example.org/", "https://www.example.org/calendar/day/2031-05", False),
    ("one-site-with-ghosts", "https://www.example.org/", "https://www.example.org/about", True),
    ("one-site-with-ghosts", "https://www.example.org/", "https://www.example.org/cart/add", False),
    ("front-page", "https://news.example.org/", "https://news.example.org/politics", False),
    ("big-site", "https://www.example.org/articles/", "https://www.example.org/articles/1", True),
    ("big-site", "https://www.example.org/articles/", "https://images.example.org/1.jpg", True),
    ("big-site", "https://www.example.org/articles/", "https://www.example.org/jobs/", False),
    ("big-site", "https://www.example.org/articles/", "https://www.example.org/articles/1?utm_source=a", False),
    ("feeds-and-pdfs", "https://www.example.org/reports.rss", "https://www.example.org/reports/2031", True),
    ("feeds-and-pdfs", "https://www.example.org/reports.rss", "https://cdn.example.net/2031.pdf", True),
    ("feeds-and-pdfs", "https://www.example.org/reports.rss", "https://www.example.org/", False),
]


@pytest.mark.parametrize(("name", "seed", "link", "is_taken"), LINKS)
def test_an_example_takes_what_its_first_line_says(name: str, seed: str, link: str, *, is_taken: bool) -> None:
    scope = Scope(Job.of("job", "collection", [seed], load_profile(EXAMPLES / f"{name}.toml")))

    assert isinstance(scope.decide(Candidate(link, "L", via=seed, depth=1)), Accepted) is is_taken


def test_every_rule_and_every_key_of_sheets_is_in_the_guide() -> None:
    page = (TOP / "docs" / "how-to" / "scope-and-rules.md").read_text("utf-8")
    for kind in RULE_KINDS:
        assert f"| `{f'{kind.name} {kind.arguments}'.strip()}` | `{kind.reason}` | {kind.meaning} |" in page
    for key in SHEET_KEYS:
        assert f"`{key}`" in page
