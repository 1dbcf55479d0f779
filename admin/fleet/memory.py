"""Limit the memory of a process, and the time that it spends on garbage collection."""

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
_MMAP_BYTES: Final = 1 << 18
_TRIM_SECONDS: Final = 30.0


def limit_arenas() -> None:
    """Limit glibc to one arena for all threads, and return free memory to the system every 30 seconds.

    By default each thread gets an arena of its own. Arenas fragment and grow for hours. Because of the interpreter
    lock, threads hardly ever wait for a shared arena. Large blocks, such as those of TLS connections, are allocated
    by mmap: in the arena, small blocks would be allocated where a large one was freed, so that the space could not be
    used for a large one again. Other allocators than glibc's are not changed.
    """
    libc: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "mallopt") and hasattr(libc, "malloc_trim"):
        libc.mallopt(_ARENA_MAX, 1)
        libc.mallopt(_MMAP_THRESHOLD, _MMAP_BYTES)
        threading.Thread(target=_trim, args=(libc,), name="trim", daemon=True).start()


def reduce_collections() -> None:
    """Make garbage collections rare, because the processes create hardly any reference cycles.

    Objects that exist now, such as modules, stay until the end, so the collector skips them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _trim(libc: Any) -> None:
    never = threading.Event()
    while not never.wait(_TRIM_SECONDS):
        libc.malloc_trim(0)
