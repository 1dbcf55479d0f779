"""Which visitor takes which URL."""

from __future__ import annotations

import pytest

from browsers.visitor_choice import is_page, wants_ghost


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
    assert wants_ghost("http://site.test/", "", "chromium", 0.0)
    assert not wants_ghost("http://site.test/a.pdf", "L", "chromium", 1.0)


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
