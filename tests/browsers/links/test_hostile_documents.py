"""The worst documents of each kind are searched in a time that grows with their length alone.

Each input is several megabytes long. A search that reads a part of it again and again takes hours, so the time limit of
a test is the bound here.
"""

from __future__ import annotations

import pytest

from browsers.links.collector import MAX_GUESSES, MAX_LINKS
from browsers.links.documents import Links, links_of

MANY = 1_000_000
LARGE = 5_000_000
PAGE = "https://site.test/dir/page"

SCRIPTS = {
    "quotes": '"' * LARGE,
    "quotes of both kinds": "\"'" * MANY,
    "one open quote": '"' + "a/" * MANY,
    "open quotes": '"aaaa/' * MANY,
    "short texts": '"a/"' * MANY,
    "long texts": '"' + ("/" + "a" * 1_999 + '"') * 1_000,
    "texts beyond the bound": ('"/' + "a" * 2_500 + '"') * 1_000,
    "backslashes": "\\" * LARGE,
    "escaped quotes": '\\"' * MANY,
    "escaped slashes": '"' + "\\/" * MANY + '"',
    "brackets": "[" * LARGE,
    "dots": '"' + "." * LARGE,
    "paths": '"/aa/bb' * MANY,
    "references": "&quot;" * MANY,
    "plus": "'/aa/bb'+" * 500_000,
    "written quotes": "\\u0022" * MANY,
}
JSON = {
    "brackets": "[" * 10_000_000,
    "braces": '{"a":' * MANY,
    "deep and closed": "[" * 100_000 + "]" * 100_000,
    "quotes": '"' * LARGE,
    "open string of escapes": '"' + '\\"' * MANY,
    "open string and backslash": '"' + '\\"' * MANY + "\\",
    "spaces behind strings": ('"a"' + " " * 50) * 50_000,
    "strings": '"/aa/bb",' * 500_000,
    "numbers": "1," * MANY,
}
XML = {
    "deep": "<a>" * MANY,
    "open tags": "<a href='" * MANY,
    "texts": "<a>https://site.test/x" * 200_000,
    "spaces": "<a>" + (" " * 199 + "<a>") * 20_000,
    "cdata": "<a><![CDATA[" * 300_000,
    "attributes": "<a " + " ".join(f"b{n}='/x'" for n in range(100_000)) + "/>",
    "entities": "<!DOCTYPE a [" + "".join(f'<!ENTITY e{n} "&e{n - 1};&e{n - 1};">' for n in range(1, 5000)) + "]><a/>",
}
DASH = {
    "deep": "<MPD>" + "<Period>" * MANY,
    "levels": "<MPD>" + "<Period><AdaptationSet><Representation>" * 200_000,
    "bases": "<MPD>" + "<BaseURL>a/</BaseURL>" * 200_000,
    "representations": "<MPD><Period><AdaptationSet>"
    + "<Representation><BaseURL>a</BaseURL></Representation>" * 100_000,
    "timeline": "<MPD><Period><AdaptationSet><SegmentTemplate media='$Time$'><SegmentTimeline>"
    + "<S d='1' r='999999999'/>" * 100_000
    + "</SegmentTimeline></SegmentTemplate>"
    + "<Representation id='a'></Representation>" * 1_000,
    "long film": "<MPD mediaPresentationDuration='PT999999999H'><Period><AdaptationSet>"
    "<SegmentTemplate media='$Number%099d$' duration='1' timescale='1000000'/>" + "<Representation/>" * 1_000,
    "template": f"<MPD><Period><AdaptationSet><SegmentTemplate media='{'$Number$' * 100_000}'/><Representation/>",
    "numbers": "<MPD><Period><AdaptationSet><SegmentTemplate media='$Number$' "
    f"startNumber='{'9' * 10_000}'/><Representation/>",
    "entities": "<!DOCTYPE MPD [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><MPD><BaseURL>&b;</BaseURL>",
}
HTML = {
    "conditional comments": "<!--[if IE]>" * MANY,
    "conditional comments that end": "<!--[if IE]><![endif]-->" * 300_000,
    "conditions": "<!--[if " * MANY,
    "conditions of spaces": "<!--" + (" " * 19 + "[if" + " " * 19) * 100_000,
    "scripts": "<script>x='/aa/bb'</script>" * 200_000,
    "handlers": "<b onclick=go('/aa/bb')>" * 200_000,
    "attributes of scripts": "<b data-x='{\"/aa/bb\"}'>" * 200_000,
    "values of scripts": f"<b data-x='{'/' * MANY}'>" * 4,
    "backgrounds": f"<b data-bg='url({'(' * 200_000}'>" * 10,
    "descriptions": '<script type="application/ld+json">[[[[</script>' * 100_000,
    "deep description": '<script type="application/ld+json">' + "[" * 500_000 + "</script>",
    "long description": '<script type="application/ld+json">[' + '"/a",' * 150_000 + "1]</script>",
    "flashvars": f"<embed flashvars='{'a=b&' * 500_000}'>",
    "archives": f"<applet archive='{'a,' * MANY}'></applet>",
    "metas": "<meta property=og:url content=http://site.test/x>" * 100_000,
}


def searched(body: str, content_type: str) -> Links:
    result = links_of(PAGE, 200, {"content-type": content_type}, body.encode())
    assert len(result.links) <= MAX_LINKS
    if content_type in ("text/html", "text/javascript"):
        assert sum(link.hop == "X" for link in result.links) <= MAX_GUESSES
    return result


@pytest.mark.parametrize("name", SCRIPTS)
def test_hostile_scripts(name: str) -> None:
    searched(SCRIPTS[name], "text/javascript")
    inside = searched(f"<script>{SCRIPTS[name]}</script><a href=/last>", "text/html")

    assert [link.url for link in inside.links if link.hop == "L"] == ["https://site.test/last"]


@pytest.mark.parametrize("name", JSON)
def test_hostile_json(name: str) -> None:
    searched(JSON[name], "application/json")
    searched(JSON[name], "application/ld+json")


@pytest.mark.parametrize("name", XML)
def test_hostile_xml(name: str) -> None:
    searched(XML[name], "application/xml")


@pytest.mark.parametrize("name", DASH)
def test_hostile_manifests(name: str) -> None:
    searched(DASH[name], "application/dash+xml")


@pytest.mark.parametrize("name", HTML)
def test_hostile_pages(name: str) -> None:
    assert searched(HTML[name], "text/html")
