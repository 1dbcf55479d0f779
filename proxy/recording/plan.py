"""A plan says what is to become of one item of a batch: its records, its counts, its line in the log. Pure."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from archive import crawl_log
from archive.capture import Body, Capture, Context, Exchange, Origin, Original, Truncation
from archive.dates import Micros
from archive.digest import Algorithm
from archive.http.http_message import media_type
from archive.warc.records import record
from archive.warc.records.derived import ResourceKind, resource_record
from dedupdb.claims.claims import PayloadKey

_HEADERS: Final = 2048
_WRITTEN: Final = 204
"""The status for a client that has handed in a record."""
_MOST_TRAILER_BYTES: Final = 2048
"""Of a revisit: JWAT reads no record whose header is longer than 8 KB."""


@dataclass(frozen=True, slots=True)
class DerivedRecord:
    """A record made from a page rather than fetched: a screenshot, a final DOM, a note."""

    context: Context
    kind: ResourceKind
    url: str
    content_type: str
    body: Body
    date: Micros
    concurrent_to: str | None = None
    origin: Origin | None = None
    """Where it came from, for what was not made here."""
    is_ours: bool = False
    """The recorder made the record itself; no client asked for such a URL, so it is not counted."""
    fields: tuple[tuple[str, str], ...] = ()
    truncated: Truncation | None = None
    method: str = ""
    """The method by which a client handed it in, if that is to have a line in the log."""


@dataclass(slots=True)
class Plan:
    """A plan says what is to become of one item of the batch."""

    item: Exchange | DerivedRecord
    want: PayloadKey | None = None
    twin: int | None = None
    """Place in the batch of the first item that wants the same; None when it is this one."""
    original: Original | None = None
    granted: bool = False
    later: bool = False
    capture: Capture | None = None
    failure: str = ""
    in_blackout: bool = False
    """The item comes so soon after its original that nothing is written."""

    def refer_to(self, original: Original, *, in_blackout: Callable[[str, Micros, Original], bool]) -> None:
        """Make the item a revisit of that original, unless its trailers are too long for a revisit's header."""
        self.original, self.later = original, False
        if isinstance(self.item, Exchange):
            self.in_blackout = in_blackout(self.item.url, self.item.started, original)
            trailer_bytes = sum(len(name) + len(value) for name, value in self.item.trailers)
            if trailer_bytes > _MOST_TRAILER_BYTES and not self.in_blackout:
                self.original = None

    @property
    def is_revisit(self) -> bool:
        """Return whether an earlier capture has the same payload, by its digest or after a 304 of the origin."""
        return self.original is not None or (isinstance(self.item, Exchange) and self.item.unchanged is not None)

    @property
    def is_kept_whole(self) -> bool:
        """Return whether there is something to write."""
        return (
            self.item.context.archived
            and not self.in_blackout
            and (isinstance(self.item, DerivedRecord) or self.item.response is not None)
        )

    @property
    def weight(self) -> int:
        """Return the bytes to pack, with an estimate of the headers; `sys.maxsize` when the body is a file."""
        if isinstance(self.item, DerivedRecord):
            return _HEADERS + _weight(self.item.body)
        weight = _HEADERS
        for message in (self.item.response, self.item.request):
            if message is not None:
                weight += len(message.head) + _weight(message.body)
        return weight

    @property
    def as_original(self) -> Original | None:
        """Return the original that later revisits of this item will refer to; None when nothing was written."""
        capture = self.capture
        return Original.of(capture) if capture else None

    def records(self, warcinfo_id: str, algorithm: Algorithm) -> Sequence[record.Record]:
        """Return the records to write; `algorithm` is for digests that are still missing.

        Raises ValueError for an item that can't be written.
        """
        item = self.item
        if isinstance(item, Exchange):
            return record.exchange_records(item, warcinfo_id=warcinfo_id, original=self.original)
        made = resource_record(
            item.kind,
            item.url,
            item.content_type,
            item.body,
            date=item.date,
            context=item.context,
            warcinfo_id=warcinfo_id,
            concurrent_to=item.concurrent_to,
            origin=item.origin,
            fields=item.fields,
            truncated=item.truncated,
            algorithm=algorithm,
        )
        return (made,)

    def tally(self) -> dict[str, int]:
        """Return what a job's counters gain: novel, duplicate and failed exchanges with their bytes; bytes of WARC.

        A record of a client that could not be written counts as failed, too.
        """
        written = self.capture.length if self.capture else 0
        if isinstance(self.item, DerivedRecord) and self.item.is_ours:
            return {"warc_bytes": written}
        if self.failure:
            return {"failed_urls": 1, f"code:{crawl_log.RUNTIME}": 1}
        if isinstance(self.item, DerivedRecord):
            return {"derived": 1, "derived_bytes": self.item.body.length, "warc_bytes": written}
        response = self.item.response
        if response is None or self.item.outcome < 0:
            return {"failed_urls": 1, f"code:{self.item.outcome}": 1}
        is_kept = self.item.context.archived and not self.in_blackout
        kind = "unkept" if not is_kept else "duplicate" if self.is_revisit else "novel"
        return {
            f"{kind}_urls": 1,
            f"{kind}_bytes": response.length,
            "warc_bytes": written,
            f"code:{self.item.outcome}": 1,
        }

    @property
    def is_logged(self) -> bool:
        """Return whether the item has a line in a log."""
        context = self.item.context
        return bool(context.log_dir) and not self.later and (isinstance(self.item, Exchange) or bool(self.item.method))

    def log_line(self) -> str:
        """Return the item's line in its log."""
        if isinstance(self.item, Exchange):
            return self._exchange_line(self.item)
        item, code = self.item, crawl_log.RUNTIME if self.failure else _WRITTEN
        annotations = ["notKept"] if self.failure else [] if item.context.archived else ["notArchived"]
        return crawl_log.derived_line(
            item.context,
            item.url,
            code=code,
            size=item.body.length,
            mime=media_type(item.content_type) or "",
            date=item.date,
            method=item.method,
            annotations=annotations,
            capture=self.capture,
        )

    def _exchange_line(self, exchange: Exchange) -> str:
        annotations = [*crawl_log.try_notes(exchange.context.attempt), *exchange.annotations]
        if self.original is not None:
            annotations += crawl_log.revisit_notes(self.original, exchange.response.length if exchange.response else 0)
        elif exchange.unchanged is not None:
            annotations.append("duplicate:server-not-modified")
        if self.in_blackout:
            annotations.append("blackout")
        if exchange.truncated:
            annotations.append(f"truncated:{exchange.truncated}")
        if self.failure:
            annotations.append("notKept")
        if not exchange.context.archived and exchange.response is not None:
            annotations.append("notArchived")
        return crawl_log.line(
            exchange,
            code=crawl_log.RUNTIME if self.failure else exchange.outcome,
            annotations=annotations,
            capture=self.capture,
        )


def _weight(body: Body) -> int:
    return body.length if body.file is None else sys.maxsize
