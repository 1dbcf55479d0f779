"""A collection may have a zstd dictionary, trained on its own records and used to write the next ones.

It stands at the start of every file that is written with it, so that a file needs nothing beside it to be read.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import zstandard

from archive.files import replacement
from archive.settings import ArchiveSettings
from archive.settings.load import SettingsError
from archive.warc.reader import records
from archive.warc.zstd_frame import ZstdFrameWriter, checked_dictionary

FILE_NAME: Final = "records.zdict"
"""In the folder of the collection, unless asked otherwise."""
DEFAULT_SIZE: Final = 112_640
"""What zstd's own command takes."""
DEFAULT_SAMPLES: Final = 4_000
FEWEST: Final = 20
"""Records; with less to learn from, zstd refuses or learns them by heart."""
_SAMPLE_BYTES: Final = 32_768
"""Of each record's start: a dictionary helps with the first part of a frame."""
_IDS: Final = range(32_768, 1 << 31)
"""Numbers of dictionaries that nobody registers (RFC 8878 section 5)."""
_HELD_OUT: Final = 10


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained dictionary carries its measured benefit: bytes of unseen records, packed without and with it."""

    data: bytes
    number: int
    samples: int
    plain_bytes: int
    packed_bytes: int
    packed_bytes_with: int

    @property
    def gain(self) -> float:
        """Return which part of the packed size it saves; negative when it does harm."""
        return 1 - self.packed_bytes_with / self.packed_bytes if self.packed_bytes else 0.0


def frame_writer(settings: ArchiveSettings) -> ZstdFrameWriter | None:
    """Return what packs records when they are to be in zstd. Raises SettingsError for a dictionary that can't be
    used.
    """
    if settings.compression != "zstd":
        return None
    return ZstdFrameWriter(settings.zstd_level, load(settings.zstd_dictionary) if settings.zstd_dictionary else b"")


@lru_cache(maxsize=4)
def load(path: str) -> bytes:
    """Return the dictionary in a file. Raises SettingsError."""
    try:
        return checked_dictionary(Path(path).expanduser().read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"setting archive.zstd_dictionary = {path!r} can't be used: {reason}") from error


def train(
    paths: Iterable[Path], *, level: int, size: int = DEFAULT_SIZE, samples: int = DEFAULT_SAMPLES, seed: int = 0
) -> Trained:
    """Return a dictionary of at most `size` bytes from at most `samples` records, chosen evenly among those of the
    files.

    Raises ValueError when there are too few records, OSError and WarcError for files that can't be read.
    """
    chosen = _chosen(_starts(paths), samples, Random(seed))
    held_out, learned = chosen[::_HELD_OUT], [each for place, each in enumerate(chosen) if place % _HELD_OUT]
    if len(learned) < FEWEST:
        raise ValueError(f"{len(chosen)} records are too few to learn from; {FEWEST + FEWEST // _HELD_OUT + 1} will do")
    number = _IDS[secrets.randbelow(len(_IDS))]
    try:
        data = zstandard.train_dictionary(size, [*learned], dict_id=number, level=level).as_bytes()
    except zstandard.ZstdError as error:
        raise ValueError(f"zstd can't make a dictionary of {size} bytes from these records: {error}") from error
    packed, packed_with = _packed_size(held_out, level, b""), _packed_size(held_out, level, data)
    return Trained(data, number, len(learned), sum(map(len, held_out)), packed, packed_with)


def save(data: bytes, path: Path) -> None:
    """Write a dictionary durably, in place of an older file. Raises OSError."""
    with replacement(path) as file:
        file.write(data)


def _starts(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield how each record of the files begins: its header, and as much of the block as is looked at."""
    for path in paths:
        for record in records(path):
            found = bytearray(record.header)
            for piece in record.block():
                found += piece
                if len(found) >= _SAMPLE_BYTES:
                    break
            yield bytes(found[:_SAMPLE_BYTES])


def _chosen(starts: Iterator[bytes], count: int, random: Random) -> list[bytes]:
    """Return some of them, each with the same chance, in memory for `count` only (reservoir sampling)."""
    chosen = list(islice(starts, count))
    for place, start in enumerate(starts, len(chosen)):
        if (chance := random.randrange(place + 1)) < count:
            chosen[chance] = start
    return chosen


def _packed_size(starts: Sequence[bytes], level: int, dictionary: bytes) -> int:
    packer = ZstdFrameWriter(level, dictionary)
    return sum(len(packer.packed(start)) for start in starts)
