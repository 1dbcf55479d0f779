"""Small files that are written once, and that everything depends on: keys and tokens."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from archive.openfile import sync_folder


def write_once(path: Path, data: bytes, *, mode: int = 0o600) -> bool:
    """Puts the file in place, whole and durable, unless there is one; whether it was this call that did.

    Of several writers at once the first one wins. An empty file is none: a power cut leaves such. Nothing is ever
    written through a link. Raises OSError.
    """
    with suppress(FileNotFoundError):
        there = path.lstat()
        if there.st_size or not stat.S_ISREG(there.st_mode):
            return False
        path.unlink()
    with tempfile.NamedTemporaryFile(dir=path.parent) as draft:  # readable by nobody else until it says otherwise
        draft.write(data)
        draft.flush()
        os.fchmod(draft.fileno(), mode)
        os.fsync(draft.fileno())
        try:
            os.link(draft.name, path)
        except FileExistsError:
            return False
    sync_folder(path.parent)
    return True
