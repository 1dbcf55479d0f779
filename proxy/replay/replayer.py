"""Answers from the archive: the same proxy the other way round. No connection to an origin is ever opened here."""

from __future__ import annotations

import asyncio
import html
import logging
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Final

from archive.dates import Micros, parse_date
from archive.storage.storage import StorageError
from archive.warc.reading.member_reader import WarcError
from archive.warc.records.request_query import MAX_BODY, MAX_QUERY, asked_query
from dedupdb.captures.schema import CapturesError
from proxy.delivery.delivery import Client
from proxy.fetch.contracts import NeverUpgraded
from proxy.fetch.incoming_request import IncomingRequest
from proxy.log_lines import about
from proxy.protocol import heads
from proxy.protocol.body_reader import BodyReader
from proxy.protocol.byte_range import parse_ranges
from proxy.protocol.http1 import BadMessage, RequestHead
from proxy.replay.answers import Memento
from proxy.replay.conversation import SocketScript
from proxy.replay.matching.visits import PageLoads
from proxy.replay.matching.wanted import WantedCapture
from proxy.replay.memento import Archive, PayloadElsewhere, RecordDamaged
from proxy.replay.sockets import SocketReplay
from proxy.sessions.gate import Gate
from proxy.sessions.session import Session

log = logging.getLogger(__name__)

_THREADS: Final = 4


