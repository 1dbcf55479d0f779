"""One recording process alone: `serve_process` without supervisor, index server or Redis of its own.

It starts in a second, so that a test can have one with the settings it needs. Spoken to as any `RunningProxy`.

    with ProxyProcess(tmp_path / "home", redis_url, {"proxy.idle_seconds": 1}) as proxy:
        assert proxy.get("http://127.0.0.1:8080/").status == 200
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from archive.settings.load import Settings, load
from dedupdb.captures.capture_index import Captures
from dedupdb.index.indexer import Indexer
from support.archive.warc_reader import Stored
from support.places import ROOT, TESTS
from support.proxy.running_proxy import COMMON, RunningProxy

_MODULE = "support.proxy.proxy_process"
ADDRESS = "127.0.1.61"
"""Of the origins of the room's tests."""


class ProxyProcess(RunningProxy):
    """A recording process of the test's own; settings by their dotted names."""

    def __init__(
        self, home: Path, redis_url: str, settings: Mapping[str, Any] | None = None, *, private: bool = True
    ) -> None:
        super().__init__(home)
        # The processes of many tests share a Redis: what one of them hears in a few words is no revisit of another's.
        overrides = {**COMMON, "proxy.allow_private": private, "archive.min_free_bytes": 0, "dedup.min_bytes": 32}
        overrides.update(settings or {})
        self.settings: Settings = load({"home": str(home), **overrides}, environment={})
        self._redis_url = redis_url

    def start(self) -> Self:
        """Starts it and waits until it serves."""
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "control.token").write_text(secrets.token_hex(16) + "\n", "ascii")
        with socket.socket() as main, socket.socket() as control, self.log.open("ab") as log:
            for listener in (main, control):
                listener.bind(("127.0.0.1", 0))
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", _MODULE, str(main.fileno()), str(control.fileno()), self._redis_url],
                env={**os.environ, **self.settings.for_child(), "PYTHONPATH": f"{ROOT}{os.pathsep}{TESTS}"},
                pass_fds=(main.fileno(), control.fileno()),
                stdout=subprocess.PIPE,
                stderr=log,
            )
            addresses = ["{}:{}".format(*listener.getsockname()) for listener in (main, control)]
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said, f"it did not start; its log ends with: {self.log.read_text('utf-8', 'replace')[-2000:]}"
        self.ready = {**json.loads(said), "proxy": addresses[0], "controls": addresses[1:]}
        return self

    def index(self) -> None:
        """Takes everything kept so far into the index, as the indexer would."""
        captures = Captures(self.settings.database_url)
        try:
            with Indexer("", captures, self.home) as indexer:
                indexer.reconcile()
        finally:
            captures.close()

    def session(self, **spec: Any) -> dict[str, Any]:
        """A new session, of collection "default" unless told otherwise."""
        return self.control("POST", "/sessions", {"collection": "default", **spec})

    def kept(self, url: str) -> Stored:
        """The one response record of a URL in the default collection."""
        (record,) = self.records().of(url, "response")
        return record


def _serve(listen_fd: int, control_fd: int, redis_url: str) -> None:
    from proxy.process.serve import ProcessContext, serve_process

    logging.basicConfig(level=logging.INFO)
    serve_process(
        load(),
        ProcessContext(listen_fd, control_fd, 0, redis_url),
        ready=lambda: print(json.dumps({"ready": True, "pids": [os.getpid()]}), flush=True),
    )
    assert [thread for thread in threading.enumerate() if thread.name == "writer"] == []


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
