"""The path of a URL shows whether the URL is a trap: it has too many segments, or repeats them. Pure."""

from __future__ import annotations

from typing import Final

_LONGEST_CYCLE: Final = 6


def path_segments(url: str) -> list[str]:
    """Return the segments of the path, without the empty one after a last slash."""
    path = url.partition("?")[0].partition("://")[2].partition("/")[2]
    return path.removesuffix("/").split("/") if path else []


def repeats(segments: list[str]) -> int:
    """Return how often the same run of up to six segments is repeated: 3 for /a/b/a/b/a/b/c."""
    most = 1
    for cycle in range(1, min(_LONGEST_CYCLE, len(segments) // 2) + 1):
        same = 0
        for place in range(cycle, len(segments)):
            same = same + 1 if segments[place] == segments[place - cycle] else 0
            most = max(most, same // cycle + 1)
    return most
