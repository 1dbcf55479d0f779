"""Features of video, audio and streams of segments."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from feature_site.feature import Act, Feature, File, Question, Reply, click

_FOLDER: Final = Path(__file__).parent / "media"
WEBM: Final = (_FOLDER / "blue.webm").read_bytes()
MP4: Final = (_FOLDER / "blue.mp4").read_bytes()
TONE: Final = (_FOLDER / "tone.webm").read_bytes()


def ranged(body: bytes, kind: str) -> File:
    """Return a file that is served by ranges."""

    def answer(question: Question) -> Reply:
        wanted = question.headers.get("range", "").removeprefix("bytes=")
        if not wanted:
            return Reply(body, kind, headers=(("Accept-Ranges", "bytes"),))
        first, _, last = wanted.partition("-")
        start, end = int(first or 0), min(int(last or len(body) - 1), len(body) - 1)
        if start > end:
            return Reply(status=416, headers=(("Content-Range", f"bytes */{len(body)}"),))
        head = (("Content-Range", f"bytes {start}-{end}/{len(body)}"), ("Accept-Ranges", "bytes"))
        return Reply(body[start : end + 1], kind, 206, head)

    return answer


_CUTS: Final = tuple(len(MP4) * at // 4 for at in range(5))
_SEGMENTS: Final[dict[str, File]] = {
    f"{quality}/seg{at}.mp4": Reply(MP4[_CUTS[at] : _CUTS[at + 1]], "video/mp4")
    for quality in ("low", "high")
    for at in range(4)
}
_VARIANT: Final = (
    "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n"
    + "".join(f"#EXTINF:0.5,\nseg{at}.mp4\n" for at in range(4))
    + "#EXT-X-ENDLIST\n"
)
_MASTER: Final = (
    "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=20000,RESOLUTION=64x48\nlow/index.m3u8\n"
    "#EXT-X-STREAM-INF:BANDWIDTH=90000,RESOLUTION=64x48\nhigh/index.m3u8\n"
)
_PLAYER: Final = (
    "const bytes = async path => new Uint8Array(await (await fetch(path)).arrayBuffer());"
    "const play = async (paths, part) => { const source = new MediaSource(); film.src = URL.createObjectURL(source);"
    "await new Promise(go => source.onsourceopen = go); const buffer = source.addSourceBuffer('video/mp4; codecs=\"avc1.42E01E\"');"
    "for (const path of paths) { buffer.appendBuffer(await bytes(path)); await new Promise(go => buffer.onupdateend = go); }"
    "source.endOfStream(); film.muted = true; await film.play(); film.requestVideoFrameCallback(() => proof.done(part)); };"
)
_HLS: Final = (
    "const lines = async path => (await (await fetch(path)).text()).split('\\n').filter(line => line && !line.startsWith('#'));"
    "(async () => { const variants = await lines('master.m3u8'); const chosen = variants[CHOICE];"
    "const folder = chosen.split('/')[0]; const segments = await lines(chosen); await play(segments.map(name => `${folder}/${name}`), 'playing'); })();"
)
_MPD: Final = (
    '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT2S"><Period><AdaptationSet mimeType="video/mp4">'
    '<SegmentTemplate media="$RepresentationID$/seg$Number$.mp4" startNumber="0" duration="1" timescale="2"/>'
    '<Representation id="low" bandwidth="20000" codecs="avc1.42E01E"/><Representation id="high" bandwidth="90000" codecs="avc1.42E01E"/></AdaptationSet></Period></MPD>'
)


def _hls(name: str, about: str, choice: str) -> Feature:
    return Feature(
        name,
        about,
        f"<video id=film width=64 height=48></video><script>{_PLAYER}{_HLS.replace('CHOICE', choice)}</script>",
        parts=("playing",),
        proofs=(r"master\.m3u8", r"(low|high)/index\.m3u8", *(rf"(low|high)/seg{at}\.mp4" for at in range(4))),
        files={
            "master.m3u8": Reply(_MASTER, "application/vnd.apple.mpegurl"),
            "low/index.m3u8": Reply(_VARIANT, "application/vnd.apple.mpegurl"),
            "high/index.m3u8": Reply(_VARIANT, "application/vnd.apple.mpegurl"),
            **_SEGMENTS,
        },
    )


MEDIA: Final = (
    Feature(
        "video-webm",
        "A WebM video with a poster plays by itself.",
        "<video src=film.webm poster='100x10-poster.png' autoplay muted onplaying=\"proof.done('playing')\"></video>"
        "<script>proof.resource('100x10-poster.png', 'poster');</script>",
        parts=("playing", "poster"),
        proofs=("film.webm", "100x10-poster.png"),
        files={"film.webm": ranged(WEBM, "video/webm")},
    ),
    Feature(
        "video-sources",
        "A video has sources, subtitles and the attribute preload=none, and plays after a click.",
        "<video id=film controls muted preload=none onplaying=\"proof.done('playing')\"><source src=film.xyz type='video/x-none'><source src=film.mp4 type='video/mp4'>"
        "<track kind=subtitles srclang=en src=words.vtt default></video><script>film.textTracks[0].mode = 'showing';"
        "document.querySelector('track').onload = () => proof.done('subtitles');</script>",
        parts=("playing", "subtitles"),
        proofs=("film.mp4", "words.vtt"),
        files={
            "film.mp4": ranged(MP4, "video/mp4"),
            "words.vtt": Reply("WEBVTT\n\n00:00.000 --> 00:02.000\nLeaf\n", "text/vtt"),
        },
        acts=(Act("evaluate", "film.play()"),),
    ),
    Feature(
        "video-button",
        "A button of the page's own makes the video and plays it.",
        "<button id=b class='play-button' aria-label='Play video'>▶</button><script>b.onclick = () => { const film = document.createElement('video'); film.muted = true; film.src = 'film.webm';"
        "film.onplaying = () => proof.done('playing'); document.body.append(film); film.play(); };</script>",
        parts=("playing",),
        proofs=("film.webm",),
        files={"film.webm": ranged(WEBM, "video/webm")},
        acts=(click("#b"),),
    ),
    Feature(
        "audio",
        "A sound is played, and another is decoded.",
        "<audio src=tone.webm autoplay muted onplaying=\"proof.done('playing')\"></audio><script>fetch('decoded.webm').then(a => a.arrayBuffer())"
        ".then(bytes => new OfflineAudioContext(1, 48000, 48000).decodeAudioData(bytes)).then(sound => sound.duration > 0.5 && proof.done('decoded'));</script>",
        parts=("playing", "decoded"),
        proofs=("tone.webm", "decoded.webm"),
        files={"tone.webm": ranged(TONE, "audio/webm"), "decoded.webm": Reply(TONE, "audio/webm")},
    ),
    Feature(
        "video-seek",
        "A script seeks in a video of 3 MB, so that ranges are asked for.",
        "<video id=film muted preload=metadata src=large.webm></video><script>film.onloadedmetadata = () => { film.currentTime = 0.5; film.onseeked = () => proof.done('seeked'); };</script>",
        parts=("seeked",),
        proofs=("large.webm",),
        # A Void element makes the file large.
        files={"large.webm": ranged(WEBM + b"\xec\x01" + (3_000_000).to_bytes(7) + bytes(3_000_000), "video/webm")},
    ),
    Feature(
        "media-source",
        "A script appends a video to a MediaSource.",
        f"<video id=film width=64 height=48></video><script>{_PLAYER} play(['film.mp4'], 'playing');</script>",
        parts=("playing",),
        proofs=("film.mp4",),
        files={"film.mp4": Reply(MP4, "video/mp4")},
    ),
    _hls("hls", "A player reads HLS playlists and plays the first variant.", "0"),
    _hls("hls-adaptive", "A player chooses the variant of HLS by the clock.", "Math.floor(performance.timeOrigin) % 2"),
    Feature(
        "dash",
        "A player reads a DASH manifest.",
        f"<video id=film width=64 height=48></video><script>{_PLAYER}(async () => {{ const xml = new DOMParser().parseFromString(await (await fetch('film.mpd')).text(), 'text/xml');"
        "const template = xml.querySelector('SegmentTemplate').getAttribute('media'), id = xml.querySelector('Representation').id;"
        "await play([0, 1, 2, 3].map(n => template.replace('$RepresentationID$', id).replace('$Number$', n)), 'playing'); })();</script>",
        parts=("playing",),
        proofs=(r"film\.mpd", *(rf"low/seg{at}\.mp4" for at in range(4))),
        files={"film.mpd": Reply(_MPD, "application/dash+xml"), **_SEGMENTS},
    ),
)
