"""squid comes from the system's packages. It only forwards, so that it shows the least cost of a proxy in C++.

Caching is off. Only http is measured, since CONNECT is a tunnel without decryption in squid.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import Final

from bench.peers.peer import PeerSetup, PeerUnavailable, RunningPeer, wait_for_port
from bench.process import free_port

_CONFIG: Final = """\
http_port 127.0.0.1:{port}
http_access allow localhost
cache deny all
cache_mem 0 MB
access_log none
cache_log {folder}/squid.log
pid_filename {folder}/squid.pid
coredump_dir {folder}
shutdown_lifetime 1 seconds
workers 1
pinger_enable off
visible_hostname localhost
"""


class Squid:
    """The peer has one worker, in the foreground."""

    name: Final = "squid"
    schemes: Final = ("http",)
    records: Final = False

    def prepare(self) -> None:
        """Look for it."""
        found = shutil.which("squid", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/sbin")
        if found is None:
            raise PeerUnavailable("squid is not installed: apt-get install squid")
        self._squid = found

    def start(self, wanted: PeerSetup) -> RunningPeer:
        """Start it on a free port."""
        folder, port = wanted.folder, free_port()
        folder.chmod(0o777)  # it gives up root for its own user
        config, log = folder / "squid.conf", folder / "squid.out"
        config.write_text(_CONFIG.format(port=port, folder=folder), "utf-8")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [self._squid, "--foreground", "-f", str(config)], stdout=output, stderr=output, cwd=folder
            )
        wait_for_port("127.0.0.1", port, process, log)
        return RunningPeer("127.0.0.1", port, process, warcs=folder / "none")
