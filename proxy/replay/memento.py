"""Finds the record that answers a request: the right capture, and the record with its payload."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final, Protocol

from archive import url as urls
from archive.capture import Capture, RecordKind
from archive.dates import Micros, iso_second
from archive.settings.load import Settings
from archive.storage.record_store import RecordStore
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import StoredRecord
from proxy.log_lines import about
from proxy.protocol.http1 import BadMessage, ResponseHead
from proxy.protocol.validators import confirms
from proxy.replay.access import NearestIndex, ReadableCaptures
from proxy.replay.answers import (
    Memento,
    edited_memento,
    head_without_response,
    memento_of,
    own_head,
    own_memento,
    payload_of,
    with_codings,
)
from proxy.replay.conversation import SocketScript, messages_in
from proxy.replay.edits import Edit, repeating_edit
from proxy.replay.matching.originals import OriginalIndex, RevisitOriginals
from proxy.replay.matching.random_values import of_one_payload
from proxy.replay.matching.recorded_exchanges import RecordedExchanges
from proxy.replay.matching.similar import Similar
from proxy.replay.matching.variants import Variants
from proxy.replay.matching.wanted import WantedCapture
from proxy.replay.page_scripts import HTML, PageScripts, allowing, script_edit
from proxy.replay.pieces import MOST_READ, continues, joined, rest_of
from proxy.replay.playlists import is_playlist, playlist_edit
from proxy.replay.undone_codings import (
    LOOKED_AT,
    accepts,
    are_undone_here,
    length_of,
    named_codings,
    true_codings,
    undone,
)

log = logging.getLogger(__name__)

_CANDIDATES: Final = 40
_IN_VISIT: Final = 400
"""Captures of one URL that are looked at for an answer within a page visit."""
_BLOCKED: Final = b"Ghostfleet-Replay: blocked\r\nContent-Length: 0\r\n"
_ECHOING: Final = re.compile(r"^text/|json|javascript|xml")
"""Types of answers that may repeat what a page has made up."""
_ONE_SITTING: Final = 3_600_000_000
"""Captures of a document in this time (Micros) are told apart by the cookies of their requests."""


class Index(NearestIndex, OriginalIndex, Protocol):
    """Replay needs this part of `dedupdb.captures.capture_index.Captures`."""


class PayloadElsewhere(Exception):
    """The capture is here and its payload in another archive: the message says what it is there, and where."""


class RecordDamaged(Exception):
    """The archive has captures of the URL, and none of their records can be read. The message says why."""


class Archive:
    """Finds and opens mementos. Blocks on disk and database: called from threads."""

    def __init__(self, settings: Settings, index: Index) -> None:
        self._holdings = RecordStore(settings)
        self._index = index
        self._originals = RevisitOriginals(index)
        self._readable = ReadableCaptures(index, settings.home / "collections", settings.curation.access_policy())
        self._similar = Similar(self._readable)
        self._exchanges = RecordedExchanges(self._holdings)
        self._variants = Variants(self._exchanges)
        self._scripts = PageScripts(clock=settings.proxy.replay_clock, banner=settings.proxy.replay_banner)

    def find(self, wanted: WantedCapture) -> Memento | None:
        """Return the capture that answers best; None when there is none.

        Raises StorageError when its record is in the storage, and that can't be asked: another capture would be
        another answer. Raises PayloadElsewhere when none can whose payload is here, and RecordDamaged when there are
        captures and none of them can be read.
        """
        methods = ("GET", "HEAD") if wanted.method == "HEAD" else (wanted.method,)
        visit, date = wanted.visit, wanted.date
        if visit is not None and visit.date is not None and not wanted.date_is_fixed:
            date = visit.date
        captures = self._readable.nearest(
            wanted.collection,
            wanted.url,
            date,
            methods=methods,
            body=wanted.body,
            limit=_CANDIDATES if visit is None else _IN_VISIT,
        )
        trouble: list[Exception] = []
        memento = self._first(captures, wanted, trouble) or self._written(wanted)
        if memento is None and wanted.takes_similar and not captures:
            moments = (date,) if date is not None else ()
            similar = self._similar.find(
                wanted.collection, wanted.url, wanted.method, wanted.body, moments, is_page=wanted.page is not None
            )
            if not similar and wanted.method in ("GET", "HEAD"):
                similar = self._with_random_values(wanted, date, moments)
            similar.sort(key=lambda capture: -capture.date if date is None else abs(capture.date - date))
            memento = self._first(similar, wanted, trouble, note="similar")
        if memento is None and trouble:
            raise next((each for each in trouble if isinstance(each, PayloadElsewhere)), trouble[0])
        return memento

    def _with_random_values(
        self, wanted: WantedCapture, date: Micros | None, moments: Sequence[Micros]
    ) -> list[Capture]:
        """Return the captures of a part of a page whose URL has a random value under a name that no rule knows."""
        if wanted.page is not None and wanted.page.within is None:
            return []
        found = self._similar.with_random_values(wanted.collection, wanted.url, wanted.method, moments)
        if wanted.visit is not None and wanted.visit.date is not None:
            found = wanted.visit.own(found)
        return of_one_payload(found, date)

    def conversation(self, wanted: WantedCapture) -> SocketScript | None:
        """Return the WebSocket that answers a handshake; None when there is none.

        Raises OSError, WarcError or StorageError when its records can't be read.
        """
        visit, date = wanted.visit, wanted.date
        if visit is not None and visit.date is not None and not wanted.date_is_fixed:
            date = visit.date
        collection, url = wanted.collection, wanted.url
        captures = self._readable.nearest(collection, url, date, methods=("GET",), limit=_IN_VISIT)
        if not captures and wanted.takes_similar:
            captures = self._similar.find(collection, url, "GET", None)
        switched = [each for each in captures if each.status == 101 and not self._readable.is_blocked(each)]
        for capture in self._arranged(switched, wanted, are_similar=False):
            if isinstance(capture, Capture):
                return self._conversation(capture)
        return None

    def _conversation(self, handshake: Capture) -> SocketScript:
        subprotocol = self._exchanges.response_fields(handshake).get("Sec-WebSocket-Protocol")
        kinds: tuple[RecordKind, ...] = ("resource",)
        near = self._index.nearest(
            handshake.collection, handshake.url, handshake.date, kinds=kinds, methods=(), limit=_IN_VISIT
        )
        parts = sorted((part for part in near if part.date >= handshake.date), key=lambda part: part.date)
        said = messages_in(record for part in parts if (record := self._said_in(part, handshake)) is not None)
        return SocketScript(subprotocol.encode("latin-1", "replace") if subprotocol else None, said)

    def _said_in(self, part: Capture, handshake: Capture) -> StoredRecord | None:
        """Return a record with messages of a WebSocket, to be closed; None for one of another WebSocket."""
        record = self.record(part)
        if handshake.record_id in record.concurrent_to and record.fields.get("WARC-Resource-Type") == "websocket":
            return record
        record.close()
        return None

    def _first(
        self, captures: Sequence[Capture], wanted: WantedCapture, trouble: list[Exception], note: str = ""
    ) -> Memento | None:
        """Return the first of the captures that can answer, in the order of the page visit and of the headers."""
        for capture in self._arranged(
            self._exchanges.with_body(captures, wanted.body_sha256), wanted, are_similar=bool(note)
        ):
            if isinstance(capture, Memento):
                return capture
            shown = self._shown(capture, wanted)
            if shown is None:
                continue
            if self._readable.is_blocked(capture):
                return own_memento(451, _BLOCKED)
            try:
                memento = self._open(shown, wanted, note)
            except PayloadElsewhere as error:
                trouble.append(error)
                continue
            except (OSError, WarcError, BadMessage) as error:
                reason = "%s of %s can't be replayed: %s"
                log.warning(reason, capture.record_id, capture.url, error, extra=about(wanted.exchange))
                trouble.append(RecordDamaged(f"the record of {capture.url} can't be read: {error}"))
                continue
            if memento is not None:
                if wanted.page is not None:
                    wanted.page.begin(capture, captures)
                return self._continued(memento, captures, wanted, note) if wanted.ranges else memento
        return None

    def _continued(self, memento: Memento, captures: Sequence[Capture], wanted: WantedCapture, note: str) -> Memento:
        """Return an answer with the captured ranges behind it, when it is shorter than what was asked for."""
        read = 0
        parts = [each for each in captures if each.status == 206 and not self._readable.is_blocked(each)]
        while (rest := rest_of(memento, wanted.ranges)) is not None:
            further = replace(wanted, ranges=(rest,))
            for capture in parts[: MOST_READ - read]:
                read += 1
                try:
                    piece = self._open(capture, further, note)
                except (PayloadElsewhere, OSError, WarcError, BadMessage):
                    continue
                if piece is not None and continues(memento, piece):
                    memento = joined(memento, piece)
                    break
                if piece is not None:
                    piece.close()
            else:
                return memento
        return memento

    def _arranged(
        self, captures: Sequence[Capture], wanted: WantedCapture, *, are_similar: bool
    ) -> Sequence[Capture | Memento]:
        """Return the captures in the order in which they answer.

        Those of the page visit come first, from the one whose turn it is, and of these the ones that fit the headers.
        """
        visit = wanted.visit
        if visit is None and wanted.page is not None and captures and not wanted.is_unchanged:
            # A page before a login and behind it, or in front of a question for consent and behind it.
            begin = captures[0].date
            near = [each for each in captures if abs(each.date - begin) < _ONE_SITTING and each.url == captures[0].url]
            best, others, _ = self._variants.matching(near, wanted.fields, ("cookie",))
            return [*best, *others, *(each for each in captures if each not in near)]
        if visit is None:
            best, others, _ = self._variants.matching(captures, wanted.fields, never=wanted.untold)
            return [*best, *others]
        same = captures if are_similar else [each for each in captures if each.url == wanted.url] or captures
        own = visit.own(same)
        if wanted.is_unchanged:
            own = [each for each in own if each.date - (visit.date or 0) < _ONE_SITTING]
        best, others, values = self._variants.matching(own or captures, wanted.fields, never=wanted.untold)
        if own:
            name, body = wanted.url, wanted.body or ""
            if are_similar:
                name, body = min((each.url, each.request_body or "") for each in captures)
            counts = wanted.method != "HEAD" and not wanted.ranges
            place = visit.next_place((wanted.method, name, body, *values), counts=counts)
            if place >= len(best) and best[-1].mime == "text/event-stream":
                return (own_memento(204, b"Ghostfleet-Replay: ended\r\n"),)  # the page would ask without end
            at = min(place, len(best) - 1)
            best = [*best[at:], *reversed(best[:at])]
        mine = {(each.filename, each.offset) for each in own}
        return [*best, *others, *(each for each in captures if own and (each.filename, each.offset) not in mine)]

    def _written(self, wanted: WantedCapture) -> Memento | None:
        """Return the nearest record that a client wrote at the URL, for what no response can answer."""
        if wanted.method not in ("GET", "HEAD"):
            return None
        kinds: tuple[RecordKind, ...] = ("resource",)
        for capture in self._readable.nearest(
            wanted.collection, wanted.url, wanted.date, kinds=kinds, methods=("GET",), limit=_CANDIDATES
        ):
            if self._readable.is_blocked(capture):
                return own_memento(451, _BLOCKED)
            try:
                record = self.record(capture)
            except (OSError, WarcError) as error:
                reason = "%s of %s can't be replayed: %s"
                log.warning(reason, capture.record_id, capture.url, error, extra=about(wanted.exchange))
                continue
            is_of_a_page = record.kind == "resource" and record.fields.get("WARC-Resource-Type") is None
            memento = None
            if is_of_a_page:
                memento = memento_of(
                    head_without_response(record), capture, record.block_length, record, record.block(), wanted
                )
            if memento is not None:
                return memento
            record.close()
        return None

    def _shown(self, capture: Capture, wanted: WantedCapture) -> Capture | None:
        """Return what answers in the capture's place: itself, for a 304 what it is about, or None."""
        if capture.status is None and capture.kind == "revisit":
            return capture  # a revisit without an HTTP head
        if capture.status is None or capture.status < 200:
            return None
        if capture.status != 304 or wanted.is_conditional:
            return capture
        return self._originals.unchanged(capture) if capture.kind == "revisit" else None

    def _open(self, capture: Capture, wanted: WantedCapture, note: str = "") -> Memento | None:
        record = self.record(capture)
        try:
            head, body = own_head(record), capture
            if capture.status == 304 and wanted.is_conditional and not (head and confirms(head, wanted.fields)):
                record.close()
                plain = replace(wanted, is_conditional=False)
                shown = self._shown(capture, plain)
                return self._open(shown, plain, note) if shown is not None else None
            if capture.kind == "revisit" and not (capture.status == 304 and wanted.is_conditional):
                original = self.original(capture)
                if original is None:
                    _check_is_ours(record, capture)
                    raise WarcError(record.path, record.offset, "the revisit's original is not in the index")
                record.close()
                record, body = self.record(original), original
                head = head or own_head(record)
            head = head or head_without_response(record)
            named = codings = named_codings(head.fields)
            pieces, length = payload_of(record), body.payload_length
            is_coded = bool(named) and capture.method != "HEAD" and head.status not in (204, 206, 304)
            if is_coded:
                beginning, pieces, is_whole = _looked_at(pieces)
                codings = true_codings(named, beginning, is_whole=is_whole and body.truncated is None)
            edit, edited_head = self._edit(capture, wanted, head)
            if edit is not None:
                said = f"{note}; edited".removeprefix("; ")
                memento = edited_memento(edited_head, capture, record, pieces, wanted, edit, said, codings)
                if memento is not None:
                    return memento
                record, pieces = self._again(record, body)
            sent = with_codings(head, codings, named)
            if is_coded and codings and are_undone_here(codings) and not accepts(wanted.fields, codings):
                measured = length_of(undone(pieces, codings))
                record, pieces = self._again(record, body)
                if measured is not None:
                    pieces, length = undone(pieces, codings), measured
                    sent, note = with_codings(head, (), named, is_chosen=True), f"{note}; decoded".removeprefix("; ")
            memento = memento_of(sent, capture, length, record, pieces, wanted, note)
        except BaseException:
            record.close()
            raise
        if memento is None:
            record.close()
        return memento

    def _again(self, record: StoredRecord, body: Capture) -> tuple[StoredRecord, Iterator[bytes]]:
        """Return a record that was read, open from its beginning, and its payload."""
        record.close()
        record = self.record(body)
        return record, payload_of(record)

    def _edit(self, capture: Capture, wanted: WantedCapture, head: ResponseHead) -> tuple[Edit | None, ResponseHead]:
        """Return the change of the payload that this answer needs, with its head; None for nearly all."""
        if head.status != 200 or wanted.ranges:
            return None, head
        is_page = wanted.page is not None and not wanted.is_unchanged
        if is_page and head.mime in HTML and (script := self._scripts.of(capture)):
            return script_edit(script), allowing(head, script)
        if is_playlist(head.mime, capture.url):
            return playlist_edit(capture.url, partial(self._has_stream, capture)), head
        if capture.url == wanted.url and capture.request_body == wanted.body:
            return None, head
        callback = self._similar.callback(wanted.url, capture.url)
        asked, recorded = (wanted.url, wanted.body), (capture.url, capture.request_body)
        echoes = self._similar.echoes(asked, recorded) if _ECHOING.search(head.mime or "") else []
        return repeating_edit(callback, echoes), head

    def _has_stream(self, playlist: Capture, url: str, is_beginning: bool) -> bool:
        """Return whether a URL that a playlist names was captured with success, or one that begins with it."""
        if is_beginning:
            key = urls.key(url)
            found = self._readable.with_prefix(playlist.collection, key, methods=("GET",), limit=_CANDIDATES)
        else:
            found = self._readable.nearest(
                playlist.collection, url, playlist.date, methods=("GET",), limit=_CANDIDATES
            ) or self._similar.find(playlist.collection, url, "GET", None)
        return any(each.status is not None and each.status < 400 for each in found)

    def earlier(self, collection: str, url: str, limit: int) -> list[Capture]:
        """Return at most that many captures by GET of that URL, or of one with its key, the newest first."""
        return self._index.nearest(collection, url, None, methods=("GET",), limit=limit)

    def record(self, capture: Capture) -> StoredRecord:
        """Return the capture's record, to be closed. Raises OSError or WarcError."""
        return self._holdings.record(capture.collection, capture.filename, capture.offset, capture.length)

    def original(self, capture: Capture) -> Capture | None:
        """Return the capture that has a revisit's payload; None when the index doesn't know it."""
        return self._originals.original(capture)


def _looked_at(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes], bool]:
    """Return the beginning of a payload, the whole payload again, and whether the beginning is all of it."""
    beginning = bytearray()
    for piece in pieces:
        beginning += piece
        if len(beginning) >= LOOKED_AT:
            return bytes(beginning), chain((bytes(beginning),), pieces), False
    return bytes(beginning), iter((bytes(beginning),)), True


def _check_is_ours(record: StoredRecord, capture: Capture) -> None:
    """Raise PayloadElsewhere for a revisit that says that its original is in another archive."""
    archive, named = record.fields.get("WARC-Refers-To-Container"), capture.refers_to
    if archive and named is not None:
        raise PayloadElsewhere(
            f"the capture of {capture.url} of {iso_second(capture.date)} is here, its payload is not: it is that of "
            f"{named.url} of {iso_second(named.date)} in the archive of {archive}"
        )
