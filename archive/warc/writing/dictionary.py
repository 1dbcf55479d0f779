"""A collection may have a zstd dictionary, which is trained on its own records and used for later records.

The dictionary is at the start of each file that was written with it, so each file can be read by itself.
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
from archive.warc.compression.zstd_frame import ZstdFrameWriter, checked_dictionary
from archive.warc.reading.reader import records

FILE_NAME: Final = "records.zdict"
"""In the folder of the collection, unless asked otherwise."""
DEFAULT_SIZE: Final = 112_640
"""The default is that of zstd's own command."""
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
    """A trained dictionary has its measured benefit: the size of other records without and with it."""

    data: bytes
    number: int
    samples: int
    packed_bytes: int
    packed_bytes_with: int

    @property
    def gain(self) -> float:
        """Return the saved part of the compressed size, from 0 to 1.

        The number is negative when the dictionary does harm.
        """
        return 1 - self.packed_bytes_with / self.packed_bytes if self.packed_bytes else 0.0


def frame_writer(settings: ArchiveSettings) -> ZstdFrameWriter | None:
    """Return the writer of zstd frames when records are compressed with zstd.

    Raises SettingsError for a bad dictionary.
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
    """Return a dictionary of at most `size` bytes, trained on at most `samples` records of the files.

    The records are chosen at random, each with the same chance. Raises ValueError when there are too few records,
    OSError and WarcError for files that can't be read.
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
    return Trained(data, number, len(learned), packed, packed_with)


def save(data: bytes, path: Path) -> None:
    """Write a dictionary durably and replace an older file. Raises OSError."""
    with replacement(path) as file:
        file.write(data)


def _starts(paths: Iterable[Path]) -> Iterator[bytes]:
    """Yield the start of each record of the files: its header, and the part of the block that is used for training."""
    for path in paths:
        for record in records(path):
            found = bytearray(record.header)
            for piece in record.block():
                found += piece
                if len(found) >= _SAMPLE_BYTES:
                    break
            yield bytes(found[:_SAMPLE_BYTES])


def _chosen(starts: Iterator[bytes], count: int, random: Random) -> list[bytes]:
    """Return `count` items, each chosen with the same chance. Memory holds `count` items (reservoir sampling)."""
    chosen = list(islice(starts, count))
    for place, start in enumerate(starts, len(chosen)):
        if (chance := random.randrange(place + 1)) < count:
            chosen[chance] = start
    return chosen


def _packed_size(starts: Sequence[bytes], level: int, dictionary: bytes) -> int:
    packer = ZstdFrameWriter(level, dictionary)
    return sum(len(packer.packed(start)) for start in starts)
