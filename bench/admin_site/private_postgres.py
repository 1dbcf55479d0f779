"""A private PostgreSQL runs for as long as a bench needs it: a cluster in a folder, reached by its socket alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from admin.models.errors import UseCaseError

_PROGRAMS: Final = ("initdb", "postgres", "createdb", "psql")
_UNPRIVILEGED: Final = "nobody"
"""PostgreSQL refuses to run as root."""
_START_SECONDS: Final = 120.0
_DATABASE: Final = "bench"
_USER: Final = "bench"


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian keeps out of PATH; None when they are not installed."""
    for folder in [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]:
        if all((folder / program).exists() for program in _PROGRAMS):
            return folder
    return None


@contextmanager
def private_postgres(folder: Path) -> Iterator[str]:
    """Run PostgreSQL in this folder until the end of the block, with its own settings; yield the database's URL.

    The cluster stays in the folder, and is used again. Raises UseCaseError when PostgreSQL can't be started.
    """
    found = programs()
    if found is None:
        raise UseCaseError("PostgreSQL is not installed; install it, or give --database-url")
    as_user: dict[str, Any] = {}
    folder.mkdir(parents=True, exist_ok=True)
    if os.getuid() == 0:
        as_user = {"user": _UNPRIVILEGED, "group": _UNPRIVILEGED_GROUP}
        shutil.chown(folder, _UNPRIVILEGED)
    sockets = Path(tempfile.mkdtemp(prefix="gf-pg-"))  # a socket's path must be short
    if as_user:
        shutil.chown(sockets, _UNPRIVILEGED)
    data, log = folder / "data", folder / "postgres.log"
    options: dict[str, Any] = {"cwd": sockets, **as_user}
    try:
        if not (data / "PG_VERSION").exists():
            given = ("--username", _USER, "--auth", "trust", "--encoding", "UTF8")
            _run([found / "initdb", "--pgdata", data, *given], options)
        with log.open("ab") as output:
            process = subprocess.Popen(
                [found / "postgres", "-D", data, "-k", sockets, "-c", "listen_addresses="],
                stdout=output, stderr=output, **options,
            )  # fmt: skip
        try:
            _make_database(found, sockets, process, log, options)
            yield f"postgresql://{_USER}@/{_DATABASE}?host={sockets}"
        finally:
            process.send_signal(signal.SIGINT)  # does not wait for its clients
            process.wait()
    finally:
        shutil.rmtree(sockets, ignore_errors=True)


_UNPRIVILEGED_GROUP: Final = "nogroup"


def _make_database(
    found: Path, sockets: Path, process: subprocess.Popen[bytes], log: Path, options: dict[str, Any]
) -> None:
    """Wait for the server, and make the database unless it is there."""
    asked: list[str | Path] = [found / "psql", "-h", sockets, "-U", _USER, "-d", "postgres", "-tAc"]
    until, pause = time.monotonic() + _START_SECONDS, threading.Event()
    statement = f"SELECT count(*) FROM pg_database WHERE datname = '{_DATABASE}'"
    while True:
        answer = subprocess.run([*asked, statement], check=False, capture_output=True, text=True, **options)
        if answer.returncode == 0:
            break
        if process.poll() is not None or time.monotonic() > until:
            raise UseCaseError(f"PostgreSQL did not start; {log} says why")
        pause.wait(0.1)
    if answer.stdout.strip() == "0":
        _run([found / "createdb", "-h", sockets, "-U", _USER, _DATABASE], options)


def _run(command: Sequence[str | Path], options: dict[str, Any]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    if done.returncode:
        raise UseCaseError(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
