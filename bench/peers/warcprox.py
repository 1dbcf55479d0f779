"""warcprox is the closest peer. It is installed from PyPI into an environment of its own, and never imported.

warcprox refuses 127.0.0.1 as an origin, so that the bench uses another loopback address. Its statistics are off, which
makes it faster. Dedup (SQLite), gzip and base32 digests are on, as in our proxy.
"""

from __future__ import annotations

import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Final

from bench.peers.peer import PeerSetup, PeerUnavailable, RunningPeer, install, wait_for_port
from bench.process import free_port

REQUIREMENTS: Final = ("warcprox==2.13.1", "cryptography<46")
_TABLE_SECONDS: Final = 60.0
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
        log, dedup_file = folder / "warcprox.log", folder / "dedup.sqlite"
        command = [
            str(self._bin / "warcprox"),
            *("--address", "127.0.0.1", "--port", str(port)),
            *("--dir", str(folder / "warcs"), *OPTIONS),
            *("--cacert", str(folder / "ca.pem"), "--certs-dir", str(folder / "certs")),
            *("--dedup-db-file", str(dedup_file)),
        ]
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        wait_for_port("127.0.0.1", port, process, log)
        _wait_for_table(dedup_file, process)
        return RunningPeer("127.0.0.1", port, process, warcs=folder / "warcs")


def _wait_for_table(database: Path, process: subprocess.Popen[bytes]) -> None:
    """Return when warcprox has created its table of digests. Raises PeerUnavailable.

    warcprox 2.13.1 listens before the table exists, and writes no record of what it fetches until then.
    """
    deadline, pause = time.monotonic() + _TABLE_SECONDS, Event()
    while process.poll() is None and time.monotonic() < deadline:
        if database.exists():
            with closing(sqlite3.connect(database)) as connection:
                if connection.execute("select count(*) from sqlite_master where type = 'table'").fetchone()[0]:
                    return
        pause.wait(0.05)
    process.kill()
    process.communicate()
    raise PeerUnavailable(f"{process.args!r} has made no table in {database} within {_TABLE_SECONDS:.0f} s")
