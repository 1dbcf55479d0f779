"""pywb runs as a recording HTTP proxy. It is installed from PyPI into an environment of its own, and never imported.

Content rewriting and the banner are off, so that pywb forwards the same bytes as the others. Dedup is off, since it
needs a Redis of its own, which makes pywb faster.
"""

from __future__ import annotations

import subprocess
from typing import Final

from bench.peers.peer import PeerSetup, PeerUnavailable, RunningPeer, install, wait_for_port
from bench.process import free_port

_REQUIREMENTS: Final = ("pywb==2.10.0",)
_COLLECTION: Final = "bench"
_CONFIG: Final = f"""\
collections:
  live: $live
recorder:
  source_coll: live
  dedup_policy: none
proxy:
  coll: {_COLLECTION}
  recording: true
  enable_banner: false
  enable_content_rewrite: false
"""


class Pywb:
    """The peer has one process, which `wayback` starts."""

    name: Final = "pywb"
    schemes: Final = ("http", "connect")
    records: Final = True

    def prepare(self) -> None:
        """Make its virtual environment."""
        self._bin = install(self.name, *_REQUIREMENTS)

    def start(self, wanted: PeerSetup) -> RunningPeer:
        """Make a collection and start it on a free port."""
        folder, port = wanted.folder, free_port()
        made = subprocess.run(
            [str(self._bin / "wb-manager"), "init", _COLLECTION],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode:
            raise PeerUnavailable(f"pywb can't make a collection in {folder}: {made.stderr.strip()[-500:]}")
        (folder / "config.yaml").write_text(_CONFIG, "utf-8")
        log = folder / "pywb.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(self._bin / "wayback"), "--bind", "127.0.0.1", "--port", str(port)],
                cwd=folder,
                stdout=output,
                stderr=output,
            )
        wait_for_port("127.0.0.1", port, process, log)
        return RunningPeer("127.0.0.1", port, process, warcs=folder / "collections" / _COLLECTION / "archive")
