"""No proxy at all: what the origin and the load generator can do by themselves, the ceiling of every other row."""

from __future__ import annotations

from typing import Final

from admin.bench.peers.peer import Set, Started


class Direct:
    """The load goes straight to the origin."""

    name: Final = "direct"
    schemes: Final = ("http", "connect")
    records: Final = False

    def prepare(self) -> None:
        """Nothing is needed."""

    def start(self, wanted: Set) -> Started:
        """Nothing is started."""
        return Started(host="", port=0, process=None, warcs=wanted.folder)
