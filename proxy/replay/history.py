"""The history finds earlier captures, about which an origin can be asked whether they have changed since.

Found in the durable index, so that those of earlier jobs and of other processes count too, and read whole and
compared with their digest before anything is asked: what can't be read any more is fetched as if it had never been
captured. Blocks on disk and database: called from threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Final

from archive.capture import OWN_BUCKET, Capture, Context, Original
from archive.digest import DEFAULT_ALGORITHM
from archive.settings import DedupSettings
from archive.warc.reading.member_reader import WarcError
from dedupdb.captures.schema import CapturesError
from proxy.delivery.earlier import Earlier
from proxy.protocol.http1 import BadMessage, RequestHead, ResponseHead, parse_response
from proxy.protocol.validators import confirms
from proxy.recording.spool import Spool
from proxy.replay.memento import Archive

log = logging.getLogger(__name__)

_CANDIDATES: Final = 20
_TRIES: Final = 3
FRAMING: Final = frozenset((b"content-length", b"transfer-encoding", b"trailer"))
CONDITIONS: Final = frozenset(
    (b"if-none-match", b"if-modified-since", b"if-match", b"if-unmodified-since", b"if-range", b"range")
)


class History:
    """Looks for earlier captures of URLs."""

    def __init__(self, archive: Archive, spool: Callable[[], Spool], settings: DedupSettings) -> None:
        """`spool` makes room for a payload."""
        self._settings = settings
        self._archive = archive
        self._spool = spool

    def is_wanted(self, context: Context, wish: bool | None) -> bool:
        """Return whether an earlier capture is to be looked for; `wish` is the session's or the request's, if it has
        one.
        """
        settings = self._settings
        return (
            (settings.conditional if wish is None else wish)
            and settings.enabled
            and context.dedup
            and context.archived
            and (bool(context.buckets) or not settings.only_with_bucket)
        )

    def find(self, context: Context, url: str, head: RequestHead) -> Earlier | None:
        """Return the newest capture of exactly that URL which this request can be about; None when there is none.

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
                framing = tuple(each for each in parse_response(record.http_head).fields if each[0] in FRAMING)
                for piece in record.payload():
                    spool.add(piece)
                    spool.add_payload(piece)
            found = spool.digests()
            if (found.payload_length, found.payload_sha256.hex()) != (original.payload_length, original.sha256):
                raise WarcError(record.path, record.offset, "the payload is not what the index says")
        except BaseException:
            spool.close()
            raise
        return Earlier(
            Original.of(original),
            head,
            spool.message(),
            questions,
            spool.close,
            digest=_labelled(original),
            framing=framing,
            has_head=self._settings.not_modified == "identical-payload-digest",
        )


def may_be_asked(head: RequestHead) -> bool:
    """Return whether an earlier capture can be of use to a request: a GET for the whole, with at most simple
    conditions.
    """
    names = {name for name, _, _ in head.fields} & CONDITIONS
    return head.method == "GET" and names <= {b"if-none-match", b"if-modified-since"}


def _may_refer(context: Context, original: Capture) -> bool:
    known = {name for name, _ in context.buckets} or set(OWN_BUCKET)
    return original.kind == "response" and not known.isdisjoint(original.buckets)


def _questions(head: ResponseHead, request: RequestHead) -> bytes | None:
    """Return the lines that ask about a capture with that head; none when the client asks already; None: can't be
    asked.

    A capture that may have been another representation than this client would get is not asked about: the origin
    tells representations apart by their ETag (RFC 9110 section 8.8.3), but not by their date. The value `*` is no ETag:
    in a question it stands for every representation.
    """
    etag, modified = head.get(b"etag"), _date_of(head)
    if etag == b"*":
        return None
    if request.get(b"if-none-match") is not None or request.get(b"if-modified-since") is not None:
        return b"" if confirms(head, request.fields) else None
    if etag is None and (modified is None or head.get(b"vary") is not None):
        return None
    coding = head.get(b"content-encoding")
    if head.get(b"vary") == b"*" or (coding is not None and not _accepts(request, coding)):
        return None
    asked = b"If-None-Match: %s\r\n" % etag if etag is not None else b""
    return asked + (b"If-Modified-Since: %s\r\n" % modified if modified is not None else b"")


def _labelled(original: Capture) -> str:
    """Return the payload's digest with its label, which an index line leaves out for SHA-1."""
    digest = original.digest or ""
    return digest if ":" in digest else f"{DEFAULT_ALGORITHM}:{digest}"


def _date_of(head: ResponseHead) -> bytes | None:
    value = head.get(b"last-modified")
    try:
        parsedate_to_datetime((value or b"").decode("ascii"))
    except (ValueError, OverflowError):
        return None
    return value


def _accepts(request: RequestHead, coding: bytes) -> bool:
    accepted = {
        part.partition(b";")[0].strip().lower() for part in (request.get(b"accept-encoding") or b"").split(b",")
    }
    return {part.strip().lower() for part in coding.split(b",")} <= accepted | {b"identity"}
