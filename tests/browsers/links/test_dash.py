"""Which parts of a film a DASH manifest names."""

from __future__ import annotations

import pytest

from browsers.links.collector import MAX_LINKS
from browsers.links.documents import links_of, may_have_links

MPD = "https://site.test/film/x.mpd"
ONE = "<Representation><BaseURL>1.mp4</BaseURL></Representation>"
HEAD = '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"'


def found(body: str, content_type: str = "application/dash+xml") -> list[str]:
    """The URLs below the folder of the manifest; all are embeds."""
    links = links_of(MPD, 200, {"content-type": content_type}, body.encode()).links
    assert {link.hop for link in links} <= {"E"}
    return [link.url.removeprefix("https://site.test/film/") for link in links]


def film(inside: str, attributes: str = 'mediaPresentationDuration="PT10S"') -> str:
    return f"{HEAD} {attributes}><Period>{inside}</Period></MPD>"


def test_numbered_segments_last_as_long_as_the_film() -> None:
    body = film(
        '<AdaptationSet><SegmentTemplate initialization="$RepresentationID$/i.mp4" duration="4000" timescale="1000"'
        ' media="$RepresentationID$/$Number%03d$.m4s" startNumber="5"/>'
        '<Representation id="v1" bandwidth="100"/><Representation id="v2" bandwidth="200"/></AdaptationSet>'
    )

    assert found(body) == [
        f"{one}/{name}" for one in ("v1", "v2") for name in ("i.mp4", "005.m4s", "006.m4s", "007.m4s")
    ]


def test_a_timeline_gives_times() -> None:
    body = film(
        '<AdaptationSet><SegmentTemplate media="$Bandwidth$-$Time$$$.m4s" timescale="2"><SegmentTimeline>'
        '<S t="10" d="4" r="1"/><S d="2"/></SegmentTimeline></SegmentTemplate><Representation bandwidth="9"/>'
        "</AdaptationSet>"
    )

    assert found(body) == ["9-10$.m4s", "9-14$.m4s", "9-18$.m4s"]


def test_a_repeat_without_number_lasts_to_the_end() -> None:
    body = film(
        '<AdaptationSet><SegmentTemplate media="$Number$"><SegmentTimeline><S t="0" d="3" r="-1"/></SegmentTimeline>'
        "</SegmentTemplate><Representation/></AdaptationSet>",
        'mediaPresentationDuration="PT0H0M9.0S"',
    )

    assert found(body) == ["1", "2", "3"]


def test_bases_are_below_each_other_and_files_are_whole_films() -> None:
    body = (
        f"{HEAD}><BaseURL>media/</BaseURL><BaseURL>https://other.test/</BaseURL><Period><AdaptationSet>"
        "<BaseURL>a/</BaseURL><Representation><BaseURL>low.mp4</BaseURL>"
        "<SegmentBase><Initialization range='0-9'/></SegmentBase></Representation>"
        "<Representation><BaseURL>high.mp4</BaseURL></Representation></AdaptationSet>"
        "<AdaptationSet><Representation><SegmentList><Initialization sourceURL='i.mp4'/><SegmentURL media='1.m4s'/>"
        "<SegmentURL media='2.m4s' index='2.idx'/></SegmentList></Representation></AdaptationSet></Period></MPD>"
    )

    assert sorted(found(body)) == sorted(
        ["media/a/low.mp4", "media/a/high.mp4", "media/i.mp4", "media/1.m4s", "media/2.m4s", "media/2.idx"]
    )


def test_further_parts_of_a_manifest_are_named_by_links() -> None:
    link = "xmlns:xlink='http://www.w3.org/1999/xlink' xlink:href='p2.xml'"
    body = f"{HEAD}><Period {link}/><Location>new.mpd</Location></MPD>"

    assert found(body) == ["p2.xml", "new.mpd"]


def test_a_broken_manifest_gives_what_came_before() -> None:
    body = f"{HEAD}><Period><AdaptationSet>{ONE}<Representation><BaseURL>2.mp4</BaseURL></x>"

    assert found(body) == ["1.mp4", "2.mp4"]


@pytest.mark.parametrize("content_type", ["application/dash+xml", "application/xml", "video/mp4", "text/plain", ""])
def test_a_manifest_is_known_by_its_content(content_type: str) -> None:
    body = f"{HEAD}><Period><AdaptationSet>{ONE}</AdaptationSet></Period></MPD>"

    assert found(body, content_type) == ["1.mp4"]
    assert may_have_links(MPD, {"content-type": content_type})


def test_the_first_quality_of_each_set_comes_first_and_the_rest_is_bounded() -> None:
    sets = "".join(
        f"<AdaptationSet><SegmentTemplate media='{kind}$RepresentationID$-$Number$' duration='1'/>"
        + "".join(f"<Representation id='{number}'/>" for number in range(5))
        + "</AdaptationSet>"
        for kind in "va"
    )

    result = links_of(MPD, 200, {}, film(sets, 'mediaPresentationDuration="PT2500S"').encode())

    names = {link.url.rpartition("/")[2].partition("-")[0] for link in result.links[:5000]}
    assert names == {"v0", "a0"}
    assert len(result.links) == MAX_LINKS
    assert result.annotations[0].startswith("links-dropped:")
