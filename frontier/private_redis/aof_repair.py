"""An append-only file of Redis that a power cut or a failing disk has damaged: cut back to its last whole command.

File systems may keep the length of what was appended and lose its bytes (ext4 leaves zeros, up to a block of them);
and what can't be written back to a failing disk is missing in the middle. Redis reads a file that ends too early, but
refuses one with such a place. Its own tool cuts off everything from there on: what is left is a state that Redis had,
as after any loss of its last seconds (`appendfsync everysec`).
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
    if not file.is_file() or not _is_worth_it(file, _tool(executable, str(whole)).stdout):
        return False
    before = file.stat().st_size
    kept = folder / f"damaged-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}.aof"
    shutil.copy2(file, kept)
    run = _tool(executable, "--fix", str(whole))
    cut = before - file.stat().st_size
    if run.returncode or not cut:
        logger.error("%s is damaged, and %s does not mend it: %s", file, _TOOL, " ".join(run.stdout.split())[-300:])
        kept.unlink()
        return False
    logger.warning("%s was damaged; its last %d of %d bytes are cut off, the whole is %s", file, cut, before, kept)
    return True


def _is_worth_it(file: Path, analysis: str) -> bool:
    """Whether little is lost: the end of the file, or nothing that was ever written. Else people must decide."""
    found = _ANALYZED.findall(analysis)
    if not found:
        return False
    sound, damaged = map(int, found[-1])
    return _ends_with_zeros(file) or (sound > 0 and damaged <= _MOST_CUT)


def _ends_with_zeros(file: Path) -> bool:
    """A whole one never does: its commands end with a line's end."""
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - 1))
        return stream.read() == b"\0"


def _tool(executable: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_TOOL, *arguments], executable=executable, input="y\n", capture_output=True, text=True, check=False
    )
