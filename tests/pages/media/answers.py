"""The pages of this folder get these answers of the server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from support.pages.feature import Answers, File, Question, Reply


def _ranged(body: bytes, kind: str) -> File:
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


_FOLDER: Final = Path(__file__).parents[2] / "support" / "pages" / "media"
_FILM: Final = _ranged((_FOLDER / "blue.webm").read_bytes(), "video/webm")
_MP4: Final = (_FOLDER / "blue.mp4").read_bytes()
_CUTS: Final = tuple(len(_MP4) * at // 4 for at in range(5))
_SEGMENTS: Final[Mapping[str, File]] = {
    f"{quality}/seg{at}.mp4": Reply(_MP4[_CUTS[at] : _CUTS[at + 1]], "video/mp4")
    for quality in ("low", "high")
    for at in range(4)
}


def _window(question: Question) -> Reply:
    """Answer a live playlist, whose window moves by one segment each time it is asked for, until it ends."""
    at = question.count("window")
    lines = [f"#EXTINF:0.5,\nlive/352x2{number}-segment{number}.png" for number in range(at, at + 2)]
    end = "\n#EXT-X-ENDLIST" if at >= 4 else ""
    text = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:{at}\n" + "\n".join(lines) + end + "\n"
    return Reply(text, "application/vnd.apple.mpegurl", headers=(("Cache-Control", "no-cache"),))


ANSWERS: Final[Answers] = {
    "video-webm": {"film.webm": _FILM},
    "video-sources": {"film.mp4": _ranged(_MP4, "video/mp4")},
    "hls-adaptive": _SEGMENTS,
    "dash": _SEGMENTS,
    "hls-live": {"live.m3u8": _window},
    "lecture-playlist": {f"films/{name}.webm": _FILM for name in ("one", "two", "three")},
    "timeline-thumbnails": {"film.webm": _FILM},
}
