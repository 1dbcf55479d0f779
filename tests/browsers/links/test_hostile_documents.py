"""The worst documents of each kind are searched in a time that grows with their length alone.

A search that reads a part of its input again and again takes far longer than the time limit of a test, which is the
bound here. With --slow, the inputs are several megabytes long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from browsers.links.collector import MAX_GUESSES, MAX_LINKS
from browsers.links.documents import Links, links_of

MANY = [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)]
"""Numbers of repetitions, from which the size of each input follows."""
PAGE = "https://site.test/dir/page"
LONGEST_CONTEXT = 200

type Documents = Mapping[str, Callable[[int], str]]
"""Functions that make the documents for a number of repetitions.

The documents themselves would stay in memory until the end of all tests.
"""

SCRIPTS: Final[Documents] = {
    "quotes": lambda many: '"' * (5 * many),
    "quotes of both kinds": lambda many: "\"'" * many,
    "one open quote": lambda many: '"' + "a/" * many,
    "open quotes": lambda many: '"aaaa/' * many,
    "short texts": lambda many: '"a/"' * many,
    "long texts": lambda many: '"' + ("/" + "a" * 1_999 + '"') * (many // 1_000),
    "texts beyond the bound": lambda many: ('"/' + "a" * 2_500 + '"') * (many // 1_000),
    "backslashes": lambda many: "\\" * (5 * many),
    "escaped quotes": lambda many: '\\"' * many,
    "escaped slashes": lambda many: '"' + "\\/" * many + '"',
    "brackets": lambda many: "[" * (5 * many),
    "dots": lambda many: '"' + "." * (5 * many),
    "paths": lambda many: '"/aa/bb' * many,
    "references": lambda many: "&quot;" * many,
    "plus": lambda many: "'/aa/bb'+" * (many // 2),
    "written quotes": lambda many: "\\u0022" * many,
}
JSON: Final[Documents] = {
    "brackets": lambda many: "[" * (10 * many),
    "braces": lambda many: '{"a":' * many,
    "deep and closed": lambda many: "[" * (many // 10) + "]" * (many // 10),
    "quotes": lambda many: '"' * (5 * many),
    "open string of escapes": lambda many: '"' + '\\"' * many,
    "open string and backslash": lambda many: '"' + '\\"' * many + "\\",
    "spaces behind strings": lambda many: ('"a"' + " " * 50) * (many // 20),
    "strings": lambda many: '"/aa/bb",' * (many // 2),
    "numbers": lambda many: "1," * many,
}
XML: Final[Documents] = {
    "deep": lambda many: "<a>" * many,
    "open tags": lambda many: "<a href='" * many,
    "texts": lambda many: "<a>https://site.test/x" * (many // 5),
    "spaces": lambda many: "<a>" + (" " * 199 + "<a>") * (many // 50),
    "names and spaces": lambda _: f"<{'a' * 80}>{' ' * 200}x" * 50_000,
    "cdata": lambda many: "<a><![CDATA[" * (many // 3),
    "attributes": lambda many: "<a " + " ".join(f"b{n}='/x'" for n in range(many // 10)) + "/>",
    "long names of elements": lambda many: (
        f"<r><{'a' * many} {' '.join(f"b{n}='https://site.test/{n}'" for n in range(400))}/></r>"
    ),
    "long names of attributes": lambda many: f"<r><a b{'b' * many}='https://site.test/x'/></r>",
    "entities": lambda many: (
        "<!DOCTYPE a [" + "".join(f'<!ENTITY e{n} "&e{n - 1};&e{n - 1};">' for n in range(1, many // 200)) + "]><a/>"
    ),
}
DASH: Final[Documents] = {
    "deep": lambda many: "<MPD>" + "<Period>" * many,
    "levels": lambda many: "<MPD>" + "<Period><AdaptationSet><Representation>" * (many // 5),
    "bases": lambda many: "<MPD>" + "<BaseURL>a/</BaseURL>" * (many // 5),
    "representations": lambda many: (
        "<MPD><Period><AdaptationSet>" + "<Representation><BaseURL>a</BaseURL></Representation>" * (many // 10)
    ),
    "timeline": lambda many: (
        "<MPD><Period><AdaptationSet><SegmentTemplate media='$Time$'><SegmentTimeline>"
        + "<S d='1' r='999999999'/>" * (many // 10)
        + "</SegmentTimeline></SegmentTemplate>"
        + "<Representation id='a'></Representation>" * (many // 1_000)
    ),
    "long film": lambda many: (
        "<MPD mediaPresentationDuration='PT999999999H'><Period><AdaptationSet>"
        "<SegmentTemplate media='$Number%099d$' duration='1' timescale='1000000'/>"
        + "<Representation/>"
        * (many // 1_000)
    ),
    "template": lambda many: (
        f"<MPD><Period><AdaptationSet><SegmentTemplate media='{'$Number$' * (many // 10)}'/><Representation/>"
    ),
    "numbers": lambda _: (
        f"<MPD><Period><AdaptationSet><SegmentTemplate media='$Number$' startNumber='{'9' * 10_000}'/><Representation/>"
    ),
    "segments below a long base": lambda many: (
        f"<MPD><BaseURL>{'b/' * 50_000}</BaseURL>" + "<SegmentURL media='a' index='b'/>" * (many // 2)
    ),
    "long names": lambda many: f"<MPD><{'a' * many} xlink:href='b'/></MPD>",
    "bases below a long base": lambda many: (
        f"<MPD><BaseURL>{'b/' * 50_000}</BaseURL>" + "<Period><BaseURL>a/</BaseURL></Period>" * many
    ),
    "entities": lambda _: "<!DOCTYPE MPD [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><MPD><BaseURL>&b;</BaseURL>",
}
HTML: Final[Documents] = {
    "conditional comments": lambda many: "<!--[if IE]>" * many,
    "conditional comments that end": lambda many: "<!--[if IE]><![endif]-->" * (many // 3),
    "conditions": lambda many: "<!--[if " * many,
    "conditions of spaces": lambda many: "<!--" + (" " * 19 + "[if" + " " * 19) * (many // 10),
    "scripts": lambda many: "<script>x='/aa/bb'</script>" * (many // 5),
    "handlers": lambda many: "<b onclick=go('/aa/bb')>" * (many // 5),
    "attributes of scripts": lambda many: "<b data-x='{\"/aa/bb\"}'>" * (many // 5),
    "values of scripts": lambda many: f"<b data-x='{'/' * many}'>" * 4,
    "backgrounds": lambda many: f"<b data-bg='url({'(' * (many // 5)}'>" * 10,
    "descriptions": lambda many: '<script type="application/ld+json">[[[[</script>' * (many // 10),
    "deep description": lambda many: '<script type="application/ld+json">' + "[" * (many // 2) + "</script>",
    "long description": lambda many: '<script type="application/ld+json">[' + '"/a",' * (many // 7) + "1]</script>",
    "flashvars": lambda many: f"<embed flashvars='{'a=b&' * (many // 2)}'>",
    "archives": lambda many: f"<applet archive='{'a,' * many}'></applet>",
    "archives below a long base": lambda many: (
        f"<base href='/{'b/' * 30_000}'>" + f"<object codebase=. archive='{'a,' * 100}'>" * (many // 100)
    ),
    "codebases below a long base": lambda many: f"<base href='/{'b/' * 30_000}'>" + "<applet codebase=.>" * many,
    "long names of elements": lambda many: (
        f"<{'a' * many} {' '.join(f"data-b{n}='https://site.test/{n}'" for n in range(400))}>"
    ),
    "long names of attributes": lambda many: (
        f"<b data-{'b' * many}='{' '.join(f'"https://site.test/{n}"' for n in range(900))}'>"
    ),
    "metas": lambda many: "<meta property=og:url content=http://site.test/x>" * (many // 10),
}


def searched(body: str, content_type: str) -> Links:
    result = links_of(PAGE, 200, {"content-type": content_type}, body.encode())
    assert len(result.links) <= MAX_LINKS
    assert all(len(link.context) <= LONGEST_CONTEXT for link in result.links)
    if content_type in ("text/html", "text/javascript"):
        assert sum(link.hop == "X" for link in result.links) <= MAX_GUESSES
    return result


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("name", SCRIPTS)
def test_hostile_scripts(name: str, many: int) -> None:
    script = SCRIPTS[name](many)
    searched(script, "text/javascript")
    inside = searched(f"<script>{script}</script><a href=/last>", "text/html")

    assert [link.url for link in inside.links if link.hop == "L"] == ["https://site.test/last"]


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("name", JSON)
def test_hostile_json(name: str, many: int) -> None:
    text = JSON[name](many)
    searched(text, "application/json")
    searched(text, "application/ld+json")


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("name", XML)
def test_hostile_xml(name: str, many: int) -> None:
    text = XML[name](many)
    searched(text, "application/xml")
    searched(text, "application/vnd.own+xml")


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("name", DASH)
def test_hostile_manifests(name: str, many: int) -> None:
    searched(DASH[name](many), "application/dash+xml")


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("spaces", ["charset={}", "charset{}=a", "charset='{}"])
def test_hostile_content_types(spaces: str, many: int) -> None:
    assert searched("<a href=/x>", f"text/html; {spaces.format(' ' * (5 * many))};").links


@pytest.mark.parametrize("many", MANY)
@pytest.mark.parametrize("name", HTML)
def test_hostile_pages(name: str, many: int) -> None:
    assert searched(HTML[name](many), "text/html")
