"""The intake parses the new lines of a log once, block by block, into Parquet files in the folder of the analysis.

A block's file counts when the state names it, so an intake can be interrupted at any moment and go on later. A small
part at the end grows with a running log: it is written anew with the next lines, and the old file is removed by the
intake after that, because readers may have it open.
"""

from __future__ import annotations

import ipaddress
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from admin.log_analysis.columns.engine import AnalysisEngine, open_engine, quoted, require_engine
from admin.log_analysis.columns.intake_state import (
    MOST_BROKEN_SHOWN,
    BrokenLine,
    IntakeState,
    LogPart,
    read_state,
    write_state,
)
from admin.log_analysis.columns.line_columns import parse_sql
from admin.log_analysis.columns.log_blocks import BLOCK, LogBlock, LogReader, LogTrouble
from archive.dates import now_micros
from archive.file_lock import lock_or_not
from archive.files import make_folder
from archive.rotated_log import open_log
from frontier.definition.public_suffixes import public_suffixes

_LOCK_FILE: Final = ".lock"
_TEXT_FILE: Final = "block.txt"
_SUFFIX: Final = ".parquet"
_PARQUET: Final = "(FORMAT parquet, COMPRESSION zstd)"


@dataclass(frozen=True, slots=True)
class IntakeProgress:
    """The progress of an intake: how much of the file was read, and the lines so far."""

    done: int
    size: int
    lines: int
    broken: int


def take_in(
    log: Path,
    folder: Path,
    *,
    show: Callable[[IntakeProgress], None] = lambda _: None,
    is_ended: Callable[[], bool] = lambda: False,
    anew: bool = False,
    block: int = BLOCK,
) -> IntakeState:
    """Read the new whole lines of a log; return the state, which is complete unless `is_ended` stopped the intake.

    A log that is gone leaves what was read of it. `anew` forgets everything first. Raises LogTrouble when another
    process reads the log, DuckDB is not installed, the disk is full, or the log can't be read and never was.
    """
    require_engine()
    try:
        if not folder.exists():
            LogReader(log).head()  # a log that can't be opened gets no folder, which would take a name
        make_folder(folder)
        with _locked(folder), _cleaned(folder):
            if anew:
                _forget(folder)
            return _read(log, folder, show, is_ended, block)
    except OSError as error:
        raise LogTrouble(
            f"{error.filename or folder} can't be written: {error.strerror}; free space or check the permissions,"
            " then analyse again: what was read is kept"
        ) from error


def _read(
    log: Path,
    folder: Path,
    show: Callable[[IntakeProgress], None],
    is_ended: Callable[[], bool],
    block: int,
) -> IntakeState:
    reader, known = LogReader(log, block), read_state(folder)
    try:
        state = _begun(reader, known)
        size = reader.file_size()
    except LogTrouble as error:
        if known is None:
            raise
        gone = replace(known, trouble=str(error))
        write_state(folder, gone)
        return gone
    _remove_unnamed(folder, state)
    was_ended = False
    with open_engine([folder], keeps_order=True) as engine:
        for piece in reader.blocks(state.place):
            state = _taken(engine, folder, state, piece, block)
            write_state(folder, state)
            show(IntakeProgress(piece.done, size, state.lines, state.broken))
            if was_ended := is_ended():
                break
    state = replace(state, is_complete=not was_ended, tail=reader.tail, trouble=reader.trouble)
    write_state(folder, state)
    return state


def _begun(reader: LogReader, known: IntakeState | None) -> IntakeState:
    """Return the state from which to go on: at the beginning when another log took the place of the one before."""
    head = reader.head()
    if known is None:
        return IntakeState(str(reader.path), head, at=now_micros())
    is_same = reader.head(known.head.size) == known.head
    is_shorter = reader.file_size() < known.place and not _is_compressed(reader.path)
    known = replace(known, source=str(reader.path), head=head, trouble="", is_complete=False)
    if is_same and not is_shorter:
        return known
    return replace(known, place=0, rotations=known.rotations + 1)


