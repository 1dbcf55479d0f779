"""The files of the load: from an index to content, the same in every process, nothing kept on disk.

4,000 files of 23 KB mean, sizes spread as on the web (many small, few large), two thirds of them text that
packs about three to one and one third bytes that don't pack. A set name in front of the content makes the same
file distinct in another round, so that one set never deduplicates against another.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from typing import Final

FILES: Final = 4000
MEAN_BYTES: Final = 23_000
SMALLEST_BYTES: Final = 400
_SIGMA: Final = 1.0
"""Spread of the logarithm of the sizes; 1.0 puts half of the files under 0.6 of the mean."""
_POOL_BYTES: Final = 1 << 21
_SLICE_BYTES: Final = 384


@dataclass(frozen=True, slots=True)
class File:
    """One file as an origin serves it, its set name apart."""

    media_type: str
    content: bytes


class Corpus:
    """The first `files` files of the load; further indexes repeat them behind another set name."""

    def __init__(self, files: int = FILES) -> None:
        draw = random.Random(23)
        pool = _text_pool(draw)
        sizes = _sizes(draw, files)
        self._files = [_file(draw, pool, index, size) for index, size in enumerate(sizes)]

    def file(self, index: int) -> File:
        """The file behind an index of any size."""
        return self._files[index % len(self._files)]

    def content(self, name: str, index: int) -> bytes:
        """The whole body that the origin sends for file `index` of set `name`."""
        return prefix(name, index) + self.file(index).content

    def length(self, name: str, index: int) -> int:
        """The length of that body."""
        return len(prefix(name, index)) + len(self.file(index).content)

    def sha1(self, name: str, index: int) -> bytes:
        """SHA-1 of that body."""
        return hashlib.sha1(self.content(name, index), usedforsecurity=False).digest()


def path(name: str, index: int) -> str:
    """Where the origin serves file `index` of set `name`."""
    return f"/{name}/{index}"


def prefix(name: str, index: int) -> bytes:
    """What makes the content of one set differ from that of all others."""
    return f"<!-- {name} {index:08d} -->\n".encode()


def _file(draw: random.Random, pool: bytes, index: int, size: int) -> File:
    if index % 3 == 2:
        return File("image/jpeg", b"\xff\xd8\xff\xe0" + draw.randbytes(size))
    slices = (draw.randrange(len(pool) - _SLICE_BYTES) for _ in range(size // _SLICE_BYTES + 1))
    text = b"".join(pool[at : at + _SLICE_BYTES] for at in slices)
    return File("text/html; charset=utf-8", text[:size])


def _sizes(draw: random.Random, files: int) -> list[int]:
    """Log-normal sizes, scaled so that the mean is met exactly enough."""
    raw = [draw.lognormvariate(0, _SIGMA) for _ in range(files)]
    scale = MEAN_BYTES * files / sum(raw)
    return [max(SMALLEST_BYTES, int(size * scale)) for size in raw]


def _text_pool(draw: random.Random) -> bytes:
    """Made-up sentences with markup between them: words by Zipf's law, as in running text."""
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    words = ["".join(draw.choices(letters, range(26, 0, -1), k=draw.randint(2, 10))) for _ in range(4000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    out: list[str] = []
    length = 0
    while length < _POOL_BYTES:
        sentence = " ".join(draw.choices(words, weights, k=draw.randint(6, 24)))
        out.append(f'<p class="text" id="{words[draw.randrange(4000)]}">{sentence}.</p>\n')
        length += len(out[-1])
    return "".join(out).encode()
