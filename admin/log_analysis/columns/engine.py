"""DuckDB runs the queries of an analysis. The extra `analysis` installs the library; this module alone imports it.

A connection reads and writes only the folders of its analyses, loads nothing from the network, and has bounds for
memory, temporary files and threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from admin.log_analysis.columns.log_blocks import LogTrouble

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY: Final = "384MB"
"""The bound of DuckDB's buffers; a query needs about as much again for itself."""
_TEMPORARY: Final = "20GB"
_THREADS: Final = 2
_MISSING: Final = (
    "the analysis of logs needs DuckDB, which is not installed; install the extra: pip install 'ghostfleet[analysis]'"
)
_ANEW: Final = "read the log anew (`ghostfleet log analyse NAME --anew`), and report the fault if it stays"


class AnalysisEngine:
    """The engine is one open connection."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection

    def run(self, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises LogTrouble, for instance when the disk is full or a file is damaged."""
        import duckdb

        try:
            return self._connection.execute(query, values or None).fetchall()
        except duckdb.Error as error:
            reason = " ".join(str(error).split())[:300]
            is_of_disk = isinstance(error, (duckdb.IOException, duckdb.OutOfMemoryException))
            remedy = "check the free space of the disk, then try again" if is_of_disk else _ANEW
            raise LogTrouble(f"the analysis can't go on: {reason}; {remedy}") from error

    def rows(self, query: str, values: Mapping[str, object] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query by the names of their columns. Raises LogTrouble."""
        found = self.run(query, values or {})
        names = [each[0] for each in self._connection.description or ()]
        yield from (dict(zip(names, row, strict=True)) for row in found)


def is_installed() -> bool:
    """Return whether DuckDB can be imported."""
    from importlib.util import find_spec

    return find_spec("duckdb") is not None


def require_engine() -> None:
    """Raise LogTrouble, with the name of the extra, when DuckDB is not installed."""
    if not is_installed():
        raise LogTrouble(_MISSING)


@contextmanager
def open_engine(folders: Sequence[Path], *, keeps_order: bool = False) -> Iterator[AnalysisEngine]:
    """Open a connection that may use the files of these folders. Raises LogTrouble without DuckDB.

    `keeps_order` writes rows in the order in which they were read; blocks are small, so that this takes no memory.
    """
    require_engine()
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": _THREADS,
        "memory_limit": MEMORY,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "preserve_insertion_order": keeps_order,
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        connection.execute(f"SET temp_directory = {quoted(str(folders[0] / 'temporary'))}")
        connection.execute(f"SET max_temp_directory_size = '{_TEMPORARY}'")
        places = ", ".join(quoted(f"{folder}/") for folder in folders)
        connection.execute(f"SET allowed_directories = [{places}]")
        connection.execute("SET enable_progress_bar = false")  # else long queries write to standard output
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield AnalysisEngine(connection)
    finally:
        connection.close()


def quoted(text: str) -> str:
    """Return a text as SQL has texts."""
    return "'" + text.replace("'", "''") + "'"
