"""The allocator's heaps, as the allocator itself reports them."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from admin.fleet.memory import limit_arenas

_HEAPS = """
import ctypes, sys, threading
from admin.fleet.memory import limit_arenas
if sys.argv[1] == "shared":
    limit_arenas()
kept, barrier = [], threading.Barrier(4)
def fill():
    barrier.wait()
    kept.append([bytes(5000) for _ in range(200)])
    barrier.wait()
threads = [threading.Thread(target=fill) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
out = libc.fopen(b"/dev/stdout", b"w")
libc.malloc_info(0, ctypes.c_void_p(out))
libc.fflush(ctypes.c_void_p(out))
"""


_LARGE = """
import ctypes, sys
from admin.fleet.memory import limit_arenas
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "free", "fast", "blocks", "apart", *"abcde")]
libc = ctypes.CDLL(None)
if not hasattr(libc, "mallinfo2"):
    sys.exit("none")
libc.mallinfo2.restype = Info
if sys.argv[1] == "shared":
    limit_arenas()
bytes(1 << 22)
before = libc.mallinfo2().apart
kept = bytes(1 << 22)
print(libc.mallinfo2().apart - before)
"""


_KEPT = """
import sys
from admin.fleet.memory import limit_arenas

if sys.argv[1] == "bounded":
    limit_arenas()
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


def heaps(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", _HEAPS, how], capture_output=True, text=True, check=True)
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_threads_share_one_arena() -> None:
    alone = heaps("alone")
    if alone < 2:
        pytest.skip("this C library gives threads no heaps of their own")
    assert heaps("shared") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_large_blocks_are_not_in_the_arena() -> None:
    apart = []
    for how in ("alone", "shared"):
        done = subprocess.run([sys.executable, "-c", _LARGE, how], capture_output=True, text=True, check=False)
        if done.returncode:
            assert done.stderr.strip() == "none", done.stderr
            pytest.skip("this C library does not tell")
        apart.append(int(done.stdout))
    assert apart[0] < 1 << 22, "the second block is in the heap: nothing is to be mended"
    assert apart[1] >= 1 << 22


def test_another_allocator_is_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    limit_arenas()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these parameters")
def test_freed_blocks_between_used_ones_go_back_to_the_system() -> None:
    assert kilobytes("bounded") + 50_000 < kilobytes("default")
