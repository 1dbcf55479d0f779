"""The load generator asks the origin without a proxy. This shows the highest possible speed."""

from __future__ import annotations

from typing import Final

from bench.peers.peer import PeerSetup, RunningPeer


class Direct:
    """The load goes straight to the origin."""

    name: Final = "direct"
    schemes: Final = ("http", "connect")
    records: Final = False

    def prepare(self) -> None:
        """Do nothing; nothing is needed."""

    def start(self, wanted: PeerSetup) -> RunningPeer:
        """Do nothing; nothing is started."""
        return RunningPeer(host="", port=0, process=None, warcs=wanted.folder)
