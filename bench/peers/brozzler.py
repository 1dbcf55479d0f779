"""brozzler is the browser crawler of the Internet Archive. It is installed from PyPI, and never imported.

brozzler's browser is reused from page to page, as its worker does; brozzler's database and its queue are left out. The
pages go through the same proxy as ours.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.peers.peer import PeerUnavailable, install
from bench.process import free_port, stop
from browsers.engines.chromium.executable import find_chromium

NAME: Final = "brozzler"
_REQUIREMENTS: Final = ("brozzler==1.9.6",)
_PROGRAM: Final = Path(__file__).with_name("brozzler_visits.py")


class BrozzlerVisits:
    """Brozzler visits pages in a process with its browser."""

    def __init__(self, proxy: str, warm_up: Sequence[str], urls: Sequence[str], log: Path) -> None:
        """Start the process, and return after the warm-up. Raises PeerUnavailable with the end of the log."""
        python = install(NAME, *_REQUIREMENTS) / "python"
        flags = ["--proxy-bypass-list=<-loopback>"]  # Else Chromium asks 127.0.0.1 without the proxy.
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        wanted = {
            "executable": str(find_chromium()),
            "debugging_port": free_port(),
            "proxy": proxy,
            "warm_up": list(warm_up),
            "urls": list(urls),
        }
        # -P keeps this folder, with a brozzler.py of its own, out of the import path.
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [str(python), "-P", str(_PROGRAM), json.dumps(wanted)],
                env={**os.environ, "BROZZLER_EXTRA_CHROME_ARGS": " ".join(flags)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._log = log
        try:
            self._line()
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Return the number of the process, whose descendants are those of the browser."""
        return self._process.pid

    def visit(self) -> int:
        """Visit the pages, and return how many visits failed. Raises PeerUnavailable with the end of the log."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return int(json.loads(self._line())["failed"])

    def close(self) -> None:
        """End the browser and the process, also in the middle of a visit."""
        stop(self._process)

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        while line and not line.startswith((b"ready", b"{")):
            line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise PeerUnavailable(f"{NAME} ended: {self._log.read_text('utf-8', 'replace')[-500:]}")
        return line
