"""An append-only file of Redis that a power cut has left with a damaged end: cut back to its last whole command.

File systems may keep the length of what was appended and lose its bytes (ext4 leaves zeros, up to a block of them).
Redis reads a file that ends too early, but refuses one with such an end. Its own tool cuts it off; everything after
that place is lost, as the last seconds are anyway (`appendfsync everysec`).
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
_TOOL: Final = "redis-check-aof"
"""Every redis-server is this tool too, when it is called so."""


def mend(folder: Path, executable: str, said: str) -> bool:
    """Whether Redis can be started again in this folder, after it ended and `said` why in the end of its log.

    The file as it was stays beside it, as `damaged-<time>.aof`. Raises OSError.
    """
    found = _DAMAGED.search(said)
    if found is None:
        return False
    many = folder / "appendonlydir"
    file = many / found["name"] if found["name"] and many.is_dir() else folder / "appendonly.aof"
    whole = many / "appendonly.aof.manifest" if many.is_dir() else file
    if not file.is_file() or not _ends_with_zeros(file):  # damage of another kind is for people to judge
        return False
    before = file.stat().st_size
    kept = folder / f"damaged-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}.aof"
    shutil.copy2(file, kept)
    run = subprocess.run(
        [_TOOL, "--fix", str(whole)], executable=executable, input="y\n", capture_output=True, text=True, check=False
    )
    cut = before - file.stat().st_size
    if run.returncode or not cut:
        logger.error("%s is damaged, and %s does not mend it: %s", file, _TOOL, " ".join(run.stdout.split())[-300:])
        kept.unlink()
        return False
    logger.warning("%s was damaged; its last %d of %d bytes are cut off, the whole is %s", file, cut, before, kept)
    return True


def _ends_with_zeros(file: Path) -> bool:
    """A whole one never does: its commands end with a line's end."""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - 1))
        return stream.read() == b"\0"
