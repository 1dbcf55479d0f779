"""Links of web app manifests and of HLS playlists."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from browsers.links.collector import MAX_LINKS
from browsers.links.documents import Links, links_of, may_have_links
from browsers.links.manifests import MAX_ENTRIES, TYPES

URL = "https://site.test/app/file"
APP = {"content-type": "application/manifest+json"}
PLAYLIST = {"content-type": "application/vnd.apple.mpegurl; charset=utf-8"}


def found(body: str, headers: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (link.url.removeprefix("https://site.test/"), link.hop)
        for link in links_of(URL, 200, headers, body.encode()).links
    ]


def test_a_web_app_manifest_names_icons_screenshots_shortcuts_and_a_start_page() -> None:
    manifest = {
        "start_url": "/start",
        "icons": [{"src": "a.png", "sizes": "192x192"}, {"src": "/b.svg"}],
        "screenshots": [{"src": "c.webp"}],
        "shortcuts": [{"url": "/news", "icons": [{"src": "d.png"}]}],
    }

    assert found(json.dumps(manifest), APP) == [
        ("app/a.png", "E"),
        ("b.svg", "E"),
        ("app/c.webp", "E"),
        ("news", "L"),
        ("app/d.png", "E"),
        ("start", "L"),
    ]


def test_a_playlist_names_variants_segments_and_keys() -> None:
    text = (
        '#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,URI="audio/en.m3u8",NAME="a"\r\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow/i.m3u8\n'
        '# a comment URI="no"\n#EXT-X-MAP:URI="init.mp4"\n#EXTINF:4,\nhttps://cdn.test/seg1.mp4\n\n'
    )

    assert found(text, PLAYLIST) == [
        ("app/audio/en.m3u8", "E"),
        ("app/low/i.m3u8", "E"),
        ("app/init.mp4", "E"),
        ("https://cdn.test/seg1.mp4", "E"),
    ]
    assert found("low/i.m3u8\n", PLAYLIST) == []


def test_manifests_of_odd_shapes_and_sizes_give_bounded_answers() -> None:
    assert found('{"icons": {"src": "a"}, "shortcuts": [1, {"icons": 2}], "start_url": 7}', APP) == []
    assert found("[" * 100_000, APP) == []
    many = json.dumps({"icons": [{"src": f"{n}.png"} for n in range(MAX_ENTRIES * 10)]})
    assert len(found(many, APP)) == MAX_ENTRIES
    assert len(found("#EXTM3U\n" + "".join(f"seg{n}.ts\n" for n in range(MAX_LINKS * 3)), PLAYLIST)) == MAX_LINKS


def test_manifests_are_read_for_links() -> None:
    assert all(may_have_links(URL, {"content-type": kind}) for kind in TYPES)


@given(st.binary(max_size=300), st.sampled_from(sorted(TYPES)))
def test_junk_in_a_manifest_never_fails(body: bytes, content_type: str) -> None:
    assert isinstance(links_of(URL, 200, {"content-type": content_type}, b"#EXTM3U" + body), Links)
    assert isinstance(links_of(URL, 200, {"content-type": content_type}, body), Links)
