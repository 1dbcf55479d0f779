"""A log takes whole lines from any number of processes, is rotated by size, and is read from its first part on.

A full log `NAME` becomes `NAME.0001`, the next one `NAME.0002`; the newest lines are always in `NAME`. A renamed part
never changes again. Readers take all parts as one file (`open_log`), so that a place in the log stays valid when the
log is rotated.

Writers take a lock on the file, and look after that whether the file still has the name of the log. So no line is
written to a part that was renamed, and a writer that is killed at any moment leaves nothing to repair.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from archive.dates import iso_date, now_micros
from archive.file_lock import lock, unlock
from archive.files import write_all
from archive.json_text import compact_json, parsed_object

_NUMBER: Final = re.compile(r"\.(\d{4,9})")
_STEP: Final = 262_144
"""Bytes that are read at once from the end of a log."""
LONGEST_LINE: Final = 1_048_576
"""A longer line is passed over by a reader that begins at the end of a log."""
_COUNT_STEP: Final = 1_048_576
_STDOUT: Final = 1
_STDERR: Final = 2


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A place in a log is the number of a part and an offset. The number is 1 for the first part, renamed or not."""

    part: int
    offset: int

    def __str__(self) -> str:
        return f"{self.part}.{self.offset}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the place of a text that `str` made. Raises ValueError with the remedy."""
        if found := re.fullmatch(r"(\d{1,9})\.(\d{1,18})", text):
            return cls(int(found[1]), int(found[2]))
        raise ValueError(f"{text[:60]!r} is no place in a log; copy it from the end of the list before")


@dataclass(frozen=True, slots=True)
class RemovedPart:
    """The oldest part of a log was removed, since the log may have only so many parts."""

    file: str
    lines: int
    bytes: int
    time: str
    """The time of the removal (ISO, UTC)."""


