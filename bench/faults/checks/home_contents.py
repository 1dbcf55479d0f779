"""This module reads the contents of a home: records, sidecars, rows of the index, crawl.log, and entries in Redis."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import redis

from archive import crawl_log
from archive.capture import Original
from archive.settings.load import load
from archive.storage.presence import WarcFiles
from bench.faults.checks.records import DamagedRecord, WarcRecord, read_file
from dedupdb.captures.capture_index import Captures
from dedupdb.claims.claims import Claims
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.claims.existing_originals import ExistingOriginals
from dedupdb.claims.file_names import files_key
from dedupdb.claims.packing import unpack_original
from dedupdb.index.indexer import Indexer
from frontier.private_redis.server import EmbeddedRedis

type TraceRow = tuple[Any, ...]
_DRAINED: Final = "at the end of the drain"
type DedupEntries = Mapping[tuple[bytes, bytes], Original]
"""The entries of the dedup store: the original by hash and field."""


@dataclass(slots=True)
class HomeContents:
    """The contents of a collection on disk, with the parts that could not be read."""

    records: list[WarcRecord] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    """Files that should not exist after an orderly end."""
    lines: list[dict[str, Any]] = field(default_factory=list)
    """The JSON lines of the sidecars, with the name of the file added as `sidecar`."""
    log: list[crawl_log.LogLine] = field(default_factory=list)
    damaged_log_lines: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    """Log lines about exchanges that did not end by themselves."""
    rows: set[TraceRow] = field(default_factory=set)
    unexpected: set[str] = field(default_factory=set)
    """The ids of the records that `leave_out` removed."""

    @classmethod
    def read(cls, home: Path, collection: str) -> HomeContents:
        """Read the home. No process may run in it."""
        found = cls()
        folder = home / "collections" / collection
        for path in _files(folder / "archive"):
            if path.name.endswith((".warc.gz", ".warc.zst")):
                try:
                    found.records += read_file(path)
                except DamagedRecord as error:
                    found.damaged.append(str(error))
            else:
                found.leftovers.append(path.name)
        for path in _files(folder / "indexes"):
            if path.suffix == ".cdxj":
                found.lines += _lines(path)
            else:
                found.leftovers.append(path.name)
        found.leftovers += [f"spool/{path.name}" for path in (home / "spool").glob("*")]
        for path in sorted((home / "log").glob("*.log")):
            found._read_log(path)
        for path in sorted((home / "logs").glob("*.log")):
            text = path.read_text("utf-8", "replace")
            found.unfinished += [f"{path.name}: {line}" for line in text.split("\n") if _DRAINED in line]
        found.rows = rows(home)
        return found

    def leave_out(self, loads: Sequence[str], home: Path, collection: str) -> None:
        """Leave out the URLs of these loads, since some of their files were removed.

        The certificate of an origin belongs to no load. Its lines are left out together with its file.
        """
        names, archive = columns(home), home / "collections" / collection / "archive"

        def stays(url: str) -> bool:
            return not any(f"/{name}/" in url for name in loads)

        def is_there(line: dict[str, Any]) -> bool:
            return not line["url"].startswith("urn:") or (archive / line["filename"]).exists()

        self.unexpected = {record.id for record in self.records if not stays(record.url)}
        self.records = [record for record in self.records if stays(record.url)]
        self.lines = [line for line in self.lines if stays(line["url"]) and is_there(line)]
        self.log = [line for line in self.log if stays(line.url)]
        self.rows = {row for row in self.rows if stays(row[names.index("url")])}

    def _read_log(self, path: Path) -> None:
        texts = path.read_text("utf-8", "replace").split("\n") if path.exists() else []
        for text in filter(None, texts):
            try:
                self.log.append(crawl_log.parse(text))
            except ValueError:
                self.damaged_log_lines.append(text[:200])


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The entries of Redis and SQL, before and after `reindex` made them again from the disk."""

    entries: DedupEntries
    entries_again: DedupEntries
    rows: set[TraceRow]
    rows_again: set[TraceRow]


def rebuild(home: Path, collection: str) -> Rebuilt:
    """Do the same as `ghostfleet reindex`, and read Redis and SQL before and after."""
    settings = load({"home": str(home)}, environment={})
    before = rows(home)
    with (
        EmbeddedRedis(home) as server,
        closing(redis.Redis.from_url(server.url, protocol=2)) as client,
        Captures(settings.database_url) as captures,
        Indexer("", captures, home, files=(files := WarcFiles(settings))) as indexer,
        Claims(server.url, claim_seconds=30, timeout_seconds=60) as claims,
    ):
        entries = _dedup_entries(client, collection)
        indexer.reindex(collection)
        indexer.rebuild_dedup(
            collection, claims, DedupRules(settings.dedup), ExistingOriginals(claims, captures, files).is_there
        )
        return Rebuilt(entries, _dedup_entries(client, collection), before, rows(home))


def rows(home: Path) -> set[TraceRow]:
    """Return the rows of the capture index without their row numbers. `columns` has their columns."""
    names = columns(home)
    if not names:
        return set()
    with closing(sqlite3.connect(_database(home))) as connection:
        chosen = ", ".join(f'"{name}"' for name in names)
        return set(connection.execute(f"SELECT {chosen} FROM captures"))


def columns(home: Path) -> list[str]:
    """Return the names of the columns of `rows`; empty when there is no index yet."""
    with closing(sqlite3.connect(_database(home))) as connection:
        return sorted(name for _, name, *_ in connection.execute("PRAGMA table_info(captures)") if name != "id")


def _database(home: Path) -> str:
    return load({"home": str(home)}, environment={}).database_url.removeprefix("sqlite:///")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for text in path.read_text("utf-8").splitlines():
        yield {**json.loads(text.split(" ", 2)[2]), "sidecar": path.name}


def _dedup_entries(client: Any, collection: str) -> DedupEntries:
    found = {}
    names = {key: name.decode() for key, name in client.hgetall(files_key(collection)).items()}
    for key in client.scan_iter(match=f"gf:{{{collection}}}:o:*".encode(), count=1000):
        for name, value in client.hgetall(key).items():
            found[key, name] = unpack_original(value, names)
    return found
