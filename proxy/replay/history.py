"""Earlier captures that an origin can be asked about: has it changed since?

Found in the durable index, so that those of earlier jobs and of other processes count too, and read whole and
compared with their digest before anything is asked: what can't be read any more is fetched as if it had never been
captured. Blocks on disk and database: called from threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

from archive.capture import OWN_BUCKET, Capture, Context, Message, Original
from archive.dedup_section import DedupSettings
from archive.source import WarcError
from dedupdb.captures import CapturesError
from proxy.http1 import BadMessage, RequestHead, ResponseHead, parse_response
from proxy.memento import Archive
from proxy.spool import Spool

log = logging.getLogger(__name__)

_CANDIDATES: Final = 20
_TRIES: Final = 3
CONDITIONS: Final = frozenset(
    (b"if-none-match", b"if-modified-since", b"if-match", b"if-unmodified-since", b"if-range", b"range")
)


@dataclass(slots=True)
class Earlier:
    """A capture that has the whole payload, and what an origin may be asked about it."""

    original: Original
    head: ResponseHead
    """Of the newest capture with this payload."""
    body: Message
    """The payload, its content coding kept; without a head."""
    questions: bytes
    """Header lines to ask with; empty when the client asks for itself."""
    close: Callable[[], None]
    """Lets the payload go."""
    is_answer: bool = False
    """Whether the origin has said that this is what the client is to get."""


class History:
    """Looks for earlier captures of URLs."""

    def __init__(self, archive: Archive, spool: Callable[[], Spool], settings: DedupSettings) -> None:
        """`spool` makes room for a payload."""
        self._settings = settings
        self._archive = archive
        self._spool = spool

    def is_wanted(self, context: Context, wish: bool | None) -> bool:
        """Whether an earlier capture is to be looked for; `wish` is the session's or the request's, if it has one."""
        settings = self._settings
        return (
            (settings.conditional if wish is None else wish)
            and settings.enabled
            and context.dedup
            and context.archived
            and (bool(context.buckets) or not settings.only_with_bucket)
        )

    def find(self, context: Context, url: str, head: RequestHead) -> Earlier | None:
        """The newest capture of exactly that URL which this request can be about; None when there is none.

        Only captures whose buckets the request searches or fills count: a revisit never leads out of its bucket.
        """
        try:
            return next(self._readable(context, url, head), None)
        except CapturesError as error:
            log.warning("%s is asked for without condition: %s", url, error)
            return None

    def _readable(self, context: Context, url: str, head: RequestHead) -> Iterator[Earlier]:
        tries = 0
        for capture in self._archive.earlier(context.collection, url, _CANDIDATES):
            if capture.url != url or capture.status != 200 or capture.truncated is not None:
                continue
            original = self._archive.original(capture) if capture.kind == "revisit" else capture
            if original is None or not _may_refer(context, original):
                continue
            try:
                found = self._open(capture, original, head)
            except (OSError, WarcError, BadMessage) as error:
                log.warning("%s of %s can't be read: %s", original.record_id, url, error)
                tries += 1
                if tries == _TRIES:
                    return
                continue
            if found is not None:
                yield found

    def _open(self, capture: Capture, original: Capture, request: RequestHead) -> Earlier | None:
        with self._archive.record(capture) as record:
            head = parse_response(record.http_head)
        questions = _questions(head, request)
        if questions is None:
            return None
        spool = self._spool()
        try:
            with self._archive.record(original) as record:
                for piece in record.payload():
                    spool.add(piece)
                    spool.add_payload(piece)
            found = spool.digests()
            if (found.payload_length, found.payload_sha256.hex()) != (original.payload_length, original.sha256):
                raise WarcError(record.path, record.offset, "the payload is not what the index says")
        except BaseException:
            spool.close()
            raise
        place = Original(original.record_id, original.url, original.date)
        return Earlier(place, head, spool.message(), questions, spool.close)


def may_be_asked(head: RequestHead) -> bool:
    """Whether an earlier capture can be of use to a request: a GET for the whole, with at most simple conditions."""
    names = {name for name, _, _ in head.fields} & CONDITIONS
    return head.method == "GET" and names <= {b"if-none-match", b"if-modified-since"}


def _may_refer(context: Context, original: Capture) -> bool:
    known = {name for name, _ in context.buckets} or set(OWN_BUCKET)
    return original.kind == "response" and not known.isdisjoint(original.buckets)


def _questions(head: ResponseHead, request: RequestHead) -> bytes | None:
    """The lines that ask about a capture with that head; none when the client asks already; None: can't be asked.

    A capture that may have been another representation than this client would get is not asked about: the origin
    tells representations apart by their ETag (RFC 9110 section 8.8.3), but not by their date.
    """
    etag, modified = head.get(b"etag"), _date_of(head)
    own_etags, own_date = request.get(b"if-none-match"), request.get(b"if-modified-since")
    if own_etags is not None:
        return b"" if etag is not None and _opaque(etag) in map(_opaque, own_etags.split(b",")) else None
    if own_date is not None:
        return b"" if own_date == modified else None
    if etag is None and (modified is None or head.get(b"vary") is not None):
        return None
    coding = head.get(b"content-encoding")
    if head.get(b"vary") == b"*" or (coding is not None and not _accepts(request, coding)):
        return None
    asked = b"If-None-Match: %s\r\n" % etag if etag is not None else b""
    return asked + (b"If-Modified-Since: %s\r\n" % modified if modified is not None else b"")


def _date_of(head: ResponseHead) -> bytes | None:
    value = head.get(b"last-modified")
    try:
        parsedate_to_datetime((value or b"").decode("ascii"))
    except (ValueError, UnicodeDecodeError):
        return None
    return value


def _opaque(etag: bytes) -> bytes:
    """For the weak comparison (RFC 9110 section 8.8.3.2)."""
    return etag.strip().removeprefix(b"W/")


def _accepts(request: RequestHead, coding: bytes) -> bool:
    accepted = {
        part.partition(b";")[0].strip().lower() for part in (request.get(b"accept-encoding") or b"").split(b",")
    }
    return {part.strip().lower() for part in coding.split(b",")} <= accepted | {b"identity"}