class RotatedLog:
    """A log takes lines from any number of processes. It is renamed when it has `rotate_bytes`, and never with 0.

    `most_parts` bounds the renamed parts: the oldest one is removed, and a line of `NAME.removed` tells of it. With 0
    no part is removed.
    """

    def __init__(self, path: Path, *, rotate_bytes: int = 0, most_parts: int = 0) -> None:
        self.path = path
        self._rotate_bytes = rotate_bytes
        self._most_parts = most_parts

    def append(self, lines: Sequence[str]) -> None:
        """Add whole lines; those of other processes never come in between. Raises OSError.

        After a write that failed half-way, of this process or of one that was killed, the next one starts on a line of
        its own. The lock is for who looks whether there was one: a write that another process is just making ends in
        mid-line too.
        """
        if not lines:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join(f"{text}\n" for text in lines).encode("utf-8", "backslashreplace")
        fd = self.locked()
        try:
            write_all(fd, [b"\n", data] if _ends_torn(fd) else [data])
        finally:
            os.close(fd)

    def locked(self) -> int:
        """Return a descriptor of the file that has the name of the log, locked. A full file is renamed first.

        The caller closes the descriptor. Raises OSError.
        """
        while True:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                lock(fd)
                if self._has_name(fd) and not self._is_renamed(fd):
                    return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)

    def _has_name(self, fd: int) -> bool:
        """Return whether the file still has the name of the log; another process may have renamed it."""
        try:
            return os.path.samestat(os.fstat(fd), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _is_renamed(self, fd: int) -> bool:
        """Rename a full file whose lock is held; return whether it was. A file that can't be renamed grows on."""
        if not self._rotate_bytes or os.fstat(fd).st_size < self._rotate_bytes:
            return False
        try:
            if _ends_torn(fd):
                write_all(fd, [b"\n"])
            known = renamed_parts(self.path)
            number = known[-1][0] + 1 if known else 1
            self.path.rename(self.path.with_name(f"{self.path.name}.{number:04d}"))
        except OSError:
            return False
        if self._most_parts:
            for _, path in known[: max(len(known) + 1 - self._most_parts, 0)]:
                with suppress(OSError):
                    _remove(self.path, path)
        return True


class RotatedOutput:
    """The standard output and error of this process are a log that is rotated by size.

    Other processes may have the same output. They write to the renamed part until they call `rotate_if_full` in turn.
    """

    def __init__(self, path: Path, *, rotate_bytes: int, most_parts: int) -> None:
        self._path = path
        self._rotate_bytes = rotate_bytes
        self._log = RotatedLog(path, rotate_bytes=rotate_bytes, most_parts=most_parts)

    def rotate_if_full(self) -> None:
        """Rename a full log, and write to a new one from now on. Do nothing when the output is another file."""
        output = os.fstat(_STDERR)
        if output.st_size < self._rotate_bytes or not stat.S_ISREG(output.st_mode):
            return
        known = (self._path, *(path for _, path in renamed_parts(self._path)))
        if not any(os.path.samestat(output, path.stat()) for path in known):
            return
        fd = self._log.locked()
        try:
            # The lock belongs to the open file, which the new output shares.
            unlock(fd)
            if os.path.samestat(output, os.fstat(_STDOUT)):
                os.dup2(fd, _STDOUT)
            os.dup2(fd, _STDERR)
        finally:
            os.close(fd)


def renamed_parts(log: Path) -> list[tuple[int, Path]]:
    """Return the renamed parts of a log with their numbers, the oldest first."""
    found = []
    try:
        with os.scandir(log.parent) as entries:
            for entry in entries:
                if entry.name.startswith(log.name) and (number := _NUMBER.fullmatch(entry.name[len(log.name) :])):
                    found.append((int(number[1]), log.parent / entry.name))
    except FileNotFoundError:
        return []
    return sorted(found)


def log_exists(log: Path) -> bool:
    """Return whether the log has a part."""
    return log.exists() or bool(renamed_parts(log))


def log_size(log: Path) -> int:
    """Return the bytes of all parts of a log. Raises FileNotFoundError when there is none."""
    with open_log(log) as file:
        return file.seek(0, io.SEEK_END)


def open_log(log: Path) -> io.BufferedReader:
    """Open all parts of a log as one file, which grows at its end. Raises FileNotFoundError when there is none.

    A file that was opened before the log was rotated ends where the renamed part ends.
    """
    parts, current = _opened(log)
    if not parts:
        if current is None:
            raise FileNotFoundError(2, "No such file or directory", str(log))
        return current
    return io.BufferedReader(_JoinedParts([path for _, path in parts], current), _STEP)


def removed_parts(log: Path) -> list[RemovedPart]:
    """Return the parts that were removed, the first one first."""
    found: dict[str, RemovedPart] = {}
    try:
        lines = log.with_name(f"{log.name}.removed").read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        with suppress(ValueError, TypeError):
            part = RemovedPart(**parsed_object(line))
            found[part.file] = part
    return list(found.values())


class NewestFirst:
    """The reader yields the whole lines of a log from its end, with their places. It reads only as far as it is asked.

    `before` is a place at which a line begins: only older lines are yielded. With `needle`, blocks of the log that do
    not have these bytes in lower case are passed over. `is_over` ends the reading after a block.
    """

    def __init__(
        self,
        log: Path,
        *,
        before: LogPlace | None = None,
        needle: bytes = b"",
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        self._log = log
        self._before = before
        self._needle = needle
        self._is_over = is_over
        self._has_read = False
        self.reached: LogPlace | None = None
        """The reader ended here before the beginning of the log; None when it came to the beginning."""

    def __iter__(self) -> Iterator[tuple[LogPlace, bytes]]:
        parts, current = _opened(self._log)
        if current is not None:
            with current:
                yield from self._part(parts[-1][0] + 1 if parts else 1, current)
        for number, path in reversed(parts):
            if self.reached is not None:
                return
            if self._before is None or number <= self._before.part:
                if self._has_read and self._is_over():
                    self.reached = LogPlace(number + 1, 0)
                    return
                with suppress(FileNotFoundError), path.open("rb") as file:  # the oldest part may be removed meanwhile
                    yield from self._part(number, file)

    def _part(self, number: int, file: io.BufferedReader) -> Iterator[tuple[LogPlace, bytes]]:
        end = file.seek(0, io.SEEK_END)
        if self._before is not None:
            if number > self._before.part:
                return
            if number == self._before.part:
                end = min(end, self._before.offset)
        rest, is_long, is_last = b"", False, True
        while end > 0:
            start = max(end - _STEP, 0)
            file.seek(start)
            fresh = file.read(end - start)
            self._has_read = True
            block = fresh + rest
            first = fresh.find(b"\n") + 1 if start else 0
            if start and not first:  # no line begins here
                rest, is_long = (b"", True) if len(block) > LONGEST_LINE else (block, is_long)
            else:
                if not self._needle or self._needle in block.lower():
                    yield from self._lines(number, start, block, first, is_last=is_last or is_long)
                rest, is_long, is_last = block[:first], False, False
            end = start
            if start and first and self._is_over():
                # A line that reaches into the block before is read again by whoever goes on from here.
                self.reached = LogPlace(number, start + first)
                return

    @staticmethod
    def _lines(number: int, start: int, block: bytes, first: int, *, is_last: bool) -> Iterator[tuple[LogPlace, bytes]]:
        """Yield the lines of a block after its first `first` bytes. The last one of the log may have no end yet."""
        lines = block[first:].split(b"\n")
        end = start + len(block)
        for at, line in enumerate(reversed(lines)):
            begin = end - len(line)
            if line and (at or not is_last):
                yield LogPlace(number, begin), line
            end = begin - 1


class _JoinedParts(io.RawIOBase):
    """Several files are read as one. Only the last one may grow; of the others, one is open at a time."""

    def __init__(self, paths: Sequence[Path], current: io.BufferedReader | None) -> None:
        self._paths = paths
        self._starts = [0]
        for path in paths:
            self._starts.append(self._starts[-1] + path.stat().st_size)
        self._current = current
        self._open: tuple[int, io.BufferedReader] | None = None
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._at
        elif whence == io.SEEK_END:
            grown = os.fstat(self._current.fileno()).st_size if self._current is not None else 0
            offset += self._starts[-1] + grown
        if offset < 0:
            raise ValueError(f"a place in a file is no negative number: {offset}")
        self._at = offset
        return offset

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while True:
            number = next((at for at, end in enumerate(self._starts[1:]) if self._at < end), None)
            if number is None:
                break
            file = self._part(number)
            file.seek(self._at - self._starts[number])
            if size := file.readinto(memoryview(buffer)[: self._starts[number + 1] - self._at]):
                self._at += size
                return size
            self._at = self._starts[number + 1]  # the part was cut from outside
        if self._current is None:
            return 0
        self._current.seek(self._at - self._starts[-1])
        size = self._current.readinto(buffer)
        self._at += size
        return size

    def close(self) -> None:
        for file in (self._current, self._open[1] if self._open is not None else None):
            if file is not None:
                file.close()
        super().close()

    def _part(self, number: int) -> io.BufferedReader:
        if self._open is None or self._open[0] != number:
            if self._open is not None:
                self._open[1].close()
            self._open = number, self._paths[number].open("rb")
        return self._open[1]


def _opened(log: Path) -> tuple[list[tuple[int, Path]], io.BufferedReader | None]:
    """Return the renamed parts and the open newest one, which are of one moment.

    The newest one is opened first. When it has been renamed since, it is among the renamed parts.
    """
    try:
        current = log.open("rb")
    except FileNotFoundError:
        return renamed_parts(log), None
    parts = renamed_parts(log)
    status = os.fstat(current.fileno())
    for _, path in reversed(parts):
        with suppress(FileNotFoundError):
            if os.path.samestat(status, path.stat()):
                current.close()
                return parts, None
    return parts, current


def _remove(log: Path, part: Path) -> None:
    """Remove a part, after a note of its name and the number of its lines. Raises OSError."""
    lines = size = 0
    with part.open("rb") as file:
        while piece := file.read(_COUNT_STEP):
            lines += piece.count(b"\n")
            size += len(piece)
    note = {"file": part.name, "lines": lines, "bytes": size, "time": iso_date(now_micros())}
    RotatedLog(log.with_name(f"{log.name}.removed")).append([compact_json(note)])
    part.unlink()


def _ends_torn(fd: int) -> bool:
    """Return whether the file's last line has no end."""
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"
