"""Files of other programs, imported into a collection and asked for as replay asks, without a network."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Self

from admin.collections.transfer.importing import Choices, ImportedFile, Importer, find
from archive.capture import Capture
from archive.settings.load import Settings
from archive.warc.records.request_query import asked_query
from dedupdb.captures.capture_index import Captures
from dedupdb.index.sidecars import Sidecars
from proxy.replay.matching.wanted import WantedCapture
from proxy.replay.memento import Archive
from support.archive.foreign_warcs import new_id, record

FORM = "application/x-www-form-urlencoded"
RESPONSE = "application/http; msgtype=response"
REQUEST = "application/http; msgtype=request"
DATE = "2026-03-04T05:06:07Z"


def made(
    kind: str, url: str, block: bytes, *, date: str = DATE, version: str = "WARC/1.0", **fields: str | None
) -> tuple[bytes, str]:
    """A record without a compression, and its id. A field that is None is left out."""
    identity = fields.pop("WARC_Record_ID", None) or new_id()
    given = {
        "WARC-Type": kind,
        "WARC-Record-ID": identity,
        "WARC-Date": date,
        "WARC-Target-URI": url,
        "Content-Type": REQUEST if kind == "request" else RESPONSE,
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }
    return record(version, {name: value for name, value in given.items() if value is not None}, block), identity


def posted(body: bytes, path: str = "/", method: str = "POST") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class ImportedShelf:
    """A collection "old", its index, and what can be asked of both."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.captures = Captures(settings.database_url)
        self.archive = Archive(settings, self.captures)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.captures.close()

    def take(self, *parts: bytes, name: str = "a.warc.gz", strict: bool = False) -> ImportedFile:
        """Import a file with these records; with `.gz` in its name, each has a gzip member."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(b"".join(map(gzip.compress, parts) if name.endswith(".gz") else parts))
            return self.take_file(path, strict=strict)

    def take_file(self, path: Path, *, strict: bool = False) -> ImportedFile:
        importer = Importer(self.settings, "old", self.captures, Choices(strict=strict))
        (item,) = find([path])
        done = importer.take(item)
        Sidecars(self.settings.home, self.captures).reconcile("old")
        return done

    def ask(self, url: str, body: bytes | None = None, *accepted: str, **more: object) -> tuple[int, bytes] | None:
        """Status and body of the answer; None without one."""
        found = self.heard(url, body, *accepted, **more)
        return found and (int(found[0].split(b" ", 2)[1]), found[1])

    def heard(self, url: str, body: bytes | None = None, *accepted: str, **more: object) -> tuple[bytes, bytes] | None:
        """Head and body of the answer; the client takes the codings."""
        fields = tuple((b"accept-encoding", each.encode(), b"") for each in accepted)
        facts = {
            "method": "GET" if body is None else "POST",
            "date": None,
            "ranges": (),
            "is_conditional": False,
            "collection": "old",
            "fields": fields,
            "body": None if body is None else asked_query("POST", FORM, (body,)),
        }
        memento = self.archive.find(WantedCapture(url=url, **(facts | more)))  # type: ignore[arg-type]
        if memento is None:
            return None
        content = b"".join(memento.pieces)
        memento.close()
        assert memento.length == len(content)
        return memento.head, content

    def rows(self, url: str) -> list[Capture]:
        return self.captures.nearest("old", url, None, methods=(), limit=100)
