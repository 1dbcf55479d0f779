"""Pages of modern features work at the site itself, are captured by ghosts, and work in a replay without the site."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import pytest
from feature_table import Row, table
from support.pages.catalogue import FEATURES, FOLDER, GAPS, GROUPS
from support.pages.feature import Feature
from support.pages.person import live
from support.pages.site import FeatureSite
from support.processes.machine_needs import program, redis_server

pytestmark = pytest.mark.browser

FEW = ("srcset-width", "shadow-closed", "service-cache", "ranges")
"""One page of some subjects, for the test that runs each time."""
MORE = (
    "css-import",
    "nested-lazy-frames",
    "worker",
    "redirects",
    "live-view",
    "pushed-pages",
    "lazy-picture",
    "frames",
    "codings-odd",
    "video-webm",
    "wp-lightbox",
    "both-zooms",
    "distillery-year",
    "date-field",
)
"""Further pages for the viewer."""
IN_ORDER = ("growing", "changed-resource", "events-again")
"""Pages whose answers depend on the order of their requests."""


def named(names: Sequence[str]) -> list[Feature]:
    return [feature for feature in FEATURES if feature.name in names]


def not_green(rows: Sequence[Row]) -> dict[str, str]:
    """Return the pages that are not captured or not replayed, with what they lack."""
    return {
        row.name: f"captured {row.is_captured}, replayed {row.is_replayed}: {row.not_captured or row.not_replayed}"
        for row in rows
        if not (row.is_captured and row.is_replayed)
    }


def test_each_feature_has_a_name_of_its_own() -> None:
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)
    assert [feature.name for feature in FEATURES if not feature.all_parts or not feature.all_proofs] == []


@pytest.mark.parametrize("subject", GROUPS)
def test_each_folder_and_each_answer_belongs_to_a_page(subject: str) -> None:
    folder = FOLDER / subject
    names = {feature.name for feature in GROUPS[subject]}

    assert {each.name for each in folder.iterdir() if each.is_dir() and each.name[0] != "_"} <= names
    if (folder / "answers.py").exists():
        assert set(import_module(f"pages.{subject}.answers").ANSWERS) <= names


@pytest.mark.timeout(240)
def test_a_few_features_are_captured_and_replayed(tmp_path: Path) -> None:
    redis_server()
    features = named(FEW)

    rows, escaped, said = table(features, tmp_path / "home", is_live=False)

    assert not_green(rows) == {}, said[-2000:]
    assert len(rows) == len(FEW)
    assert escaped == 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_features_play_in_the_viewer_and_nothing_reaches_the_site(tmp_path: Path) -> None:
    program("npm", "the player comes from npm")
    features = named((*(name for name in (*FEW, *MORE) if name != "service-cache"), *IN_ORDER))

    rows, escaped, _ = table(features, tmp_path / "home", by="person", is_live=False, is_viewed=True)

    assert {row.name: row.not_replayed for row in rows if not row.is_replayed} == {}
    assert escaped == 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_feature_works_at_the_site() -> None:
    with FeatureSite(FEATURES) as site:
        results = asyncio.run(live(site, FEATURES))

    assert {name: result.missing for name, result in results.items() if not result.has_passed} == {}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_feature_is_captured_and_replayed_unless_it_is_a_named_gap(tmp_path: Path) -> None:
    redis_server()

    rows, escaped, said = table(FEATURES, tmp_path / "home", is_live=False)

    assert {name: lack for name, lack in not_green(rows).items() if name not in GAPS} == {}, said[-2000:]
    assert escaped == 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_what_a_person_has_recorded_is_replayed_unless_it_is_a_named_gap(tmp_path: Path) -> None:
    """A person does only what makes the page pass, and leaves other things of the page uncaptured."""
    redis_server()

    rows, escaped, _ = table(FEATURES, tmp_path / "home", by="person", is_live=False)

    assert {row.name: row.not_replayed for row in rows if not row.is_replayed and row.name not in GAPS} == {}
    assert escaped == 0
