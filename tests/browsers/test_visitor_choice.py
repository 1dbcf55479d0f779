"""Which visitor takes which URL."""

from __future__ import annotations

import pytest

from browsers.visitor_choice import VisitKind, is_page, needs_ghost, needs_renders, visit_kind, wants_ghost
from frontier.definition.job import Profile


@pytest.mark.parametrize(
    ("url", "hop_path", "expected"),
    [
        ("http://site.test/", "", True),
        ("http://site.test/a", "L", True),
        ("http://site.test/a.html", "LL", True),
        ("http://site.test/a.php?x=1.png", "L", True),
        ("http://site.test/v1.2/notes", "L", True),
        ("http://site.test/zip", "L", True),
        ("http://site.test/a", "LR", True),
        ("http://site.test/a", "R", True),
        ("http://site.test/a", "3+LLR", True),
        ("http://site.test/a.PDF", "L", False),
        ("http://site.test/a.tar.gz", "L", False),
        ("http://site.test/a.jpg?size=big", "L", False),
        ("http://site.test/a.html", "LE", False),
        ("http://site.test/a.html", "LER", False),
        ("http://site.test/robots.txt", "P", False),
        ("http://site.test/sitemap", "PM", False),
        ("http://site.test/guess", "LX", False),
    ],
)
def test_a_page_is_what_a_reader_goes_to(url: str, hop_path: str, expected: bool) -> None:
    assert is_page(url, hop_path) is expected


def test_plain_never_renders_and_chromium_renders_every_page() -> None:
    assert not wants_ghost("http://site.test/", "", "plain", 1.0)
    assert wants_ghost("http://site.test/", "", "browser", 0.0)
    assert not wants_ghost("http://site.test/a.pdf", "L", "browser", 1.0)


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 1.0])
def test_mixed_renders_the_set_fraction_of_the_pages(fraction: float) -> None:
    urls = [f"http://site.test/page/{number}" for number in range(20_000)]

    rendered = sum(wants_ghost(url, "L", "mixed", fraction) for url in urls)

    assert abs(rendered / len(urls) - fraction) < 0.01


def test_a_page_rendered_at_a_small_fraction_is_rendered_at_any_larger_one() -> None:
    urls = [f"http://site.test/{number}" for number in range(1000)]

    few = {url for url in urls if wants_ghost(url, "L", "mixed", 0.1)}
    more = {url for url in urls if wants_ghost(url, "L", "mixed", 0.4)}

    assert few
    assert few < more


@pytest.mark.parametrize("fraction", [0.0, 0.1, 1.0])
def test_the_fraction_holds_for_asynchronous_renders(fraction: float) -> None:
    sheets = Profile(visitor="mixed", rendered_fraction=fraction, rendering="asynchronous").page_rules()
    urls = [f"http://site{number % 300}.test/page/{number}" for number in range(20_000)]

    kinds = [visit_kind(url, "L", sheets) for url in urls]

    assert abs(kinds.count(VisitKind.PLAIN_AND_RENDER) / len(urls) - fraction) < 0.01
    assert VisitKind.GHOST not in kinds


def test_sheets_decide_for_their_sites() -> None:
    profile = Profile(
        visitor="plain",
        sheets=(
            "test,now) visitor=browser",
            "test,later) visitor=browser rendering=asynchronous",
            "test,later)/static visitor=plain",
            "test,some) visitor=mixed rendered_fraction=1 rendering=asynchronous",
        ),
    )
    sheets = profile.page_rules()

    assert visit_kind("http://other.test/", "", sheets) is VisitKind.PLAIN
    assert visit_kind("http://now.test/", "", sheets) is VisitKind.GHOST
    assert visit_kind("http://later.test/", "", sheets) is VisitKind.PLAIN_AND_RENDER
    assert visit_kind("http://later.test/static/a", "L", sheets) is VisitKind.PLAIN
    assert visit_kind("http://some.test/a", "L", sheets) is VisitKind.PLAIN_AND_RENDER
    assert visit_kind("http://later.test/a.png", "LE", sheets) is VisitKind.PLAIN


@pytest.mark.parametrize(
    ("profile", "ghost", "renders"),
    [
        (Profile(), False, False),
        (Profile(rendering="asynchronous"), False, False),
        (Profile(visitor="browser"), True, False),
        (Profile(visitor="browser", rendering="asynchronous"), False, True),
        (Profile(visitor="mixed", rendered_fraction=0), False, False),
        (Profile(visitor="mixed", rendering="asynchronous"), False, True),
        (Profile(sheets=("org,example) visitor=browser rendering=asynchronous",)), False, True),
        (Profile(visitor="browser", sheets=("org,example) rendering=asynchronous",)), True, True),
        (Profile(sheets=("org) visitor=browser", "org,a) rendering=asynchronous")), True, True),
    ],
)
def test_a_job_has_the_processes_that_its_pages_need(profile: Profile, ghost: bool, renders: bool) -> None:
    assert needs_ghost(profile.page_rules()) is ghost
    assert needs_renders(profile.page_rules()) is renders
