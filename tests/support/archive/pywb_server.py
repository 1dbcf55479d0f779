"""pywb as anybody runs it, in an environment of its own: its indexer and its server, over copies of our WARC files."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.peers import KINDS
from bench.peers.peer import wait_for_port
from bench.process import stop
from support.clients.raw_client import Client, Reply
from support.processes.machine_needs import free_port

COLLECTION = "garden"


class PywbServer:
    """A collection with copies of these files and `wayback` serving it, by pywb's own index unless one is given."""

    def __init__(self, folder: Path, warcs: Iterable[Path], indexes: Iterable[Path] = ()) -> None:
        peer = KINDS["pywb"]()
        peer.prepare()
        self._bin: Path = peer._bin  # type: ignore[attr-defined]
        self._folder = folder
        folder.mkdir()
        self._manage("init", COLLECTION)
        own = list(indexes)
        if own:
            collection = folder / "collections" / COLLECTION
            for name, paths in (("archive", warcs), ("indexes", own)):
                for path in paths:
                    shutil.copy(path, collection / name)
        else:
            self._manage("add", COLLECTION, *map(str, warcs))
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        log = self._folder / "pywb.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(self._bin / "wayback"), "--bind", "127.0.0.1", "--port", str(self._port)],
                cwd=self._folder,
                stdout=output,
                stderr=output,
            )
        wait_for_port("127.0.0.1", self._port, self._process, log)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process is not None
        stop(self._process)

    @property
    def cdx(self) -> str:
        """The address of its CDX server for the collection."""
        return f"http://127.0.0.1:{self._port}/{COLLECTION}/cdx"

    def index(self) -> list[dict[str, Any]]:
        """Every line of pywb's own index, as the JSON part with `urlkey` and `timestamp` added."""
        (path,) = self._folder.rglob("*.cdxj")
        found = []
        for line in path.read_text("utf-8").splitlines():
            if not line.startswith("!"):
                key, stamp, block = line.split(" ", 2)
                found.append({"urlkey": key, "timestamp": stamp, **json.loads(block)})
        return found

    def replay(self, url: str, timestamp: str) -> Reply:
        """The capture as it was recorded (`id_`)."""
        with Client(socket.create_connection(("127.0.0.1", self._port), 30)) as client:
            path = f"/{COLLECTION}/{timestamp}id_/{url}"
            lines = [f"GET {path} HTTP/1.0", f"Host: 127.0.0.1:{self._port}", "Accept-Encoding: gzip, deflate", "", ""]
            return client.ask("\r\n".join(lines).encode())

    def post(self, url: str, content_type: str, body: bytes) -> Reply:
        """The capture of a request with this body, as it was recorded."""
        with Client(socket.create_connection(("127.0.0.1", self._port), 30)) as client:
            lines = [f"POST /{COLLECTION}/id_/{url} HTTP/1.0", f"Host: 127.0.0.1:{self._port}"]
            lines += [f"Content-Type: {content_type}", f"Content-Length: {len(body)}", "", ""]
            return client.ask("\r\n".join(lines).encode() + body)

    def _manage(self, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._bin / "wb-manager"), *arguments], cwd=self._folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
