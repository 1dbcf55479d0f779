"""Our own proxy, started the way anybody starts it: `ghostfleet proxy`, with an empty home."""

from __future__ import annotations

import json
import subprocess
from typing import Final

from admin.bench.peers.peer import PeerUnavailable, Set, Started
from admin.bench.process import our_command, source_environment

COLLECTION: Final = "bench"


class Ghostfleet:
    """Default settings but for what a bench on one machine must allow."""

    name: Final = "ghostfleet"
    schemes: Final = ("http", "connect", "absolute")
    records: Final = True

    def prepare(self) -> None:
        """Nothing is needed: it is what runs the bench."""

    def start(self, wanted: Set) -> Started:
        """Starts it on a free port and waits for its ready line."""
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
        return Started(host, int(port), process, warcs=warcs, mark=str(home))
