"""scrapy's disk queue is measured beside ours: a FIFO of files (queuelib), installed from PyPI with scrapy.

The queue has no leases, no politeness and one process, so that a pop is less than our claim and finish.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.peers.peer import PeerUnavailable, install
from bench.peers.scrapy_crawl import NAME, SCRAPY

_PROGRAM: Final = Path(__file__).with_name("queuelib_queue.py")
_SECONDS: Final = 3_600.0


@dataclass(frozen=True, slots=True)
class ScrapyQueueRound:
    """A queue of scrapy was filled and emptied, with these costs."""

    pushed_per_second: float
    popped_per_second: float
    bytes: float
    """Bytes on the disk for each request that waits."""


def measure(hosts: int, urls: int) -> ScrapyQueueRound:
    """Fill and empty the queue with so many requests to so many hosts. Raises PeerUnavailable."""
    python = install(NAME, *SCRAPY) / "python"
    with tempfile.TemporaryDirectory(prefix="gf-bench-") as folder:
        done = subprocess.run(
            [python, "-P", _PROGRAM, str(hosts), str(urls), folder],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    if done.returncode:
        raise PeerUnavailable(f"the queue of {NAME} can't be measured: {done.stderr.strip()[-500:]}")
    return ScrapyQueueRound(**json.loads(done.stdout))
