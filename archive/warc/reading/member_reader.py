"""The reader gives the bytes of a WARC file from an offset on, one gzip member or zstd frame at a time.

Its memory is bounded. Gzip members and zstd frames are both called members here.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from archive.http.http_message import end_of_head
from archive.names.warc_paths import OPEN_SUFFIX
from archive.warc.compression.zstd_frame import (
    DICTIONARY_MAGIC,
    FRAME_MAGIC,
    Unpacker,
    ZstdError,
    extension_length,
    frame_findings,
    read_dictionary,
)

READ_SIZE: Final = 1 << 16
_GZIP_MAGIC: Final = b"\x1f\x8b"
_FRAME_HEAD_SIZE: Final = 18
"""Most that the head of a zstd frame takes; enough to tell any member by."""
_GZIP_WINDOW: Final = 31
MOST_PASSED: Final = 4_096
"""The most bytes between two gzip members that belong to no record."""
_RECORD_START: Final = b"WARC/"
_END_SIZE: Final = 4
"""The length of the two empty lines at the end of a record."""


class WarcError(ValueError):
    """The file is not a WARC file, or is damaged. The message names file and offset."""

    def __init__(self, path: Path, offset: int, reason: str) -> None:
        super().__init__(f"{path} at {offset}: {reason}")
        self.path = path
        self.offset = offset
        self.reason = reason


class MemberUnpacker(Protocol):
    """An unpacker reads one member: zlib's `decompressobj`, whose class has no public name, or a ZstdFrameReader."""

    @property
    def eof(self) -> bool: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, size: int, /) -> bytes: ...


