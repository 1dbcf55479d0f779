"""Missing resources are weighed. The expected values are computed by hand from the weights of the paper."""

from __future__ import annotations

import pytest

from browsers.comparison.boxes import Box
from browsers.comparison.damage import WeighedResource, damage_of

PAGE = Box(0, 0, 1000, 2000)


def resource(url: str, kind: str, is_missing: bool = True, box: Box | None = None) -> WeighedResource:
    return WeighedResource(url, kind, is_missing, box)


@pytest.mark.parametrize(
    ("kind", "box", "weight"),
    [
        # All of the page: 0.5 x 1 + 0.25 + 0.25 = 1.
        ("image", PAGE, 0.3),
        ("media", PAGE, 0.5),
        ("document", PAGE, 0.3),
        # A tenth of the width and of the height in a corner: 0.5 x 0.01.
        ("image", Box(0, 0, 100, 200), 0.3 * 0.005),
        # A banner of 5 % of the page crosses x = 500 only: 0.5 x 0.05 + 0.25.
        ("image", Box(0, 0, 1000, 100), 0.3 * 0.275),
        # A column of 10 % of the page crosses y = 1000 only: 0.5 x 0.1 + 0.25.
        ("media", Box(0, 0, 100, 2000), 0.5 * 0.3),
        # Half of the banner lies outside the page: 0.5 x 0.025 + 0.25.
        ("image", Box(500, -50, 1000, 100), 0.3 * (0.5 * 500 * 50 / 2_000_000 + 0.25)),
        ("image", Box(2000, 0, 100, 100), 0.0),
        ("image", Box(10, 10, 0, 0), 0.0),
        ("image", None, 0.3 * 0.25),
        ("image", Box(float("nan"), 0, 1, 1), 0.3 * 0.25),
        ("stylesheet", None, 0.05),
        ("script", PAGE, 0.05),
        ("font", None, 0.05),
        ("other", None, 0.05),
        ("unheard-of", None, 0.05),
    ],
)
def test_a_resource_weighs_by_its_kind_and_its_place(kind: str, box: Box | None, weight: float) -> None:
    damage = damage_of([resource("http://site.test/a", kind, box=box)], PAGE)

    assert damage.potential == damage.actual == pytest.approx(weight)
    assert damage.value == (1 if weight else 0)


def test_damage_is_the_missing_part_and_each_url_has_its_share() -> None:
    resources = [
        resource("http://site.test/film", "media", False, PAGE),  # 0.5
        resource("http://site.test/photo", "image", True, PAGE),  # 0.3
        resource("http://site.test/style", "stylesheet"),  # 0.05
        resource("http://site.test/style", "stylesheet"),  # 0.05
        resource("http://site.test/script", "script", False),  # 0.05
    ]

    damage = damage_of(resources, PAGE)

    assert (damage.potential, damage.actual) == (pytest.approx(0.95), pytest.approx(0.4))
    assert damage.value == pytest.approx(0.4 / 0.95)
    assert list(damage.shares) == ["http://site.test/photo", "http://site.test/style"]
    assert list(damage.shares.values()) == pytest.approx([0.75, 0.25])


def test_hidden_resources_and_data_urls_do_not_count() -> None:
    hidden = WeighedResource("http://site.test/a", "image", True, PAGE, is_visible=False)

    damage = damage_of([hidden, resource("DATA:image/png;base64,", "image", box=PAGE)], PAGE)

    assert (damage.potential, damage.actual, damage.value, dict(damage.shares)) == (0, 0, 0, {})


def test_a_page_without_an_area_has_no_places() -> None:
    damage = damage_of([resource("http://site.test/a", "image", box=Box(0, 0, 5, 5))], Box(0, 0, 0, 0))

    assert damage.value == 0


def test_an_area_is_never_negative() -> None:
    assert (Box(1, 1, 3, 4).area, Box(1, 1, -3, -4).area) == (12, 0)
