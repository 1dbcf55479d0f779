"""A connection's bytes are processed in portions, so that other connections get their turn.

A loop hands on up to 256 KB at once, and reads up to 32 times before it looks at the next connection. Some bytes cost
much more than others: frames of HTTP/2 or chunks of one byte each take a thousand times the work of a plain body. So a
connection's bytes are taken for two milliseconds, and the rest of them waits until the loop has served the others.

A connection whose bytes cost much more than plain ones is suspected first, then measured, and then it has to rest: all
such connections of a process together get a fifth of its time. So do those whose bytes are known to be mostly framing:
so that the loop and the writer, which share one
interpreter lock, have the rest of it for the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Final

SMALL: Final = 2048
"""The most bytes of a small portion: even the most expensive ones cost little more than a turn."""
_TURN_SECONDS: Final = 0.002
_FIRST: Final = 32_768
_LEAST: Final = 1024
_MOST: Final = 1 << 18
_EXPENSIVE: Final = 30e-9
"""Seconds of CPU for a byte. A plain body costs a third of that on a slow machine, chunks of one byte four times it."""
_REST: Final = 4.0
"""How many times as long as their bytes took the expensive connections rest."""


class Ration:
    """Expensive connections share this time. Times are the clock's, in seconds."""

    def __init__(self) -> None:
        self._free_at = 0.0

    def rest(self, now: float, spent: float) -> float:
        """Return how long a connection must rest that has just spent so much time."""
        self._free_at = max(self._free_at, now) + _REST * spent
        return self._free_at - now


_ration: Final = Ration()


class Portions:
    """Portions give one connection's bytes in turns. `take` gets the bytes; `stop` is called when no more should
    come, `go_on` when it may again.

    The size of a portion follows from the time that the portions before it have cost.
    """

    __slots__ = (
        *(
            "_at",
            "_clock",
            "_cpu",
            "_data",
            "_go_on",
            "_is_slowed",
            "_is_suspect",
            "_loop",
            "_ration",
            "_size",
            "_stop",
            "_take",
        ),
        "is_waiting",
    )

    def __init__(
        self,
        take: Callable[[bytes], None],
        stop: Callable[[], None],
        go_on: Callable[[], None],
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        ration: Ration = _ration,
        clock: Callable[[], float] = perf_counter,
        cpu: Callable[[], float] = thread_time,
    ) -> None:
        self._take = take
        self._stop = stop
        self._go_on = go_on
        self._loop = loop or asyncio.get_running_loop()
        self._ration = ration
        self._clock = clock
        self._cpu = cpu
        self._is_suspect = False
        """The last turn was a long one, so that the next one is measured exactly."""
        self._is_slowed = False
        self._size = _FIRST
        self._data = b""
        self._at = 0
        self.is_waiting = False
        """The connection's next turn is still to come; until then it should not be read from."""

    @property
    def has_more(self) -> bool:
        """Return whether bytes that came have not been taken yet."""
        return self._at < len(self._data)

    def put(self, data: bytes) -> None:
        """Take these bytes now, as many as a turn allows, and the others later."""
        if self.is_waiting or self.has_more:
            self._data, self._at = self._data[self._at :] + data, 0
            return
        self._data, self._at = data, 0
        self._turn()

    def slow_down(self) -> None:
        """Let the connection rest behind each of its turns from now on."""
        self._is_slowed = self._is_suspect = True

    def drop(self) -> None:
        """Forget the bytes that were not taken."""
        self._data, self._at = b"", 0

    def _turn(self) -> None:
        began = before = self._clock()
        taken, cpu = 0, self._cpu() if self._is_suspect else 0.0
        is_over = False
        while self._at < len(self._data) and not is_over:
            start, data = self._at, self._data
            self._at = min(len(data), start + self._size)
            self._take(data if self._at - start == len(data) else data[start : self._at])
            now = self._clock()
            taken += self._at - start
            self._fit(now - before)
            is_over = now - began >= _TURN_SECONDS
            before = now
        if not self.has_more:
            self.drop()
        if is_over or self._is_slowed:
            self.is_waiting = True
            self._stop()
            self._yield(before, taken, self._cpu() - cpu if cpu else 0.0)
        else:
            self._is_suspect = False

    def _yield(self, now: float, taken: int, spent: float) -> None:
        """Let the others have their turn; `spent` is the time that the bytes `taken` have cost, if it was measured."""
        self._is_suspect = True
        if self._is_slowed or spent > _EXPENSIVE * taken:
            self._loop.call_later(self._ration.rest(now, spent), self._next_turn)
        else:
            self._loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self.is_waiting = False
        if self.has_more:
            self._turn()
        if not self.is_waiting:
            self._go_on()

    def _fit(self, spent: float) -> None:
        """Choose the next portion's size by what the last one cost."""
        if spent > _TURN_SECONDS / 2:
            self._size = max(_LEAST, self._size // 2)
        elif spent < _TURN_SECONDS / 8:
            self._size = min(_MOST, self._size * 2)
