"""A file of queue lines has one JSON object on each line: a head, URLs with their state, and fingerprints of seen URLs.

| line | fields |
|---|---|
| head | `format`, `job`, `collection`, `exported` |
| URL | `url`, and those of `QueueEntry.as_json`; all but `url` may be missing |
| seen | `seen`: fingerprints (`frontier.seen`) |
| block of a Bloom filter | `block`: its number; `blocks` and `hashes` of the filter; `bits`: Base64 |
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from archive.dates import iso_date, now_micros
from archive.json_text import compact_json
from archive.url import UrlError, canonical
from frontier.definition.job import JobError, first_problem
from frontier.definition.scope import Candidate, Priority
from frontier.queues.desk import RestoredUrl, SeenBlock
from frontier.queues.entry import QueueEntry
from frontier.seen import BLOCK_BYTES, BloomFilter

FORMAT: Final = "ghostfleet-queue/1"
LONGEST_LINE: Final = 1_000_000
"""Bytes of a line. A longer line is refused."""
_MOST_MARKS: Final = 100_000
_PIECE: Final = 65_536
_LONGEST_URL: Final = 65_536
_TEN_YEARS: Final = 10 * 365 * 86_400
_MOST_GROWTH: Final = 250
"""Unpacked bytes for each packed one. URLs of one host have about 20, and gzip reaches 1,000."""
_FREE_BYTES: Final = 64_000_000
"""Unpacked bytes that are read of any file."""

Mark = Annotated[str, Field(pattern=r"^-?[0-9]{1,19}$")]
ShortText = Annotated[str, Field(max_length=_LONGEST_URL)]


class QueueLine(BaseModel):
    """A queue line has the fields of a URL in a file."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)

    url: str = Field(min_length=1, max_length=_LONGEST_URL)
    state: Literal["queued", "leased", "failed", "excluded"] = "queued"
    priority: Literal["system", "high", "standard"] = "standard"
    depth: int = Field(0, ge=0, le=1_000_000)
    hop_path: str = Field("", pattern=r"^(?:[0-9]{1,9}\+)?[A-Z]{0,100}$")
    via: ShortText | None = None
    source: ShortText | None = None
    is_seed: bool = False
    order: int | None = Field(None, ge=0, lt=1 << 39)
    code: int = Field(0, ge=-100_000, le=999)
    tries: int = Field(0, ge=0, le=1_000_000)
    rest_seconds: float = Field(0.0, ge=0, le=_TEN_YEARS)
    cookies: str = Field("", max_length=100_000)

    def restored(self) -> RestoredUrl:
        """Return the URL with its state. A leased URL is queued. Raises UrlError."""
        candidate = Candidate(
            url=canonical(self.url),
            hop_path=self.hop_path,
            via=self.via,
            source=self.source,
            depth=self.depth,
            is_seed=self.is_seed,
            priority=Priority[self.priority.upper()],
            cookies=self.cookies,
        )
        # A waiting URL of a host that was set aside is excluded without a code.
        is_open = self.state == "leased" or (self.state == "excluded" and not self.code)
        state = "queued" if is_open else self.state
        return RestoredUrl(candidate, state, self.code, self.tries, self.rest_seconds, self.order)


@dataclass(frozen=True, slots=True)
class SeenMarks:
    """Seen marks are fingerprints of URLs that were seen."""

    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueHead:
    """The head of a file names the job that was exported."""

    job: str


type FileLine = RestoredUrl | SeenMarks | SeenBlock | QueueHead


