"""A storage that takes too long is answered for with 504, and what it gives in the end is let go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from support.archive.kept_warcs import exchange, keep

from archive.settings.load import Settings, load
from archive.storage.upload import Uploader
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures
from proxy.fetch.incoming_request import IncomingRequest
from proxy.fetch.target import target_of
from proxy.protocol.http1 import Framing, parse_request
from proxy.replay.memento import Archive
from proxy.replay.replayer import Replayer
from proxy.sessions.gate import Gate
from proxy.sessions.request_options import NO_META
from proxy.sessions.session import Session
from proxy.sessions.spec import SessionSpec

URL = "http://example.org/page"


class StuckStore(MemoryFileSystem):
    """A store that gives nothing until it is let."""

    protocol = "stuck"
    store: dict[str, Any] = {}  # noqa: RUF012 — that of MemoryFileSystem, of our own
    pseudo_dirs = [""]  # noqa: RUF012
    may_go = threading.Event()
    given = threading.Event()

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        assert self.may_go.wait(60)
        data: bytes = super().cat_file(path, start=start, end=end, **kwargs)
        self.given.set()
        return data


class Listener:
    """A client that notes what it gets."""

    is_full = False
    remarks = ()

    def __init__(self) -> None:
        self.heard = b""
        self.over = asyncio.Event()

    def send(self, data: bytes) -> None:
        self.heard += data

    def finish(self, *, keep_alive: bool, last: bytes = b"") -> None:
        self.send(last)
        self.over.set()

    def abort(self) -> None:
        raise AssertionError("broken off")

    def upgraded(self) -> None:
        raise AssertionError("upgraded")

    def take_more(self) -> None:
        raise AssertionError("nothing more is sent")


@pytest.fixture
def settings(home: Path) -> Iterator[Settings]:
    """A collection "news" whose one WARC is in the storage alone."""
    fsspec.register_implementation("stuck", StuckStore, clobber=True)
    StuckStore.store, StuckStore.pseudo_dirs = {}, [""]
    StuckStore.may_go.clear()
    StuckStore.given.clear()
    settings = load(
        {"home": str(home), "storage.url": "stuck://bucket", "storage.keep_local_seconds": 0}, environment={}
    )
    writer = WarcWriter(settings, "news")
    kept = keep(writer, [exchange(URL)])
    writer.close()
    with Captures(settings.database_url) as captures:
        captures.add(kept)
    StuckStore.may_go.set()
    assert Uploader(settings).look()
    StuckStore.may_go.clear()
    yield settings
    StuckStore.may_go.set()


def request_by(session: Session, client: Listener) -> IncomingRequest:
    head = parse_request(f"GET {URL} HTTP/1.1\r\nHost: example.org\r\n\r\n".encode())
    target = target_of(head, None)
    assert target is not None
    return IncomingRequest(head, Framing.NONE, 0, target, session, NO_META, client)


async def test_who_waits_too_long_gets_a_504_and_the_next_one_the_page(settings: Settings) -> None:
    session = Session(SessionSpec("news", mode="replay"))
    with Captures(settings.database_url) as captures:
        archive, gate, loop = Archive(settings, captures), Gate(settings.proxy), asyncio.get_running_loop()
        replayer = Replayer(archive, gate, loop, answer_seconds=0.05)
        patient = Replayer(archive, gate, loop, answer_seconds=60)
        first, second = Listener(), Listener()
        try:
            replayer.begin(request_by(session, first))
            await first.over.wait()
            assert first.heard.startswith(b"HTTP/1.1 504 ")
            assert b"the record was not found within" in first.heard

            StuckStore.may_go.set()
            patient.begin(request_by(session, second))
            await second.over.wait()
            assert second.heard.startswith(b"HTTP/1.1 200 ")
            assert second.heard.endswith(b"hello")
        finally:
            StuckStore.may_go.set()
            replayer.stop()
            patient.stop()
    assert (session.counts["urls"], session.counts["failed"], session.errors) == (2, 1, {"504": 1})
    assert session.in_flight == 0
