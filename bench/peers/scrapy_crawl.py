"""scrapy crawls through warcprox, as people do who want WARC files from it. Both are installed from PyPI.

scrapy visits one page of a host at a time, as our crawl does. It keeps its queue in memory.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.peers.peer import install, wait_for_port
from bench.peers.warcprox import OPTIONS, REQUIREMENTS
from bench.process import free_port, stop

NAME: Final = "scrapy"
SCRAPY: Final = ("scrapy==2.19.0",)
_SPIDER: Final = Path(__file__).with_name("scrapy_spider.py")
_WARCPROX: Final = Path(__file__).with_name("warcprox_names.py")


def prepare() -> None:
    """Install scrapy and warcprox. Raises PeerUnavailable."""
    install(NAME, *SCRAPY)
    install("warcprox", *REQUIREMENTS)


class ScrapyCrawl:
    """A crawl has two processes: scrapy, which ends after the last page, and the proxy, which ends after scrapy."""

    def __init__(self, folder: Path, seeds: Path, workers: int, *, address: str, domain: str) -> None:
        """Start the proxy, and then scrapy. `address` is that of all names below `domain`."""
        self.warcs = folder / "warcs"
        port = free_port()
        with (folder / "warcprox.log").open("wb") as log:
            self._proxy = subprocess.Popen(
                [
                    *(str(install("warcprox", *REQUIREMENTS) / "python"), "-P", str(_WARCPROX), address, domain),
                    *("--address", "127.0.0.1", "--port", str(port), "--dir", str(self.warcs), *OPTIONS),
                    *("--cacert", str(folder / "ca.pem"), "--certs-dir", str(folder / "certs")),
                    *("--dedup-db-file", str(folder / "dedup.sqlite")),
                ],
                cwd=folder,
                stdout=log,
                stderr=log,
            )
        wait_for_port("127.0.0.1", port, self._proxy, folder / "warcprox.log")
        self.log = folder / "scrapy.log"
        spider = [str(install(NAME, *SCRAPY) / "python"), "-P", str(_SPIDER)]
        with self.log.open("wb") as log:
            self._crawl = subprocess.Popen(
                [*spider, str(workers), str(seeds)],
                cwd=folder,
                env={**os.environ, "http_proxy": f"http://127.0.0.1:{port}", "no_proxy": ""},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    @property
    def processes(self) -> Mapping[int, str]:
        """Return the processes by their numbers."""
        return {self._proxy.pid: "warcprox", self._crawl.pid: NAME}

    def poll(self) -> int | None:
        """Return the exit code of scrapy; None until the proxy has ended, too."""
        return None if self._proxy.poll() is None else self._crawl.poll()

    def wait(self, seconds: float) -> None:
        """Wait so long for the end of scrapy, end the proxy, and wait so long for its end, since it still writes.

        Raises subprocess.TimeoutExpired.
        """
        self._crawl.wait(seconds)
        self._proxy.terminate()
        self._proxy.wait(seconds)

    def close(self) -> None:
        """End both processes."""
        stop(self._crawl)
        stop(self._proxy)