class MemberReader:
    """A member reader reads a file once. In a compressed file, `read` stops at the end of each member.

    `next_member` goes on to the next member. The checksum at the end of a member is verified (RFC 1952 section 2.3.1,
    RFC 8878 section 3.1.1).
    """

    def __init__(
        self, file: BinaryIO, path: Path, offset: int = 0, end: int | None = None, *, is_strict: bool = False
    ) -> None:
        """Read from a seekable `file`, which the caller closes. Bytes from `end` on are not read.

        With `is_strict`, bytes that belong to no record are damage. Raises WarcError for a zstd dictionary that can't
        be used.
        """
        self.path = path
        self.is_strict = is_strict
        self.gap = ""
        """The bytes that were passed over before the present member; empty when the member follows the one before."""
        self._file = file
        self._end = end
        self._raw_end = self._member = offset
        self._raw = b""
        self._pushed_back = b""
        self.findings: tuple[str, ...] = ()
        """Problems in the header of the zstd frame that begins with this record."""
        self._unpack: MemberUnpacker | None = None
        self._frames: Unpacker | None = None
        file.seek(offset)
        self._fill()
        self._word = "gzip member"
        if self._raw.startswith((FRAME_MAGIC, DICTIONARY_MAGIC)):
            self._word = "zstd frame"
            self._begin_zstd(offset)
        is_within = offset > 0 and not self._raw.startswith(_RECORD_START)
        self.is_packed = self._begin_member() or (is_within and self._skip_to_member())

    @property
    def offset(self) -> int:
        """Return the offset of the present member. In an uncompressed file, return the offset of the next byte."""
        return self._member if self.is_packed else self._raw_end - len(self._raw) - len(self._pushed_back)

    @property
    def next_offset(self) -> int:
        """Return the offset of the next record. Call this after the present record was read to its end."""
        return self._raw_end - len(self._raw) - len(self._pushed_back)

    def read(self, size: int = READ_SIZE, *, within: bool = False) -> bytes:
        """Return up to `size` bytes, and b"" only at the end of the member or of an uncompressed file.

        `within` an incomplete record, the next zstd frame is part of the same member. Raises WarcError for damaged or
        missing compressed data.
        """
        piece, self._pushed_back = self._pushed_back, b""
        piece = piece or self._more()
        while within and not piece and self._has_more_frames():
            piece = self._more()
        if len(piece) > size:
            piece, self._pushed_back = piece[:size], piece[size:]
        return piece

    def unread(self, data: bytes) -> None:
        """Put bytes back that belong to the next record."""
        self._pushed_back = data + self._pushed_back

    def head(self, limit: int) -> bytes:
        """Return the bytes up to the next empty line, which is included. Without an empty line, return all bytes.

        Raises WarcError beyond `limit`.
        """
        found, start, end = bytearray(), self.offset, 0
        while not end and (piece := self.read(within=bool(found))):
            if len(found) > limit:
                raise WarcError(self.path, start, f"the head has more than {limit} bytes")
            found += piece
            end = end_of_head(found, len(found) - len(piece))
        cut = end or len(found)
        self.unread(bytes(found[cut:]))
        return bytes(found[:cut])

    def next_member(self) -> bool:
        """Skip the rest of this member and go on to the next one. Return False at the end of the file.

        Raises WarcError when something other than a member follows.
        """
        while self.read():
            pass
        if not self.is_packed:
            return False
        self._skip_extensions()
        self._member, self.gap = self._raw_end - len(self._raw), ""
        if not self._raw:
            return False
        if not self._begin_member() and not self._skip_to_member():
            if self.gap:
                return False
            raise WarcError(
                self.path, self._member, f"the bytes {self._raw[:8]!r} are not the beginning of a {self._word}"
            )
        return True

    def behind_block(self, size: int) -> tuple[bytes, bool]:
        """Return up to `size` bytes behind the block of a record, and whether the member or the file ends with them.

        The two empty lines of a record may be in a zstd frame of their own. Raises WarcError.
        """
        found, is_end = bytearray(), False
        while len(found) < size and not is_end:
            piece = self.read(size - len(found))
            found += piece
            is_end = not piece
        if self._frames is not None and len(found) < _END_SIZE and is_end and not self._is_record_next():
            while len(found) < _END_SIZE and (piece := self.read(_END_SIZE - len(found), within=True)):
                found += piece
            if len(found) == _END_SIZE:
                self.unread(self.read())
        return bytes(found), is_end

    def _is_record_next(self) -> bool:
        """Return whether the next zstd frame is the beginning of a record."""
        self._skip_extensions()
        if self._frames is None or not self._raw.startswith(FRAME_MAGIC):
            return False
        self._fill(READ_SIZE)
        try:
            return self._frames.frame().decompress(self._raw, len(_RECORD_START)).startswith(_RECORD_START)
        except ZstdError:
            return False

    def _skip_to_member(self) -> bool:
        """Pass over a bounded number of bytes to the next gzip member with a record. Return False without one.

        Line ends and zeros at the end of the file are passed over, too.
        """
        if self.is_strict:
            return False
        start = self._raw_end - len(self._raw)
        self._fill(2 * MOST_PASSED)
        at = self._raw.find(_GZIP_MAGIC, 0, MOST_PASSED)
        while at >= 0 and not _begins_record(self._raw[at:]):
            at = self._raw.find(_GZIP_MAGIC, at + 1, MOST_PASSED)
        if at < 0:
            is_padding = len(self._raw) <= MOST_PASSED and not self._raw.strip(b"\r\n\0")
            self.gap = f"the file ends with {len(self._raw)} bytes that were left out" if is_padding else ""
            return False
        self.gap = f"{at} bytes from {start} on ({self._raw[: min(at, 16)]!r}) belong to no record and were left out"
        self._raw = self._raw[at:]
        self._member = start + at
        return self._begin_member()

    def _begin_member(self) -> bool:
        """Prepare to unpack a member. Return False when no member begins here."""
        if self._raw.startswith(_GZIP_MAGIC):
            self._unpack = zlib.decompressobj(_GZIP_WINDOW)
        elif self._raw.startswith(FRAME_MAGIC) and self._frames is not None:
            self._unpack = self._frames.frame()
            self.findings = tuple(frame_findings(self._raw, self._frames.dictionary_id))
        else:
            return False
        return True

    def _has_more_frames(self) -> bool:
        """Go on to the next zstd frame. Return False when there is none."""
        self._skip_extensions()
        return self._frames is not None and self._raw.startswith(FRAME_MAGIC) and self._begin_member()

    def _skip_extensions(self) -> None:
        """Skip frames without a part of a record. Readers that do not know such frames must ignore them."""
        self._fill()
        while self._frames is not None and (length := extension_length(self._raw)):
            beyond = max(0, length - len(self._raw))
            self._raw = self._raw[length:]
            self._raw_end += beyond
            self._file.seek(self._raw_end)
            self._fill()

    def _begin_zstd(self, offset: int) -> None:
        """Read the dictionary, if there is one, and go to the record."""
        try:
            dictionary, first = read_dictionary(self._file)
            self._frames = Unpacker(dictionary)
        except (ValueError, ZstdError) as error:
            raise WarcError(self.path, 0, f"the dictionary can't be used: {error}") from error
        self._raw_end = self._member = max(offset, first)
        self._raw = b""
        self._file.seek(self._raw_end)
        self._fill()

    def _more(self) -> bytes:
        if self._unpack is None:
            self._fill()
            piece, self._raw = self._raw, b""
            return piece
        piece = b""
        while not piece and not self._unpack.eof:
            self._fill()
            if not self._raw:
                raise WarcError(self.path, self._member, f"the {self._word} is cut off")
            try:
                piece = self._unpack.decompress(self._raw, READ_SIZE)
            except (zlib.error, ZstdError) as error:
                raise WarcError(self.path, self._member, f"the {self._word} is damaged: {error}") from error
            self._raw = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
        return piece

    def _fill(self, least: int = _FRAME_HEAD_SIZE) -> None:
        """Read at least so many raw bytes, when the file has them: by default enough to recognise a member."""
        while len(self._raw) < least:
            size = READ_SIZE if self._end is None else min(READ_SIZE, self._end - self._raw_end)
            piece = self._file.read(size) if size > 0 else b""
            if not piece:
                return
            self._raw += piece
            self._raw_end += len(piece)


def _begins_record(data: bytes) -> bool:
    try:
        return zlib.decompressobj(_GZIP_WINDOW).decompress(data, len(_RECORD_START)) == _RECORD_START
    except zlib.error:
        return False


def open_either(path: Path) -> BinaryIO:
    """Return the file under its final name or under its name as an open file.

    Raises FileNotFoundError when it has neither name.
    """
    final = path.with_name(path.name.removesuffix(OPEN_SUFFIX))
    other = final if path.name.endswith(OPEN_SUFFIX) else path.with_name(path.name + OPEN_SUFFIX)
    for name in (path, other):
        try:
            return name.open("rb")
        except FileNotFoundError:
            continue
    return path.open("rb")  # it may have been renamed between the two looks
