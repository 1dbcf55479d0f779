"""What other people's readers say of our WARC files: warcio and fastwarc, every digest verified."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator


def warcio_kinds(path: Path) -> list[str]:
    """The record types in order; raises when a digest is wrong or the file is damaged."""
    found = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()
            found.append(record.rec_type)
    return found


def fastwarc_check(path: Path) -> None:
    """Fails unless `fastwarc check` finds every block and payload digest right."""
    command = [str(Path(sys.executable).with_name("fastwarc")), "check", "--quiet", "--verify-payloads", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
