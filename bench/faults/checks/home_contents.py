"""What a round leaves in a home, read back: records, sidecars, the index's rows, crawl.log, what Redis knows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import redis

from admin.bench.faults.records import Stored, Torn, read_file
from archive import crawl_log
from archive.capture import Original
from archive.settings import load
from dedupdb.captures import Captures
from dedupdb.claims import Claims
from dedupdb.eligible import Eligible
from dedupdb.filenames import files_key
from dedupdb.indexer import Indexer
from dedupdb.packing import unpack_original
from frontier.embedded import start_redis

type Row = tuple[Any, ...]
_DRAINED: Final = "at the end of the drain"
type Known = Mapping[tuple[bytes, bytes], Original]
"""What dedup knows: the original by hash and field."""


@dataclass(slots=True)
class Traces:
    """All that was found of a collection on disk, and what could not be read of it."""

    records: list[Stored] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    """Files that an orderly end leaves none of."""
    lines: list[dict[str, Any]] = field(default_factory=list)
    """The sidecars' JSON, with `sidecar`, the file, added."""
    log: list[crawl_log.LogLine] = field(default_factory=list)
    torn_log: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    """What the processes logged about exchanges that did not end by themselves."""
    rows: set[Row] = field(default_factory=set)

    @classmethod
    def read(cls, home: Path, collection: str) -> Traces:
        """Reads everything; nothing may run in the home."""
        found = cls()
        folder = home / "collections" / collection
        for path in _files(folder / "archive"):
            if path.name.endswith((".warc.gz", ".warc.zst")):
                try:
                    found.records += read_file(path)
                except Torn as error:
                    found.torn.append(str(error))
            else:
                found.strays.append(path.name)
        for path in _files(folder / "indexes"):
            if path.suffix == ".cdxj":
                found.lines += _lines(path)
            else:
                found.strays.append(path.name)
        found.strays += [f"spool/{path.name}" for path in (home / "spool").glob("*")]
        found._read_log(home / "log" / crawl_log.FILE_NAME)
        for path in sorted((home / "logs").glob("*.log")):
            text = path.read_text("utf-8", "replace")
            found.stuck += [f"{path.name}: {line}" for line in text.split("\n") if _DRAINED in line]
        found.rows = rows(home)
        return found

    def _read_log(self, path: Path) -> None:
        texts = path.read_text("utf-8", "replace").split("\n") if path.exists() else []
        for text in filter(None, texts):
            try:
                self.log.append(crawl_log.parse(text))
            except ValueError:
                self.torn_log.append(text[:200])


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Redis and SQL as they were, and as `reindex` makes them from what is on disk."""

    known: Known
    known_again: Known
    rows: set[Row]
    rows_again: set[Row]


def rebuild(home: Path, collection: str) -> Rebuilt:
    """Does what `ghostfleet reindex` does, and looks before and after."""
    settings = load({"home": str(home)}, environment={})
    before = rows(home)
    with (
        start_redis(home) as server,
        closing(redis.Redis.from_url(server.url, protocol=2)) as client,
        Captures(settings.database_url) as captures,
        Indexer("", captures, home) as indexer,
        Claims(server.url, claim_seconds=30, timeout_seconds=60) as claims,
    ):
        known = _known(client, collection)
        indexer.reindex(collection)
        indexer.rebuild_dedup(collection, claims, Eligible(settings.dedup))
        return Rebuilt(known, _known(client, collection), before, rows(home))


def rows(home: Path) -> set[Row]:
    """The rows of the capture index, without their numbers; their columns are `columns`."""
    names = columns(home)
    if not names:
        return set()
    with closing(sqlite3.connect(_database(home))) as connection:
        chosen = ", ".join(f'"{name}"' for name in names)
        return set(connection.execute(f"SELECT {chosen} FROM captures"))


def columns(home: Path) -> list[str]:
    """What the columns of `rows` are called; none when there is no index yet."""
    with closing(sqlite3.connect(_database(home))) as connection:
        return sorted(name for _, name, *_ in connection.execute("PRAGMA table_info(captures)") if name != "id")


def _database(home: Path) -> str:
    return load({"home": str(home)}, environment={}).database_url.removeprefix("sqlite:///")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for text in path.read_text("utf-8").splitlines():
        yield {**json.loads(text.split(" ", 2)[2]), "sidecar": path.name}


def _known(client: Any, collection: str) -> Known:
    found = {}
    names = {key: name.decode() for key, name in client.hgetall(files_key(collection)).items()}
    for key in client.scan_iter(match=f"gf:{{{collection}}}:o:*".encode(), count=1000):
        for name, value in client.hgetall(key).items():
            found[key, name] = unpack_original(value, names)
    return found
