"""How a process of ours uses memory, so that it neither grows by and by nor spends its time on looking for garbage."""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Final

_ARENA_MAX: Final = -8
"""M_ARENA_MAX of glibc's <malloc.h>."""


def share_one_heap() -> None:
    """Of glibc's allocator one heap for all threads, where each would get its own: those fill with holes and grow.

    With one interpreter lock, threads hardly ever wait for each other there. Other allocators are left as they are.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_ARENA_MAX, 1)


def collect_seldom() -> None:
    """Python's collector looks for cycles, of which our work makes next to none: not after every few objects.

    What has been made so far, all modules among it, stays for good and need not be looked at again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