class Replayer:
    """Starts a replay for each request."""

    def __init__(
        self,
        archive: Archive | None,
        gate: Gate,
        loop: asyncio.AbstractEventLoop,
        *,
        answer_seconds: float | None = None,
        takes_similar: bool = True,
    ) -> None:
        """`answer_seconds` is how long a record may take to be found; None for as long as it takes. `takes_similar`
        says whether captures of URLs that differ in volatile parts alone are answers.
        """
        self.gate = gate
        self._archive = archive
        self._answer_seconds = answer_seconds
        self._takes_similar = takes_similar
        self._visits = PageLoads()
        self._loop = loop
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="replay")
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, request: IncomingRequest, missed: Callable[[], None] | None = None) -> Replay:
        """Look the URL up and answer, once the request is whole. `missed` is called instead of an answer with 404."""
        replay = Replay(self._wanted(request, may_be_similar=missed is None), request, self, missed)
        if replay.request_is_whole:
            self.run(replay)
        return replay

    def begin_socket(self, request: IncomingRequest) -> SocketReplay:
        """Look for a WebSocket, and replay it."""
        wanted = self._wanted(request, may_be_similar=True)

        def missed(client: Client) -> None:
            session = request.session
            session.counts["urls"] += 1
            session.counts["failed"] += 1
            session.errors["404"] += 1
            client.send(_miss_page(wanted))
            client.finish(keep_alive=False)

        replay = SocketReplay(wanted, request, self.find_conversation, missed)
        self.run(replay)
        return replay

    def _wanted(self, request: IncomingRequest, *, may_be_similar: bool) -> WantedCapture:
        head, session = request.head, request.session
        visit, page = self._visits.of(f"{session.id} {request.address}", head, request.target.url)
        return WantedCapture(
            collection=session.spec.collection,
            url=request.target.url,
            method=head.method,
            date=_date(head, session),
            ranges=parse_ranges(head.get(b"range")),
            exchange=uuid.uuid4().hex,
            is_conditional=head.get(b"if-none-match") is not None or head.get(b"if-modified-since") is not None,
            fields=head.fields,
            visit=visit,
            page=page,
            takes_similar=self._takes_similar and may_be_similar,
            date_is_fixed=head.get(b"accept-datetime") is not None,
        )

    def run(self, replay: Replay | SocketReplay) -> None:
        """Answer it in a task of its own."""
        task = self._loop.create_task(replay.answer())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def find(self, wanted: WantedCapture) -> Memento | None:
        """Return `Archive.find` off the event loop. Raises TimeoutError as well; what is found later is closed."""
        if self._archive is None:
            return None
        finding = self._loop.run_in_executor(self._threads, self._archive.find, wanted)
        try:
            async with asyncio.timeout(self._answer_seconds):
                return await asyncio.shield(finding)
        except TimeoutError:
            finding.add_done_callback(_close_late)
            raise TimeoutError(f"the record was not found within {self._answer_seconds:.0f} s") from None

    async def find_conversation(self, wanted: WantedCapture) -> SocketScript | None:
        """Return `Archive.conversation` off the event loop. Raises TimeoutError as well."""
        if self._archive is None:
            return None
        finding = self._loop.run_in_executor(self._threads, self._archive.conversation, wanted)
        async with asyncio.timeout(self._answer_seconds):
            return await asyncio.shield(finding)

    async def next_piece(self, memento: Memento) -> bytes | None:
        """Return the payload's next bytes, None at its end."""
        return await self._loop.run_in_executor(self._threads, next, memento.pieces, None)

    def stop(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Replay(NeverUpgraded):
    """A replay answers one request from the archive."""

    def __init__(
        self,
        wanted: WantedCapture,
        request: IncomingRequest,
        replayer: Replayer,
        missed: Callable[[], None] | None,
    ) -> None:
        self.id = wanted.exchange
        self._missed = missed
        self._wanted = wanted
        self._has_begun = False
        self._keep_alive = request.head.keep_alive
        self._head = request.head
        self._session = request.session
        self._client: Client | None = request.client
        self._replayer = replayer
        self._body = bytearray()
        self._content_type = (request.head.get(b"content-type") or b"").decode("latin-1")
        self._reader = BodyReader(request.framing, request.length, self._take, strict=True)
        self._room = asyncio.Event()
        self._session.began()

    @property
    def request_is_whole(self) -> bool:
        return self._reader.done

    @property
    def wants_no_more(self) -> bool:
        return False

    def request_data(self, data: bytes) -> int:
        """Read the next bytes of the request's body. Raises BadMessage."""
        taken = self._reader.feed(data)
        if self._reader.broken:
            raise BadMessage(self._reader.broken)
        if self._reader.done:
            self._replayer.run(self)
        return taken

    def client_writable(self) -> None:
        self._room.set()

    def client_left(self) -> None:
        self._client = None
        self._room.set()
        if not self._reader.done:
            self._session.ended()

    def _take(self, data: bytes | memoryview) -> None:
        """Keep the beginning of the body, by which the index tells requests to one URL apart."""
        self._body += data[: max(0, MAX_BODY - len(self._body))]

    async def answer(self) -> None:
        """Find, and send."""
        if self._body:
            body, self._body = bytes(self._body), bytearray()
            query = asked_query(self._wanted.method, self._content_type, (body,))
            is_cut = query is not None and len(query) >= MAX_QUERY
            self._wanted = replace(self._wanted, body=query, body_sha256=sha256(body).hexdigest() if is_cut else None)
        try:
            memento = await self._replayer.find(self._wanted)
            if memento is None:
                self._miss()
            else:
                try:
                    await self._send(memento)
                finally:
                    memento.close()
        except TimeoutError as error:
            self._unavailable(504, error)
        except StorageError as error:
            self._unavailable(503, error)
        except CapturesError as error:
            self._unless_fetched(503, error, "index-away")
        except PayloadElsewhere as error:
            self._unless_fetched(404, error, "elsewhere")
        except RecordDamaged as error:
            self._unless_fetched(500, error, "damaged")
        except (OSError, WarcError) as error:
            log.warning("replay of %s broke off: %s", self._wanted.url, error, extra=about(self.id))
        finally:
            client, self._client = self._client, None
            if client is not None:  # whatever went wrong: nobody else will answer it
                client.abort()
            self._session.ended()

    def _unless_fetched(self, status: int, error: Exception, word: str) -> None:
        """Refuse, unless patch mode fetches: the state of the archive is unknown, or it has no payload.

        At worst that keeps it twice.
        """
        if self._missed is None:
            self._unavailable(status, error, word)
            return
        log.warning("%s is fetched, for the archive can't answer: %s", self._wanted.url, error, extra=about(self.id))
        self._miss()

    def _unavailable(self, status: int, error: Exception, word: str = "storage-away") -> None:
        """Refuse a capture that the archive has and can't read; it is not fetched anew. Broken off when begun."""
        log.warning("replay of %s: %s", self._wanted.url, error, extra=about(self.id))
        if self._has_begun:
            return
        self._session.counts["urls"] += 1
        self._session.counts["failed"] += 1
        self._session.errors[str(status)] += 1
        client, self._client = self._client, None
        if client is not None:
            client.send(heads.refusal(status, word, str(error)))
            client.finish(keep_alive=False)

    async def _send(self, memento: Memento) -> None:
        self._has_begun = True
        self._session.counts["urls"] += 1
        self._session.counts["patched"] += self._missed is not None
        if self._client is not None:
            self._client.send(self._opening(memento.head))
        left = memento.length
        while self._client is not None and (piece := await self._replayer.next_piece(memento)) is not None:
            while self._client is not None and self._client.is_full:
                self._room.clear()
                await self._room.wait()
            if self._client is not None:
                self._client.send(piece)
                self._session.counts["bytes"] += len(piece)
            left -= len(piece)
        if self._client is not None and left:
            raise OSError(f"the record has {left} bytes less than the index says")
        client, self._client = self._client, None
        if client is not None:
            client.finish(keep_alive=self._keep_alive)

    def _opening(self, answer: bytes) -> bytes:
        """Return the answer's beginning. It is the connection's last answer while this process is replaced or ends,
        and for a 205, of which browsers read no body.
        """
        stays = not self._replayer.gate.is_draining and not answer.startswith(b"HTTP/1.1 205 ")
        self._keep_alive = self._keep_alive and stays
        return heads.with_connection(answer, self._head, stays=stays)

    def _miss(self) -> None:
        if self._missed is not None:
            client, self._client = self._client, None
            if client is not None:
                self._missed()
            return
        self._session.counts["urls"] += 1
        answer = _preflight(self._head) if self._wanted.method == "OPTIONS" else None
        if answer is None:
            answer = _miss_page(self._wanted)
            self._session.counts["failed"] += 1
            self._session.errors["404"] += 1
        client, self._client = self._client, None
        if client is not None:
            client.send(self._opening(answer))
            client.finish(keep_alive=self._keep_alive)


def _close_late(finding: asyncio.Future[Memento | None]) -> None:
    """Close a capture that was found after its client had left."""
    if not finding.cancelled() and finding.exception() is None and (memento := finding.result()) is not None:
        memento.close()


def _date(head: RequestHead, session: Session) -> Micros | None:
    """Return the wanted time: `Accept-Datetime` (RFC 7089 section 2.1.1), else the session's date, else None."""
    value = head.get(b"accept-datetime")
    if value is not None:
        try:
            return int(parsedate_to_datetime(value.decode("latin-1")).timestamp() * 1_000_000)
        except (ValueError, OverflowError):
            log.info("Accept-Datetime %r is no date; the newest is taken", value[:100])
    return parse_date(session.spec.datetime) if session.spec.datetime else None


def _preflight(head: RequestHead) -> bytes | None:
    """Return a permission for a request to another origin, which browsers ask for before some requests.

    Browsers keep such permissions for a while, so an archive may have the request and not the question before it. None
    for other requests by OPTIONS.
    """
    origin, method = head.get(b"origin"), head.get(b"access-control-request-method")
    if origin is None or method is None:
        return None
    names = head.get(b"access-control-request-headers")
    allowed = b"Access-Control-Allow-Headers: %s\r\n" % names if names else b""
    return (
        b"HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: %s\r\nAccess-Control-Allow-Methods: %s\r\n%s"
        b"Access-Control-Allow-Credentials: true\r\nAccess-Control-Allow-Private-Network: true\r\n"
        b"Access-Control-Max-Age: 0\r\nVary: Origin\r\nGhostfleet-Replay: preflight\r\n\r\n"
    ) % (origin, method, allowed)


def _miss_page(wanted: WantedCapture) -> bytes:
    """Return a 404 that can't be taken for an archived page."""
    url, collection = html.escape(wanted.url), html.escape(wanted.collection)
    body = (
        "<!doctype html><meta charset=utf-8><title>Not in this archive</title>"
        "<style>body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:40em;color:#333}</style>"
        f"<h1>Not in this archive</h1><p><code>{url}</code></p>"
        f"<p>The collection <b>{collection}</b> has no capture of this URL. "
        "This proxy replays an archive; it does not ask the live web.</p>"
    ).encode()
    head = (
        "HTTP/1.1 404 Not in this archive\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nGhostfleet-Replay: miss\r\nCache-Control: no-store\r\n\r\n"
    ).encode()
    return head + (body if wanted.method != "HEAD" else b"")
