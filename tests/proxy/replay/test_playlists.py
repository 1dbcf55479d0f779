"""Playlists: players are offered the variants of a stream that were captured."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from proxy.replay.playlists import is_playlist, playlist_edit

BASE = "https://a.example/film"
MASTER = """#EXTM3U
#EXT-X-VERSION:7
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Sound",URI="audio.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=200000,AVERAGE-BANDWIDTH=900000,RESOLUTION=320x180
low/index.m3u8
#EXT-X-STREAM-INF:AVERAGE-BANDWIDTH=100,BANDWIDTH=900000,RESOLUTION=640x360
# a remark
middle/index.m3u8?token=1
#EXT-X-STREAM-INF:BANDWIDTH=2500000,RESOLUTION=1280x720
https://cdn.example/high.m3u8
"""
LOW, MIDDLE, HIGH = f"{BASE}/low/index.m3u8", f"{BASE}/middle/index.m3u8?token=1", "https://cdn.example/high.m3u8"
DASH = """<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL> media/ </BaseURL><Period>
<AdaptationSet mimeType="video/mp4"><SegmentTemplate media="$RepresentationID$/$Number%05d$.m4s"/>
<Representation id="v1" bandwidth="200"/><Representation id='v2' bandwidth="900"><x/></Representation></AdaptationSet>
<AdaptationSet mimeType="audio/mp4"><Representation id="a1"><BaseURL>a.mp4?x=1&amp;y=2</BaseURL></Representation>
<Representation id="a2"><BaseURL>b.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>"""
V1, V2 = f"{BASE}/media/v1/00001.m4s", f"{BASE}/media/v2/00007.m4s"
A1, A2 = f"{BASE}/media/a.mp4?x=1&y=2", f"{BASE}/media/b.mp4"


def edited(text: str | bytes, captured: Collection[str], name: str = "master") -> str | None:
    def is_captured(url: str, is_beginning: bool) -> bool:
        return any(each.startswith(url) for each in captured) if is_beginning else url in captured

    content = text.encode() if isinstance(text, str) else text
    changed = playlist_edit(f"{BASE}/{name}", is_captured)(content)
    return None if changed is None else changed.decode()


def addresses(text: str | None) -> list[str]:
    assert text is not None
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize(
    ("captured", "offered"),
    [
        ([LOW], ["low/index.m3u8"] * 3),
        ([MIDDLE], ["middle/index.m3u8?token=1"] * 3),
        ([LOW, HIGH], ["low/index.m3u8", "low/index.m3u8", "https://cdn.example/high.m3u8"]),
    ],
)
def test_the_nearest_captured_variant_stands_in_the_place_of_others(captured: list[str], offered: list[str]) -> None:
    changed = edited(MASTER, captured)
    assert addresses(changed) == offered
    assert changed is not None
    assert changed.count("#EXT-X-STREAM-INF") == 3
    assert changed.startswith(MASTER[: MASTER.index("#EXT-X-STREAM")])
    assert ("a remark" in changed) == (MIDDLE in captured), "the lines of a variant stay together"
    assert addresses(edited(MASTER.replace("\n", "\r\n"), captured)) == offered


@pytest.mark.parametrize(("text", "captured"), [(MASTER, [LOW, MIDDLE, HIGH]), (DASH, [V1, V2, A1, A2])])
def test_a_playlist_of_which_all_or_nothing_was_captured_stays(text: str, captured: list[str]) -> None:
    assert edited(text, captured) is None
    assert edited(text, []) is None


def test_representations_that_were_not_captured_are_left_out() -> None:
    changed = edited(DASH, [V2, A1])
    assert changed is not None
    assert [name in changed for name in ("v1", "v2", "a1", "a2")] == [False, True, True, False]
    assert changed.endswith("</AdaptationSet></Period></MPD>")
    only_sound = edited(DASH, [A2])
    assert only_sound is not None
    assert [name in only_sound for name in ("v1", "v2", "a1", "a2")] == [True, True, False, True]


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n#EXTINF:4,\nseg0.ts\n#EXTINF:4,\nseg1.ts\n",
        "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow/index.m3u8\n",
        "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow/index.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2\nhttp://[x/y\n",
        DASH.replace("$RepresentationID$/", "").partition('<AdaptationSet mimeType="audio')[0] + "</Period></MPD>",
        "a film",
        b"#EXTM3U\n\xff\xfe",
        "",
    ],
)
def test_other_texts_stay(text: str | bytes) -> None:
    assert edited(text, [LOW, f"{BASE}/media/00001.m4s"]) is None


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n" + "#EXT-X-STREAM-INF:BANDWIDTH=1\nlow/index.m3u8\n" * 5_000,
        "#EXTM3U\n" + "#EXT-X-STREAM-INF:\n" * 13_000,
        "#EXTM3U\n#EXT-X-STREAM-INF:\n" + "#\n" * 130_000,
        "<MPD>" + "<AdaptationSet>" * 17_000,
        "<MPD><AdaptationSet>" + "<Representation>" * 16_000,
        "<MPD>" + "<AdaptationSet><Representation>" * 60 + "x" * 250_000,
        "<MPD><BaseURL>" + " " * 250_000,
        "<MPD><AdaptationSet><Representation id" + " " * 250_000 + "/></AdaptationSet>",
        "#EXTM3U\n" + "x" * 2_000_000,
    ],
    ids=range(9),
)
def test_the_worst_playlists_are_read_within_bounds(text: str) -> None:
    """The test would take minutes if a pattern tried every way through such a text."""
    asked: list[str] = []

    def is_captured(url: str, _: bool) -> bool:
        asked.append(url)
        return len(asked) % 2 == 0

    assert playlist_edit(f"{BASE}/master", is_captured)(text.encode()) is None
    assert len(asked) <= 64


def test_playlists_are_known_by_type_and_by_name() -> None:
    assert is_playlist("application/vnd.apple.mpegurl", f"{BASE}/x")
    assert is_playlist("text/plain", f"{BASE}/a.M3U8?x=1")
    assert is_playlist(None, f"{BASE}/a.mpd#t")
    assert not is_playlist("text/plain", f"{BASE}/a?b=.m3u8")
