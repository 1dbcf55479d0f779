"""The intake of a large log takes the same memory as that of a small one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.admin.log_lines import write_large_log

MEGABYTE = 1_000_000
_INTAKE = """
import resource, sys
from pathlib import Path
from admin.log_analysis.columns.intake import take_in
take_in(Path(sys.argv[1]), Path(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_is_flat_while_the_log_grows(tmp_path: Path) -> None:
    peaks = []
    for size in (100, 500):
        log = write_large_log(tmp_path / f"{size}.log", size * MEGABYTE)
        command = [sys.executable, "-c", _INTAKE, log, tmp_path / str(size)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
        log.unlink()

    small, large = peaks
    assert large < 1.25 * small