def _taken(engine: AnalysisEngine, folder: Path, state: IntakeState, piece: LogBlock, block: int) -> IntakeState:
    """Parse one block into a part, together with a small part before it, and return the new state."""
    text = folder / _TEXT_FILE
    text.write_bytes(piece.text)
    last = state.parts[-1] if state.parts else None
    grown = last if last is not None and last.text_bytes + len(piece.text) <= block else None
    number = int(last.name.split("-")[1].removesuffix(_SUFFIX)) + 1 if last is not None else 1
    name, hosts = f"lines-{number:06d}{_SUFFIX}", f"hosts-{number:06d}{_SUFFIX}"
    query = parse_sql(str(text).replace("'", "''"))
    if grown is not None:
        query = f"SELECT * FROM read_parquet({_place(folder, grown.name)}) UNION ALL ({query})"
    engine.run(f"COPY ({query}) TO {_place(folder, name)} {_PARQUET}")
    rows, broken = engine.run(
        f"SELECT count(*), count(broken) FILTER (file_row_number >= {grown.lines if grown else 0})"
        f" FROM read_parquet({_place(folder, name)}, file_row_number = true)"
    )[0]
    first = grown.first_line if grown is not None else state.lines + 1
    part = LogPart(name, hosts, first, rows, len(piece.text) + (grown.text_bytes if grown is not None else 0))
    kept = [each for each in state.parts if each != grown]
    _write_hosts(engine, folder, part, kept)
    shown = state.broken_lines
    if broken and len(shown) < MOST_BROKEN_SHOWN:
        shown = (*shown, *_broken_lines(engine, folder, part, state.lines, MOST_BROKEN_SHOWN - len(shown)))
    state = replace(state, broken=state.broken + broken, broken_lines=shown, at=now_micros())
    return state.with_part(part, grown, piece.end)


def _write_hosts(engine: AnalysisEngine, folder: Path, part: LogPart, before: list[LogPart]) -> None:
    """Write the hosts that no part before has, each with its registered domain."""
    known = (
        f" EXCEPT SELECT host FROM read_parquet([{', '.join(_place(folder, each.hosts) for each in before)}])"
        if before
        else ""
    )
    found = engine.run(
        f"SELECT host FROM (SELECT host FROM read_parquet({_place(folder, part.name)}) UNION"
        f" SELECT source_host FROM read_parquet({_place(folder, part.name)})) WHERE host IS NOT NULL{known}"
    )
    names = [host for (host,) in found]
    engine.run("CREATE OR REPLACE TEMP TABLE new_hosts (host VARCHAR, domain VARCHAR)")
    engine.run("INSERT INTO new_hosts SELECT unnest($1), unnest($2)", [names, [registered(host) for host in names]])
    engine.run(f"COPY new_hosts TO {_place(folder, part.hosts)} {_PARQUET}")


def _broken_lines(engine: AnalysisEngine, folder: Path, part: LogPart, before: int, most: int) -> Iterator[BrokenLine]:
    rows = engine.run(
        f"SELECT file_row_number + {part.first_line} AS number, broken"
        f" FROM read_parquet({_place(folder, part.name)}, file_row_number = true)"
        f" WHERE broken IS NOT NULL AND number > {before} ORDER BY number LIMIT {most}"
    )
    yield from (BrokenLine(number, text) for number, text in rows)


def registered(host: str) -> str:
    """Return the registered domain of a host; addresses, look-ups and unknown suffixes are domains by themselves."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return public_suffixes().privatesuffix(host) or host if host and ":" not in host else host
    return host


def _place(folder: Path, name: str) -> str:
    return quoted(str(folder / name))


def _is_compressed(path: Path) -> bool:
    with open_log(path) as file:
        return file.read(2) == b"\x1f\x8b"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with lock_or_not(folder / _LOCK_FILE) as is_held:
        if not is_held:
            raise LogTrouble(f"another process is analysing {folder} now; wait for its end, then try again")
        yield


@contextmanager
def _cleaned(folder: Path) -> Iterator[None]:
    """Remove temporary files at the end, however the intake ends."""
    try:
        yield
    finally:
        (folder / _TEXT_FILE).unlink(missing_ok=True)
        shutil.rmtree(folder / "temporary", ignore_errors=True)


def _forget(folder: Path) -> None:
    for path in (*folder.glob(f"*{_SUFFIX}"), folder / "state.json"):
        path.unlink(missing_ok=True)


def _remove_unnamed(folder: Path, state: IntakeState) -> None:
    """Remove files that the state does not name: those of an interrupted intake, and those that were replaced."""
    named = {name for part in state.parts for name in (part.name, part.hosts)}
    for path in folder.glob(f"*{_SUFFIX}"):
        if path.name not in named:
            with suppress(OSError):
                path.unlink()
