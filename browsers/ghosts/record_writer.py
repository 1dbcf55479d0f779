"""The records of a page are written through the proxy, several at once."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final

from archive.settings import BrowserSettings
from browsers.engines.png import packed
from browsers.ghosts.page import Deadline
from browsers.ghosts.page_records import PageRecord, PageVisit, derived_records, page_info_record
from browsers.proxying.control_client import Control, ProxySession, SessionExchanges
from browsers.visit import FoundLink

_WRITES_AT_ONCE: Final = 8
"""Number of records of pages that are written at the same time."""


class RecordWriter:
    """The writer has threads for the records of all visits of a ghost. It is safe to use from several threads."""

    def __init__(self, settings: BrowserSettings) -> None:
        """Start no thread yet. `settings` say which records a page has."""
        self._settings = settings
        self._threads = ThreadPoolExecutor(_WRITES_AT_ONCE, "ghost-records")

    def write(
        self,
        control: Control,
        session: ProxySession,
        page_visit: PageVisit,
        links: tuple[FoundLink, ...],
        ending: Deadline,
    ) -> SessionExchanges:
        """Write the records of the page. The last one compares the browser's requests with the proxy's captures.

        Return the proxy's list. Raises FleetUnavailable.
        """

        def write(record: PageRecord) -> None:
            facts = page_visit.window if record.kind == "resource" else None
            block = packed(record.block) if record.content_type == "image/png" else record.block
            control.write(session, record.kind, record.uri, record.content_type, block, facts)

        times = page_visit.snapshot.times
        with times.measure("records"):
            # A record is durable when the proxy answers, and several at once share one flush to the disk.
            written = [self._threads.submit(write, each) for each in derived_records(page_visit, links, self._settings)]
            wait(written)  # none may go on after an error of another one
            for each in written:
                each.result()
        with times.measure("captures"):
            kept = control.exchanges(session, wait_seconds=ending.left(math.inf))
        with times.measure("page-info"):
            write(page_info_record(page_visit, links, kept))
        return kept

    def close(self) -> None:
        """Wait for the records, and end the threads."""
        self._threads.shutdown()
