"""A crawl that tests of QA share: each test has a copy of the home."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Crawled:
    """A site that runs, and the home of its crawl, of which each test has a copy."""

    url: str
    _home: Path

    def copy(self, home: Path) -> str:
        """Copy the home into an empty folder, and return the address of the site.

        The finished files of the collection are linked: the indexer would read a sidecar with another inode anew.
        """
        shutil.copytree(self._home, home, copy_function=_copy, dirs_exist_ok=True)
        return self.url


def _copy(source: str, target: str) -> None:
    is_finished = source.endswith((".cdxj", ".warc.gz"))
    (os.link if is_finished else shutil.copy2)(source, target)
