"""Start tags are found as browsers find them, and in linear time whatever a site sends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from browsers.links.documents import links_of
from browsers.links.tags import start_tags

PAGE = "http://site.test/"
HTML = {"content-type": "text/html; charset=utf-8"}
CSS = {"content-type": "text/css"}
XML = {"content-type": "application/xml"}
TEXT = {"content-type": "text/plain"}

FLAT = (
    *("<b>", "<i class=c>", "</b>", "</i>", "</x>", "<br>", "<img src=a.png>", "<IMG SRC='b.png' src=c>", "text", " "),
    *("<a href=x>", '<a href="y?a=1&amp;b=2">', "<a href='z' title=\"a > b\">", "</a>", "<a/href=q>", "<a href>"),
    *("<!-- <a href=no> -->", "<!-->", "<!--->", "<!-- a --!>", "<!x>", "</ x>", "<?php <a>", "&lt;a&gt;", "<", "< a>"),
    *(
        "<script>'<a href=no>'</script>",
        "<SCRIPT></Script >",
        "<iframe><a href=no></iframe>",
        "<noscript>",
        "</noscript>",
    ),
    *(
        "<a href='?a&copy=1&copy;2&copy'>",
        "<a href='&#65;&#x42;&#67'>",
        "<a href = w >",
        "<a\nhref\n=\n'v'\n>",
        "<a b='c'd=e>",
    ),
)
"""Pieces of markup that a tree builder neither moves nor drops nor repeats, however they are put together."""


@given(st.lists(st.sampled_from(FLAT), max_size=12))
def test_tags_and_attributes_are_those_of_the_browsers_parser(pieces: list[str]) -> None:
    text = "<body>" + "".join(pieces)

    ours = [(tag.name, tag.attributes()) for tag in start_tags(text)][1:]

    root = LexborHTMLParser(text).root
    nodes = [node for node in (root.traverse() if root is not None else ()) if node.tag in ("a", "img", "br", "script")]
    theirs = {(node.tag, tuple((name, value or "") for name, value in node.attributes.items())) for node in nodes}
    assert {(name, tuple(values.items())) for name, values in ours if name in ("a", "img", "br", "script")} == theirs


def test_a_script_of_a_picture_has_no_content() -> None:
    text = "<svg><script href=s.js /><a href=1></svg><script>'<a href=2>'</script>"

    assert [tag.name for tag in start_tags(text)] == ["svg", "script", "a", "script"]


def test_a_tag_that_the_text_ends_within_is_none() -> None:
    assert [tag.name for tag in start_tags("<p><a href=x")] == ["p"]


MUCH = 300_000


@pytest.mark.parametrize(
    ("make", "headers", "url"),
    [
        pytest.param(lambda: "<div>" * MUCH, HTML, PAGE, id="nested elements"),
        pytest.param(lambda: "<select>" + "<option>" * MUCH, HTML, PAGE, id="options"),
        pytest.param(lambda: "<b>" * MUCH + "</x>" * MUCH, HTML, PAGE, id="end tags of nothing"),
        pytest.param(
            lambda: "<i " + " ".join(f"a{n}=1" for n in range(50_000)) + ">", HTML, PAGE, id="attributes of one tag"
        ),
        pytest.param(lambda: "<i " + " ".join(f"a{n}='>'" for n in range(50_000)) + ">", HTML, PAGE, id="quoted ends"),
        pytest.param(
            lambda: "<p>" + "".join(f"<b id={n}>" for n in range(3000)) + "</p>" + "<p>x</p>" * 3000,
            HTML,
            PAGE,
            id="formatting",
        ),
        pytest.param(lambda: "<!--x" * MUCH + "-->", HTML, PAGE, id="comments in a comment"),
        pytest.param(lambda: "<a x='<i " * MUCH + "'>", HTML, PAGE, id="quotes"),
        pytest.param(lambda: "<template>" * MUCH, HTML, PAGE, id="templates"),
        pytest.param(
            lambda: f"<base href='/{'b' * 60_000}/'>" + "<i style='a:url(x)'>" * 20_000, HTML, PAGE, id="long base"
        ),
        pytest.param(lambda: "<a href=/same>" * (MUCH // 3), HTML, PAGE, id="one link over and over"),
        pytest.param(lambda: "<img srcset='" + "(" * MUCH + "'>", HTML, PAGE, id="srcset"),
        pytest.param(lambda: "a{" * MUCH, CSS, PAGE, id="nested rules"),
        pytest.param(lambda: "/*" * MUCH, CSS, PAGE, id="open comments"),
        pytest.param(lambda: "url('" * (MUCH // 3), CSS, PAGE, id="open strings"),
        pytest.param(lambda: "'" + "\\a" * MUCH, CSS, PAGE, id="escapes"),
        pytest.param(lambda: "<urlset>" + "<a>" * MUCH, XML, PAGE, id="nested xml"),
        pytest.param(lambda: "<urlset>" + "<loc" * MUCH, XML, PAGE, id="broken xml"),
        pytest.param(lambda: "\n" * MUCH, TEXT, PAGE + "sitemap.txt", id="empty lines"),
        pytest.param(lambda: "sitemap " * MUCH, TEXT, PAGE + "robots.txt", id="robots"),
    ],
)
def test_hostile_documents_are_searched_to_their_end(
    make: Callable[[], str], headers: dict[str, str], url: str
) -> None:
    """T2: 300,000 nested elements took 75 seconds; the time limit of a test is the bound here."""
    link = {PAGE: "<a href=/last>", PAGE + "sitemap.txt": "\nhttp://site.test/last\n"}.get(url, "\nsitemap: /last\n")
    if headers is XML:
        link = "<loc>http://site.test/last</loc>"
    elif headers is CSS:
        link = ""

    result = links_of(url, 200, headers, (make() + link).encode())

    ends = [found.url for found in result.links if found.url == PAGE + "last"]
    assert ends or not link or any(note.startswith("links-dropped:") for note in result.annotations)
