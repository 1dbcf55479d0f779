"""A worker gives the memory of pictures back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys
from typing import Final

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these parameters")

_KEPT: Final = """
import sys
from browsers.crawling.freed_memory import return_freed_memory

if sys.argv[1] == "bounded":
    return_freed_memory()
bytearray(20_000_000)  # After that, glibc takes blocks of this size from the heap by default.
blocks, pins = [], []
for _ in range(100):
    blocks.append(bytearray(1_000_000))
    pins.append(bytearray(2_000))  # A small block behind each large one keeps the heap from shrinking.
blocks.clear()
with open("/proc/self/status") as status:
    print(next(line for line in status if line.startswith("VmRSS")).split()[1])
"""


def kilobytes(mode: str) -> int:
    done = subprocess.run([sys.executable, "-c", _KEPT, mode], capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout)


def test_freed_blocks_between_used_ones_go_back_to_the_system() -> None:
    assert kilobytes("bounded") + 50_000 < kilobytes("default")
