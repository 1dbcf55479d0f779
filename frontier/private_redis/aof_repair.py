"""A power cut or a failing disk can damage the append-only file of Redis. This module repairs the file.

A file system may keep the length of the appended data and lose the bytes (ext4 leaves up to a block of zeros). On a
failing disk, data in the middle may be missing. Redis reads a file that ends too early, and refuses a file with such
damage. The tool of Redis cuts off the file from the damage on. The rest is an earlier state of Redis, as after any loss
of its last seconds (`appendfsync everysec`).
"""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Final

logger = logging.getLogger(__name__)

_DAMAGED: Final = re.compile(r"Bad file format reading the append only file(?: (?P<name>[\w.-]+))?:")
_ANALYZED: Final = re.compile(r"AOF analyzed:.*?ok_up_to=(\d+).*?diff=(\d+)")
_MOST_CUT: Final = 64 << 20
_TOOL: Final = "redis-check-aof"
"""Every redis-server executable is this tool when it is called by this name."""


def repair(folder: Path, executable: str, said: str) -> bool:
    """Repair the file and return whether Redis can be started again. `said` is the last line of its log.

    The damaged file is kept as `damaged-<time>.aof`. Raises OSError.
    """
    found = _DAMAGED.search(said)
    if found is None:
        return False
    many = folder / "appendonlydir"
    file = many / found["name"] if found["name"] and many.is_dir() else folder / "appendonly.aof"
    whole = many / "appendonly.aof.manifest" if many.is_dir() else file
    if not file.is_file() or not _is_worth_it(file, _tool(executable, str(whole)).stdout):
        return False
    before = file.stat().st_size
    kept = folder / f"damaged-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}.aof"
    shutil.copy2(file, kept)
    run = _tool(executable, "--fix", str(whole))
    cut = before - file.stat().st_size
    if run.returncode or not cut:
        logger.error("%s is damaged, and %s can't repair it: %s", file, _TOOL, " ".join(run.stdout.split())[-300:])
        kept.unlink()
        return False
    logger.warning(
        "%s was damaged; its last %d of %d bytes were cut off, and %s is a copy of the damaged file",
        file,
        cut,
        before,
        kept,
    )
    return True


def _is_worth_it(file: Path, analysis: str) -> bool:
    """Return whether the repair loses little: zeros at the end, or at most 64 MB. Else an operator must decide."""
    found = _ANALYZED.findall(analysis)
    if not found:
        return False
    sound, damaged = map(int, found[-1])
    return _ends_with_zeros(file) or (sound > 0 and damaged <= _MOST_CUT)


def _ends_with_zeros(file: Path) -> bool:
    """Return whether the file ends with a zero byte. A whole file ends with a line end."""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - 1))
        return stream.read() == b"\0"


def _tool(executable: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_TOOL, *arguments], executable=executable, input="y\n", capture_output=True, text=True, check=False
    )
