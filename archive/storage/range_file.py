"""This module reads a file that can only be fetched in ranges. The ranges grow while reading goes on."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Final

_FIRST_STEP: Final = 1 << 16
_LONGEST_STEP: Final = 1 << 22
"""Most bytes that are held at once."""


class RangeFile(io.RawIOBase):
    """The file is read-only and seekable. Not for use by several threads at once."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int, wanted_to: int | None = None) -> None:
        """`fetch` returns the bytes from its first offset up to, not including, its second. It may raise any exception.

        Bytes at and behind `wanted_to` are fetched only when they are read.
        """
        super().__init__()
        self._fetch = fetch
        self._size = size
        self._wanted_to = size if wanted_to is None else min(size, wanted_to)
        self._position = 0
        self._held = b""
        self._held_from = 0
        self._step = _FIRST_STEP

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, unless the file ends before. Raises what `fetch` does."""
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view) and self._position < self._size:
            held = self._piece(len(view) - filled)
            view[filled : filled + len(held)] = held
            filled += len(held)
            self._position += len(held)
        return filled

    def _piece(self, most: int) -> bytes:
        """Return one byte or more at the current position."""
        start = self._position - self._held_from
        if not 0 <= start < len(self._held):
            self._hold(most)
            start = 0
        return self._held[start : start + most]

    def _hold(self, most: int) -> None:
        follows = self._held and self._position == self._held_from + len(self._held)
        self._step = min(2 * self._step, _LONGEST_STEP) if follows else _FIRST_STEP
        end = self._position + min(max(self._step, most), _LONGEST_STEP)
        if self._position < self._wanted_to:
            end = min(end, max(self._wanted_to, self._position + most))
        end = min(end, self._size)
        self._held, self._held_from = self._fetch(self._position, end), self._position
