"""warcprox is the closest peer. It is installed from PyPI into an environment of its own, and never imported.

warcprox refuses 127.0.0.1 as an origin, so that the bench uses another loopback address. Its statistics are off, which
makes it faster. Dedup (SQLite), gzip and base32 digests are on, as in our proxy.
"""

from __future__ import annotations

import subprocess
from typing import Final

from bench.peers.peer import PeerSetup, RunningPeer, install, wait_for_port
from bench.process import free_port

REQUIREMENTS: Final = ("warcprox==2.13.1", "cryptography<46")
OPTIONS: Final = ("--gzip", "--base32", "--prefix", "bench", "--stats-db-file", "/dev/null", "--quiet")


class Warcprox:
    """The peer has one process, since warcprox supports no more."""

    name: Final = "warcprox"
    schemes: Final = ("http", "connect")
    records: Final = True

    def prepare(self) -> None:
        """Make its virtual environment."""
        self._bin = install(self.name, *REQUIREMENTS)

    def start(self, wanted: PeerSetup) -> RunningPeer:
        """Start it on a free port."""
        folder, port = wanted.folder, free_port()
        log = folder / "warcprox.log"
        command = [
            str(self._bin / "warcprox"),
            *("--address", "127.0.0.1", "--port", str(port)),
            *("--dir", str(folder / "warcs"), *OPTIONS),
            *("--cacert", str(folder / "ca.pem"), "--certs-dir", str(folder / "certs")),
            *("--dedup-db-file", str(folder / "dedup.sqlite")),
        ]
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        wait_for_port("127.0.0.1", port, process, log)
        return RunningPeer("127.0.0.1", port, process, warcs=folder / "warcs")
