"""A real PostgreSQL of a test's own: a new cluster in a folder, reached by its socket alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psycopg
import pytest
from psycopg.sql import SQL, Composed, Identifier

from support.processes.waiting import until

_SERVER: Final = "postgres"
_UNPRIVILEGED: Final = "nobody"
"""PostgreSQL refuses to run as root."""


def _folder_of_programs() -> Path:
    """Where they all are; Debian keeps them out of PATH. Skips the test when they are not installed."""
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), *map(Path, os.get_exec_path())]
    for folder in folders:
        if all((folder / program).exists() for program in ("initdb", _SERVER, "pg_isready")):
            return folder
    pytest.skip("no PostgreSQL; apt-get install postgresql")


class PostgresServer:
    """Runs from `with` to its end. `url(database)` makes the database when it is first asked for."""

    def __enter__(self) -> Self:
        programs = _folder_of_programs()
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="gf-pg-"))  # a socket's path must be short
        self._as: dict[str, Any] = {}
        if os.getuid() == 0:
            shutil.chown(self._folder, _UNPRIVILEGED)
            self._as = {"user": _UNPRIVILEGED}
        data = self._folder / "data"
        self._run("initdb", "--pgdata", data, "--username", "me", "--auth", "trust", "--encoding", "UTF8", "--no-sync")
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop(signal.SIGQUIT)  # writes nothing, as the folder goes too
        shutil.rmtree(self._folder)

    def start(self) -> None:
        """Start the server, for the first time or again."""
        self._process = subprocess.Popen(
            [
                *(self._programs / _SERVER, "-D", self._folder / "data", "-k", self._folder),
                *("-c", "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off"),
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._folder, **self._as,
        )  # fmt: skip
        until(self._is_ready, what="PostgreSQL answers")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server without waiting for its clients."""
        self._process.send_signal(how)
        self._process.wait(30)

    def url(self, database: str, template: str = "template1") -> str:
        """SQLAlchemy's URL of a new database: empty, or a copy of another one."""
        self._execute(SQL("CREATE DATABASE {} TEMPLATE {}").format(Identifier(database), Identifier(template)))
        return f"postgresql://me@/{database}?host={self._folder}"

    def drop(self, database: str) -> None:
        """Remove a database that nobody uses."""
        self._execute(SQL("DROP DATABASE {}").format(Identifier(database)))

    def _execute(self, statement: Composed) -> None:
        """Run a statement that no transaction may hold. Processes of PostgreSQL's own programs would start slowly.

        The server's process for a client can use a database for a while after the client has left, and PostgreSQL waits
        only five seconds for it.
        """

        def is_done() -> bool:
            with psycopg.connect(host=str(self._folder), user="me", dbname="postgres", autocommit=True) as connection:
                try:
                    connection.execute(statement)
                except psycopg.errors.ObjectInUse:
                    return False
            return True

        until(is_done, what="the database to be free")

    def _is_ready(self) -> bool:
        asked = [self._programs / "pg_isready", "--quiet", "--host", self._folder]
        return subprocess.run(asked, check=False).returncode == 0

    def _run(self, program: str, *arguments: str | Path) -> None:
        subprocess.run(
            [self._programs / program, *arguments], check=True, capture_output=True, cwd=self._folder, **self._as
        )
