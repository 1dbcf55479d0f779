"""The files of the load are computed from an index, the same in every process. Nothing is kept on disk.

The 4,000 files have 23 KB on average. Their sizes are spread as on the web: many are small, few are large. Two thirds
are text, which compresses about three to one, and one third are random bytes. The name of a set stands in front of the
content, so that the files of one set are never duplicates of another set.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import dataclass
from typing import Final

FILES: Final = 4000
MEAN_BYTES: Final = 23_000
SMALLEST_BYTES: Final = 400
_SIGMA: Final = 1.0
"""Standard deviation of the logarithm of the sizes. With 1.0, half of the files are smaller than 0.6 of the mean."""
_POOL_BYTES: Final = 1 << 21
_SLICE_BYTES: Final = 384


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A file of the corpus, without the name of its set."""

    media_type: str
    content: bytes


class Corpus:
    """The corpus has `files` files. A higher index repeats a file with another prefix."""

    def __init__(self, files: int = FILES) -> None:
        draw = random.Random(23)
        pool = _text_pool(draw)
        sizes = _sizes(draw, files)
        self._files = [_file(draw, pool, index, size) for index, size in enumerate(sizes)]

    def file(self, index: int) -> CorpusFile:
        """Return the file of any index."""
        return self._files[index % len(self._files)]

    def content(self, name: str, index: int) -> bytes:
        """Return the whole body that the origin sends for file `index` of set `name`."""
        return prefix(name, index) + self.file(index).content

    def length(self, name: str, index: int) -> int:
        """Return the length of that body."""
        return len(prefix(name, index)) + len(self.file(index).content)

    def sha1(self, name: str, index: int) -> bytes:
        """Return the SHA-1 of that body."""
        return hashlib.sha1(self.content(name, index), usedforsecurity=False).digest()


def path(name: str, index: int) -> str:
    """Return where the origin serves file `index` of set `name`."""
    return f"/{name}/{index}"


def prefix(name: str, index: int) -> bytes:
    """Return the bytes in front of a file, which differ in each set."""
    return f"<!-- {name} {index:08d} -->\n".encode()


def _file(draw: random.Random, pool: bytes, index: int, size: int) -> CorpusFile:
    if index % 3 == 2:
        return CorpusFile("image/jpeg", b"\xff\xd8\xff\xe0" + draw.randbytes(size))
    slices = (draw.randrange(len(pool) - _SLICE_BYTES) for _ in range(size // _SLICE_BYTES + 1))
    text = b"".join(pool[at : at + _SLICE_BYTES] for at in slices)
    return CorpusFile("text/html; charset=utf-8", text[:size])


def _sizes(draw: random.Random, files: int) -> list[int]:
    """Return log-normal sizes, scaled to the mean."""
    raw = [draw.lognormvariate(0, _SIGMA) for _ in range(files)]
    scale = MEAN_BYTES * files / sum(raw)
    return [max(SMALLEST_BYTES, int(size * scale)) for size in raw]


def _text_pool(draw: random.Random) -> bytes:
    """Return random sentences with markup between them. The words follow Zipf's law, as in natural text."""
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    words = ["".join(draw.choices(letters, range(26, 0, -1), k=draw.randint(2, 10))) for _ in range(4000)]
    cumulative = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    out: list[str] = []
    length = 0
    while length < _POOL_BYTES:
        sentence = " ".join(draw.choices(words, cum_weights=cumulative, k=draw.randint(6, 24)))
        out.append(f'<p class="text" id="{words[draw.randrange(4000)]}">{sentence}.</p>\n')
        length += len(out[-1])
    return "".join(out).encode()