class _SeenLine(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    seen: list[Mark] = Field(max_length=_MOST_MARKS)


class _BlockLine(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    block: int = Field(ge=0)
    blocks: int = Field(ge=1)
    hashes: int = Field(ge=1)
    bits: str

    def restored(self) -> SeenBlock:
        """Return the block. Raises JobError."""
        try:
            bits = base64.b64decode(self.bits, validate=True)
        except (binascii.Error, ValueError) as error:
            raise JobError(f"bits is no Base64 ({error}); leave the line out") from error
        if len(bits) != BLOCK_BYTES or self.block >= self.blocks:
            raise JobError(
                f"block {self.block} of {self.blocks} with {len(bits)} bytes is none of a filter whose blocks have"
                f" {BLOCK_BYTES} bytes; leave the line out"
            )
        return SeenBlock(BloomFilter(self.blocks, self.hashes), self.block, bits)


def head_line(job: str, collection: str) -> bytes:
    """Return the first line of a file."""
    head = {"format": FORMAT, "job": job, "collection": collection, "exported": iso_date(now_micros())}
    return _line(head)


def url_line(entry: QueueEntry) -> bytes:
    """Return the line of a URL."""
    return _line(entry.as_json(with_cookies=True))


def seen_line(marks: list[str]) -> bytes:
    """Return a line of fingerprints."""
    return _line({"seen": marks})


def block_line(block: SeenBlock) -> bytes:
    """Return a line of a block of a Bloom filter."""
    found = {"block": block.number, "blocks": block.filter.blocks, "hashes": block.filter.hashes}
    return _line({**found, "bits": base64.b64encode(block.bits).decode()})


def read_line(text: bytes) -> FileLine:
    """Return the content of a line. Raises JobError, which names the problem in one line."""
    try:
        found: Any = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise JobError(f"{_quoted(text)} is no JSON object in UTF-8 ({_short(str(error))})") from error
    if not isinstance(found, dict):
        raise JobError(f'{_quoted(text)} is no JSON object; write for example {{"url": "http://example.org/"}}')
    if "format" in found:
        if found["format"] != FORMAT:
            raise JobError(f"format = {_short(repr(found['format']))} can't be read; this release reads {FORMAT}")
        return QueueHead(str(found.get("job", ""))[:100])
    try:
        if "seen" in found:
            marks = _SeenLine.model_validate(found).seen
            if any(not -(1 << 63) <= int(mark) < 1 << 63 for mark in marks):
                raise JobError("seen has a number that is no fingerprint of 64 bits; leave it out")
            return SeenMarks(tuple(marks))
        if "block" in found:
            return _BlockLine.model_validate(found).restored()
        return QueueLine.model_validate(found).restored()
    except ValidationError as error:
        raise JobError(_short(first_problem(error))) from error
    except UrlError as error:
        raise JobError(f"url = {_short(repr(found['url']))} can't be used: {_short(str(error))}") from error


@dataclass(frozen=True, slots=True)
class OpenedLines:
    """An open file of lines."""

    lines: BinaryIO
    """The file, unpacked when its name ends with .gz."""
    _file: BinaryIO

    @property
    def read_bytes(self) -> int:
        """Return how many bytes of the file on the disk were read."""
        return self._file.tell()


@contextmanager
def opened_lines(path: Path) -> Iterator[OpenedLines]:
    """Open a file of lines. Raises OSError, also for a .gz file that is cut off, damaged, or grows beyond measure."""
    try:
        with path.open("rb") as file:
            if not path.name.endswith(".gz"):
                yield OpenedLines(file, file)
                return
            with io.BufferedReader(_Unpacked(file), _PIECE) as plain:
                yield OpenedLines(cast(BinaryIO, plain), file)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise OSError(f"{path.name} is no whole gzip file: {error}; make or copy it again") from error


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, as long as the content is not out of proportion to the file."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._plain = gzip.GzipFile(fileobj=packed)
        self._bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._plain.read1(len(buffer))
        self._bytes += len(piece)
        if self._bytes > _FREE_BYTES and self._bytes > _MOST_GROWTH * self._packed.tell():
            raise OSError(f"the file unpacks to more than {_MOST_GROWTH} times its size, as no list of URLs does")
        buffer[: len(piece)] = piece
        return len(piece)


def numbered_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line that is not empty with its number, from 1; None instead of a line that is too long.

    At most one line is kept in memory.
    """
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
            while (rest := file.readline(_PIECE)) and not rest.endswith(b"\n"):
                pass
            yield number, None
        elif line.strip():
            yield number, line.strip()


def _line(value: dict[str, Any]) -> bytes:
    return compact_json(value).encode("utf-8", "surrogatepass") + b"\n"


def _quoted(text: bytes) -> str:
    return repr(text[:80].decode("utf-8", "replace")) + ("…" if len(text) > 80 else "")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:300] + "…"
