"""How a process of ours uses memory, so that it neither grows by and by nor spends its time on looking for garbage."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from typing import Any, Final

_ARENA_MAX: Final = -8
"""M_ARENA_MAX of glibc's <malloc.h>."""
_MMAP_THRESHOLD: Final = -3
"""M_MMAP_THRESHOLD of the same."""
_APART_BYTES: Final = 1 << 18
_TRIM_SECONDS: Final = 30.0


def keep_small() -> None:
    """Of glibc's allocator one heap for all threads, and what is free of it given back to the system now and then.

    Each thread would get a heap of its own; those fill with holes, and grow for hours. With one interpreter lock
    threads hardly ever wait for each other there. Large blocks, such as each TLS connection has, are kept out of
    it: glibc would take them in by and by, and where they had been, small ones would settle. Other allocators are left
    as they are.
    """
    libc: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim"):
        libc.mallopt(_ARENA_MAX, 1)
        libc.mallopt(_MMAP_THRESHOLD, _APART_BYTES)
        threading.Thread(target=_trim, args=(libc,), name="trim", daemon=True).start()


def collect_seldom() -> None:
    """Python's collector looks for cycles, of which our work makes next to none: not after every few objects.

    What has been made so far, all modules among it, stays for good and need not be looked at again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _trim(libc: Any) -> None:
    never = threading.Event()
    while not never.wait(_TRIM_SECONDS):
        libc.malloc_trim(0)
