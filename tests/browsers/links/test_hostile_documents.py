"""The worst documents of each kind are searched in a time that grows with their length alone.

Each input is several megabytes long. A search that reads a part of it again and again takes hours, so the time limit of
a test is the bound here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from browsers.links.collector import MAX_GUESSES, MAX_LINKS
from browsers.links.documents import Links, links_of

MANY = 1_000_000
LARGE = 5_000_000
PAGE = "https://site.test/dir/page"

type Documents = Mapping[str, Callable[[], str]]
"""Functions that make the documents. The documents themselves would stay in memory until the end of all tests."""

SCRIPTS: Final[Documents] = {
    "quotes": lambda: '"' * LARGE,
    "quotes of both kinds": lambda: "\"'" * MANY,
    "one open quote": lambda: '"' + "a/" * MANY,
    "open quotes": lambda: '"aaaa/' * MANY,
    "short texts": lambda: '"a/"' * MANY,
    "long texts": lambda: '"' + ("/" + "a" * 1_999 + '"') * 1_000,
    "texts beyond the bound": lambda: ('"/' + "a" * 2_500 + '"') * 1_000,
    "backslashes": lambda: "\\" * LARGE,
    "escaped quotes": lambda: '\\"' * MANY,
    "escaped slashes": lambda: '"' + "\\/" * MANY + '"',
    "brackets": lambda: "[" * LARGE,
    "dots": lambda: '"' + "." * LARGE,
    "paths": lambda: '"/aa/bb' * MANY,
    "references": lambda: "&quot;" * MANY,
    "plus": lambda: "'/aa/bb'+" * 500_000,
    "written quotes": lambda: "\\u0022" * MANY,
}
JSON: Final[Documents] = {
    "brackets": lambda: "[" * 10_000_000,
    "braces": lambda: '{"a":' * MANY,
    "deep and closed": lambda: "[" * 100_000 + "]" * 100_000,
    "quotes": lambda: '"' * LARGE,
    "open string of escapes": lambda: '"' + '\\"' * MANY,
    "open string and backslash": lambda: '"' + '\\"' * MANY + "\\",
    "spaces behind strings": lambda: ('"a"' + " " * 50) * 50_000,
    "strings": lambda: '"/aa/bb",' * 500_000,
    "numbers": lambda: "1," * MANY,
}
XML: Final[Documents] = {
    "deep": lambda: "<a>" * MANY,
    "open tags": lambda: "<a href='" * MANY,
    "texts": lambda: "<a>https://site.test/x" * 200_000,
    "spaces": lambda: "<a>" + (" " * 199 + "<a>") * 20_000,
    "cdata": lambda: "<a><![CDATA[" * 300_000,
    "attributes": lambda: "<a " + " ".join(f"b{n}='/x'" for n in range(100_000)) + "/>",
    "entities": lambda: (
        "<!DOCTYPE a [" + "".join(f'<!ENTITY e{n} "&e{n - 1};&e{n - 1};">' for n in range(1, 5000)) + "]><a/>"
    ),
}
DASH: Final[Documents] = {
    "deep": lambda: "<MPD>" + "<Period>" * MANY,
    "levels": lambda: "<MPD>" + "<Period><AdaptationSet><Representation>" * 200_000,
    "bases": lambda: "<MPD>" + "<BaseURL>a/</BaseURL>" * 200_000,
    "representations": lambda: (
        "<MPD><Period><AdaptationSet>" + "<Representation><BaseURL>a</BaseURL></Representation>" * 100_000
    ),
    "timeline": lambda: (
        "<MPD><Period><AdaptationSet><SegmentTemplate media='$Time$'><SegmentTimeline>"
        + "<S d='1' r='999999999'/>" * 100_000
        + "</SegmentTimeline></SegmentTemplate>"
        + "<Representation id='a'></Representation>" * 1_000
    ),
    "long film": lambda: (
        "<MPD mediaPresentationDuration='PT999999999H'><Period><AdaptationSet>"
        "<SegmentTemplate media='$Number%099d$' duration='1' timescale='1000000'/>" + "<Representation/>" * 1_000
    ),
    "template": lambda: (
        f"<MPD><Period><AdaptationSet><SegmentTemplate media='{'$Number$' * 100_000}'/><Representation/>"
    ),
    "numbers": lambda: (
        f"<MPD><Period><AdaptationSet><SegmentTemplate media='$Number$' startNumber='{'9' * 10_000}'/><Representation/>"
    ),
    "entities": lambda: "<!DOCTYPE MPD [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><MPD><BaseURL>&b;</BaseURL>",
}
HTML: Final[Documents] = {
    "conditional comments": lambda: "<!--[if IE]>" * MANY,
    "conditional comments that end": lambda: "<!--[if IE]><![endif]-->" * 300_000,
    "conditions": lambda: "<!--[if " * MANY,
    "conditions of spaces": lambda: "<!--" + (" " * 19 + "[if" + " " * 19) * 100_000,
    "scripts": lambda: "<script>x='/aa/bb'</script>" * 200_000,
    "handlers": lambda: "<b onclick=go('/aa/bb')>" * 200_000,
    "attributes of scripts": lambda: "<b data-x='{\"/aa/bb\"}'>" * 200_000,
    "values of scripts": lambda: f"<b data-x='{'/' * MANY}'>" * 4,
    "backgrounds": lambda: f"<b data-bg='url({'(' * 200_000}'>" * 10,
    "descriptions": lambda: '<script type="application/ld+json">[[[[</script>' * 100_000,
    "deep description": lambda: '<script type="application/ld+json">' + "[" * 500_000 + "</script>",
    "long description": lambda: '<script type="application/ld+json">[' + '"/a",' * 150_000 + "1]</script>",
    "flashvars": lambda: f"<embed flashvars='{'a=b&' * 500_000}'>",
    "archives": lambda: f"<applet archive='{'a,' * MANY}'></applet>",
    "metas": lambda: "<meta property=og:url content=http://site.test/x>" * 100_000,
}


def searched(body: str, content_type: str) -> Links:
    result = links_of(PAGE, 200, {"content-type": content_type}, body.encode())
    assert len(result.links) <= MAX_LINKS
    if content_type in ("text/html", "text/javascript"):
        assert sum(link.hop == "X" for link in result.links) <= MAX_GUESSES
    return result


@pytest.mark.parametrize("name", SCRIPTS)
def test_hostile_scripts(name: str) -> None:
    script = SCRIPTS[name]()
    searched(script, "text/javascript")
    inside = searched(f"<script>{script}</script><a href=/last>", "text/html")

    assert [link.url for link in inside.links if link.hop == "L"] == ["https://site.test/last"]


@pytest.mark.parametrize("name", JSON)
def test_hostile_json(name: str) -> None:
    text = JSON[name]()
    searched(text, "application/json")
    searched(text, "application/ld+json")


@pytest.mark.parametrize("name", XML)
def test_hostile_xml(name: str) -> None:
    searched(XML[name](), "application/xml")


@pytest.mark.parametrize("name", DASH)
def test_hostile_manifests(name: str) -> None:
    searched(DASH[name](), "application/dash+xml")


@pytest.mark.parametrize("name", HTML)
def test_hostile_pages(name: str) -> None:
    assert searched(HTML[name](), "text/html")
