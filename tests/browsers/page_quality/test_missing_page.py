"""Looks of pages are alike when only quoted URLs and numbers differ, and folders are those that sites answer for."""

from __future__ import annotations

import pytest

from browsers.page_quality.missing_page import directory_of, is_alike, look_of, look_of_html, missing_url
from browsers.visit import PageLook

SORRY = (
    "<!doctype html><title>The pond</title><style>p { color: red }</style><nav>Start News Contact Search</nav>"
    "<p>Sorry, %s was moved by our gardeners on day 17. Use the search to find what you came for, or begin at the"
    " start page of the pond.<script>const words = 'not seen';</script>"
)
NEWS = (
    "<!doctype html><title>The pond</title><nav>Start News Contact Search</nav><p>Newts were seen on day 12. They swam"
    " along the southern bank in the morning, and the keepers counted nineteen of them before the rain began."
)


def of(url: str, markup: str) -> PageLook:
    return look_of_html(url, markup.encode())


def test_a_page_that_quotes_its_url_looks_like_another_one() -> None:
    missing = of("http://a.example/9f8e7d6c", SORRY % "9f8e7d6c")
    page = of("http://a.example/old/list.html", SORRY.replace("17", "18") % "old/list.html")
    assert is_alike(page, missing)
    assert not is_alike(of("http://a.example/news", NEWS), missing)
    assert "seen" not in SORRY.partition("<script>")[0]


def test_another_title_or_another_length_is_another_page() -> None:
    missing = of("http://a.example/x", SORRY % "x")
    assert not is_alike(of("http://a.example/y", SORRY.replace("The pond</t", "The lake</t") % "y"), missing)
    assert not is_alike(of("http://a.example/y", (SORRY % "y") + " and more" * 30), missing)


@pytest.mark.parametrize("markup", ["", "<title>App</title><div id=root></div>", "<title>App</title><p>Loading ..."])
def test_a_page_with_hardly_a_word_is_like_none(markup: str) -> None:
    """The document of a page that scripts fill is the same for all URLs."""
    assert not is_alike(of("http://a.example/x", markup), of("http://a.example/y", markup))


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("http://a.example/", None),
        ("http://a.example/index.html", None),
        ("http://a.example/Home", None),
        ("http://a.example/?page=7", "http://a.example/"),
        ("http://a.example/about", "http://a.example/"),
        ("https://a.example:8443/news/2026/one?x=1", "https://a.example:8443/news/"),
        ("http://a.example//x", "http://a.example/x".removesuffix("x")),
        (f"http://a.example/{'d' * 300}/x", "http://a.example/"),
    ],
)
def test_a_folder_is_at_most_one_below_the_root(url: str, folder: str | None) -> None:
    assert directory_of(url) == folder


def test_urls_that_do_not_exist_differ_each_time() -> None:
    first, second = missing_url("http://a.example/news/"), missing_url("http://a.example/news/")
    assert first != second
    assert first.startswith("http://a.example/news/")


@pytest.mark.parametrize(
    "markup", ["<" * 300_000, "<script>" * 40_000, "<svg></svg>" * 60_000, "<title" * 50_000, "a " * 200_000, "\0" * 9]
)
def test_odd_markup_is_read_in_time(markup: str) -> None:
    of("http://a.example/", markup)


def test_a_look_is_kept_as_text() -> None:
    look = look_of("http://a.example/", "A title: with words", "some text of a page")
    assert PageLook.read(look.text()) == look
    assert [PageLook.read(text) for text in ("", "-", "x 1 title", "1 2")] == [None] * 4
