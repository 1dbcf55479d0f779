"""The fault campaign's failing disk tells the truth: what it calls written is written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[3]
_PROGRAM = """
import mmap, os, sys
from pathlib import Path
from bench.faults import disks

PAGE = 4096
problem = disks.isolate()
if problem:
    sys.exit(f"no disk: {problem}")
folder = Path(sys.argv[1])
disks.mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder))
image = folder / "image"
with image.open("wb") as file:
    file.write(b"a" * 32 * PAGE)
    file.truncate(256 * PAGE)
device = disks.run(["losetup", "--find", "--show", str(image)]).strip()
try:
    give_back = disks.page_by_page(image)
    disks.fill(folder / "filler", 0)
    pages = mmap.mmap(-1, 64 * PAGE)
    pages.write(b"b" * 64 * PAGE)
    disk = os.open(device, os.O_WRONLY | os.O_DIRECT)
    try:
        taken = os.pwrite(disk, pages, 0)
    except OSError as error:
        print("failed")
    else:
        print("written" if taken == 64 * PAGE else "failed")
    os.close(disk)
    give_back()
finally:
    disks.run(["losetup", "--detach", device])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="disks of one's own need root")
def test_a_write_that_fits_only_in_part_fails(tmp_path: Path) -> None:
    """Half of 64 pages have their places already; Linux 6.18 calls such a write to a loop device a whole one."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and ("no disk" in done.stderr or "DiskProblem" in done.stderr):
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "failed"
