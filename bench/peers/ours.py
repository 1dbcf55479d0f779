"""Our own proxy is started as users start it: `ghostfleet proxy` with an empty home."""

from __future__ import annotations

import json
import subprocess
from typing import Final

from bench.peers.peer import PeerSetup, PeerUnavailable, RunningPeer
from bench.process import our_command, source_environment

COLLECTION: Final = "bench"


class Ghostfleet:
    """The peer has default settings except for those that a bench on one machine needs."""

    name: Final = "ghostfleet"
    schemes: Final = ("http", "connect", "absolute")
    records: Final = True

    def prepare(self) -> None:
        """Do nothing: the bench runs from the same installation."""

    def start(self, wanted: PeerSetup) -> RunningPeer:
        """Start the proxy on a free port and wait for its ready line."""
        home = wanted.folder / "home"
        environment = {
            **source_environment(),
            "GHOSTFLEET_HOME": str(home),
            "GHOSTFLEET_PROXY__PORT": "0",
            "GHOSTFLEET_PROXY__PROCESSES": str(wanted.processes),
            "GHOSTFLEET_PROXY__COLLECTION": COLLECTION,
            "GHOSTFLEET_PROXY__ALLOW_PRIVATE": "true",
            "GHOSTFLEET_PROXY__UPSTREAM_CA": str(wanted.origin_certificate),
        }
        log = wanted.folder / "ghostfleet.log"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                our_command("proxy"), env=environment, cwd=wanted.folder, stdout=subprocess.PIPE, stderr=errors
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.communicate()
            raise PeerUnavailable(f"ghostfleet proxy did not start: {log.read_text('utf-8')[-500:]}")
        host, _, port = json.loads(line)["proxy"].rpartition(":")
        warcs = home / "collections" / COLLECTION / "archive"
        return RunningPeer(host, int(port), process, warcs=warcs, mark=str(home))
