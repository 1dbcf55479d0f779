"""What curl sees of a URL, directly or through a proxy."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.processes.machine_needs import program

_NOT_COMPARED = frozenset(
    ["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "transfer-encoding", "content-length"]
)
"""What concerns one connection, or how a body is framed on it: the proxy's to say (RFC 9110 section 7.6.1)."""


@dataclass(frozen=True)
class Sight:
    """How it ended (curl's exit code, 0 for well), the status, the header lines that are end to end, the body."""

    exit: int
    status: str
    fields: tuple[tuple[str, str], ...]
    body: bytes


def look(url: str, folder: Path, *options: str, method: str = "GET") -> Sight:
    """One URL, by HTTP/1.1 and with nobody's certificate checked; `folder` is for curl's output."""
    body, head = folder / "body", folder / "head"
    for file in (body, head):
        file.write_bytes(b"")
    done = subprocess.run(
        [program("curl", "apt-get install curl"), "--silent", "--insecure", "--http1.1", "--max-time", "30"]
        + ["--output", str(body), "--dump-header", str(head), "--write-out", "%{http_code}"]
        + ([*options, "--head", url] if method == "HEAD" else [*options, url]),
        capture_output=True,
        text=True,
        check=False,
    )
    content = b"" if method == "HEAD" else body.read_bytes()
    return Sight(done.returncode, done.stdout, _fields(head.read_bytes()), content)


def _fields(dump: bytes) -> tuple[tuple[str, str], ...]:
    """Of the last head: those before it are a CONNECT's or interim."""
    heads = [head for head in dump.decode("latin-1").replace("\r\n", "\n").split("\n\n") if head.strip()]
    lines = heads[-1].split("\n")[1:] if heads else []
    pairs = ((name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines))
    return tuple(pair for pair in pairs if pair[0] and pair[0] not in _NOT_COMPARED)
