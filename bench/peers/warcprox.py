"""warcprox, the direct anchor: installed from PyPI into its own environment and only run, never imported.

It refuses 127.0.0.1 as an origin, so the bench's origin is on another loopback address. Statistics are off, which
is in its favour; dedup (SQLite), gzip and base32 digests are on, as ours are.
"""

from __future__ import annotations

import subprocess
from typing import Final

from admin.bench.peers.peer import Set, Started, install, wait_for_port
from admin.bench.process import free_port

_REQUIREMENTS: Final = ("warcprox==2.13.1", "cryptography<46")


class Warcprox:
    """warcprox with one process, which is all it has."""

    name: Final = "warcprox"
    schemes: Final = ("http", "connect")
    records: Final = True

    def prepare(self) -> None:
        """Makes its virtual environment."""
        self._bin = install(self.name, *_REQUIREMENTS)

    def start(self, wanted: Set) -> Started:
        """Starts it on a free port."""
        folder, port = wanted.folder, free_port()
        log = folder / "warcprox.log"
        command = [
            str(self._bin / "warcprox"),
            *("--address", "127.0.0.1", "--port", str(port)),
            *("--dir", str(folder / "warcs"), "--gzip", "--base32", "--prefix", "bench"),
            *("--cacert", str(folder / "ca.pem"), "--certs-dir", str(folder / "certs")),
            *("--dedup-db-file", str(folder / "dedup.sqlite"), "--stats-db-file", "/dev/null", "--quiet"),
        ]
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        wait_for_port("127.0.0.1", port, process, log)
        return Started("127.0.0.1", port, process, warcs=folder / "warcs")
