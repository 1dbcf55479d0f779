"""What is to become of one item of a batch: its records, its counts, its line in the log. No I/O."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from archive import crawl_log, record
from archive.capture import Body, Capture, Context, Exchange, Origin, Original, Truncation
from archive.dates import Micros
from archive.derived import ResourceKind, resource_record
from archive.digest import Algorithm
from dedupdb.claims import Want

_HEADERS: Final = 2048
_MOST_TRAILER_BYTES: Final = 2048
"""Of a revisit: JWAT reads no record whose header is longer than 8 KB."""


@dataclass(frozen=True, slots=True)
class Derived:
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
    """Whether the recorder made it of itself: then it is no URL that anybody asked for, and is not counted as one."""
    fields: tuple[tuple[str, str], ...] = ()
    truncated: Truncation | None = None


@dataclass(slots=True)
class Plan:
    """What is to become of one item of the batch."""

    item: Exchange | Derived
    want: Want | None = None
    twin: int | None = None
    """Place in the batch of the first item that wants the same; None when it is this one."""
    original: Original | None = None
    granted: bool = False
    later: bool = False
    capture: Capture | None = None
    failure: str = ""
    in_blackout: bool = False
    """Whether it comes so soon after its original that nothing is written."""

    def refer_to(self, original: Original, *, in_blackout: Callable[[str, Micros, Original], bool]) -> None:
        """It is a copy of that original; written whole all the same when its trailers would swell the header."""
        self.original, self.later = original, False
        if isinstance(self.item, Exchange):
            self.in_blackout = in_blackout(self.item.url, self.item.started, original)
            trailer_bytes = sum(len(name) + len(value) for name, value in self.item.trailers)
            if trailer_bytes > _MOST_TRAILER_BYTES and not self.in_blackout:
                self.original = None

    @property
    def is_revisit(self) -> bool:
        """Whether its payload is an earlier capture's: by its digest, or as its origin said."""
        return self.original is not None or (isinstance(self.item, Exchange) and self.item.unchanged is not None)

    @property
    def is_kept_whole(self) -> bool:
        """Whether there is something to write."""
        return (
            self.item.context.archived
            and not self.in_blackout
            and (isinstance(self.item, Derived) or self.item.response is not None)
        )

    @property
    def weight(self) -> int:
        """Bytes to pack, the records' headers by estimate; beyond any measure when they are to be read from a disk."""
        if isinstance(self.item, Derived):
            return _HEADERS + _weight(self.item.body)
        weight = _HEADERS
        for message in (self.item.response, self.item.request):
            if message is not None:
                weight += len(message.head) + _weight(message.body)
        return weight

    @property
    def original_to_be(self) -> Original | None:
        """This item's response as later revisits will refer to it; None when it was not written."""
        capture = self.capture
        return Original.of(capture) if capture else None

    def records(self, warcinfo_id: str, algorithm: Algorithm) -> Sequence[record.Record]:
        """The record set to write; `algorithm` is for digests not taken yet. Raises ValueError for what can't be."""
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
        """What a job's counters gain: novel, duplicate and failed exchanges with their bytes; bytes of WARC."""
        written = self.capture.length if self.capture else 0
        if isinstance(self.item, Derived):
            counts = {"derived": 1, "derived_bytes": self.item.body.length, "warc_bytes": written}
            return {"warc_bytes": written} if self.item.is_ours else counts
        response = self.item.response
        if response is None or self.failure or self.item.outcome < 0:
            return {"failed_urls": 1, f"code:{crawl_log.RUNTIME if self.failure else self.item.outcome}": 1}
        is_kept = self.item.context.archived and not self.in_blackout
        kind = "unkept" if not is_kept else "duplicate" if self.is_revisit else "novel"
        return {
            f"{kind}_urls": 1,
            f"{kind}_bytes": response.length,
            "warc_bytes": written,
            f"code:{self.item.outcome}": 1,
        }

    def log_line(self, exchange: Exchange) -> str:
        """The exchange's line in the job's crawl.log."""
        annotations = list(exchange.annotations)
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
