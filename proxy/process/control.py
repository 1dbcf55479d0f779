"""The control port: sessions are made, watched and closed here, and derived records handed in.

JSON over HTTP (tornado's server), on loopback, every request with `Authorization: Bearer <token>`; the token lies in
the home, readable by its owner only. Pages can't reach this port through the proxy: it is never a target.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import socket
from typing import Any, Final, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler

from archive.capture import Body
from proxy.gate import NO_META, Gate, Session, context_of
from proxy.keep import Kept, Lost
from proxy.meta import METRICS_TYPE
from proxy.plan import Derived
from proxy.recorder import Recorder
from proxy.refusal import Refused
from proxy.spec import changed
from proxy.writerecord import derived

log = logging.getLogger(__name__)

_MAX_RECORD: Final = 256 * 1024 * 1024
CLOSE_SECONDS: Final = 60.0
"""How long the end of a session waits for its exchanges."""
_PASS_ON_SECONDS: Final = 2 * CLOSE_SECONDS


class Controlled(Protocol):
    """What the control port acts upon."""

    gate: Gate
    recorder: Recorder
    registry: CollectorRegistry

    def status(self) -> dict[str, Any]:
        """The numbers of `/status`."""

    @property
    def has_retired(self) -> bool:
        """Whether another process has taken its place."""

    async def open_session(self, given: dict[str, Any]) -> tuple[Session, str, int]:
        """A new session, and the address of the proxy port that serves it. Raises Refused when it can't be made."""

    async def close_session(self, session: Session, *, finish_files: bool) -> None:
        """Close its port, forget it; on wish close the WARC files it wrote to."""

    async def change_session(self, session: Session, given: dict[str, Any]) -> None:
        """Treat its requests so from now on. Raises Refused."""

    async def refresh(self, session: Session) -> None:
        """Learn what an earlier process counted of it."""


def start_control(controlled: Controlled, token: str, listener: socket.socket) -> HTTPServer:
    """Serve the control port on a bound socket."""
    host, port = listener.getsockname()[:2]
    here = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    arguments = {"controlled": controlled, "token": token, "here": here}
    application = Application(
        [
            (r"/sessions", Sessions, arguments),
            (r"/sessions/([0-9a-f]{32})", OneSession, arguments),
            (r"/sessions/([0-9a-f]{32})/records", Records, arguments),
            (r"/status", StatusPage, arguments),
            (r"/metrics", Metrics, arguments),
        ],
        default_handler_class=_Nowhere,
        default_handler_args=arguments,
        log_function=lambda handler: None,
    )
    server = HTTPServer(application, max_buffer_size=_MAX_RECORD, max_body_size=_MAX_RECORD)
    listener.listen(128)
    server.add_socket(listener)
    return server


class _Handler(RequestHandler):
    """Checks the token; answers errors as JSON."""

    def initialize(self, controlled: Controlled, token: str, here: str) -> None:
        self.controlled = controlled
        self._here = here
        self._token = token

    async def prepare(self) -> None:
        given = self.request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
            raise HTTPError(401, reason="the bearer token of this home's control.token is needed")
        if self.controlled.has_retired:
            await self.pass_on()

    async def pass_on(self) -> None:
        """Let the process answer that listens on this port now; the client's connection closes, its next goes there."""
        asked = self.request
        answer = await AsyncHTTPClient(force_instance=True, max_body_size=_MAX_RECORD).fetch(
            f"{self._here}{asked.uri}",
            method=asked.method or "GET",
            headers=asked.headers,
            body=asked.body or None,
            allow_nonstandard_methods=True,
            request_timeout=_PASS_ON_SECONDS,
            raise_error=False,
        )
        self.set_status(answer.code)
        self.set_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.set_header("Connection", "close")
        await self.finish(answer.body)

    def session(self, name: str) -> Session:
        """The session of that id. Raises 404."""
        session = self.controlled.gate.sessions.get(name)
        if session is None:
            raise HTTPError(404, reason="no such session")
        return session

    def answer(self, status: int, body: object) -> None:
        """One JSON answer."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(body) + "\n")

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Errors in the same form, with what to do about them."""
        self.answer(status_code, {"error": self._reason})

    def refuse(self, refused: Refused) -> None:
        """An answer that names the field that can't be used."""
        self.answer(refused.status, {"error": str(refused)})


class _Nowhere(_Handler):
    """Every other path."""

    async def prepare(self) -> None:
        await super().prepare()
        if not self._finished:
            raise HTTPError(404, reason="no such path; there are /sessions, /status and /metrics")


class Sessions(_Handler):
    """POST makes a session, GET lists them."""

    async def post(self) -> None:
        try:
            session, host, port = await self.controlled.open_session(_object(self.request.body))
        except Refused as refused:
            if refused.word == "replaced":
                await self.pass_on()
            else:
                self.refuse(refused)
            return
        self.answer(201, {"id": session.id, "token": session.token, "host": host, "port": port})

    async def get(self) -> None:
        sessions = list(self.controlled.gate.sessions.values())
        for session in sessions:
            await self.controlled.refresh(session)
        self.answer(200, {session.id: session.report() for session in sessions})


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object in a request's body. Raises Refused (400)."""
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(400, "the body must be a JSON object")
    return found


class OneSession(_Handler):
    """GET reports on a session, PATCH changes what it asks for, DELETE closes it once everything of it is kept.

    `DELETE …?finish=1` gives the WARC files that it wrote to their final names before it answers: those of its
    prefix, or of its whole collection when it has none.
    """

    async def get(self, name: str) -> None:
        session = self.session(name)
        await self.controlled.refresh(session)
        self.answer(200, session.report())

    async def patch(self, name: str) -> None:
        """For the requests from now on; those under way end as they began."""
        session = self.session(name)
        try:
            given = changed(session.given, _object(self.request.body))
            await self.controlled.change_session(session, given)
        except Refused as refused:
            self.refuse(refused)
            return
        self.answer(200, given)

    async def delete(self, name: str) -> None:
        session = self.session(name)
        if not await session.until_idle(CLOSE_SECONDS):
            log.warning("session %s closed with %d exchanges in flight", name, session.in_flight)
        if self.controlled.has_retired:  # meanwhile
            await self.pass_on()
            return
        wish = self.get_query_argument("finish", "")
        await self.controlled.close_session(session, finish_files=wish in ("1", "true"))
        self.answer(200, session.report())


class Records(_Handler):
    """POST hands in a record of the page; answered once it is durable."""

    async def post(self, name: str) -> None:
        session, headers = self.session(name), self.request.headers
        tie = headers.get("WARC-Concurrent-To")
        if tie == "page" and session.page_record is None:
            await self.controlled.refresh(session)
        try:
            session.check_keeps()
            item = derived(
                headers.get("WARC-Type"),
                headers.get("WARC-Target-URI", ""),
                headers.get("Content-Type"),
                Body((self.request.body,), None, len(self.request.body)),
                context_of(session, NO_META, session.spec.page_url or "", None, wishes=session.spec.wishes),
                session.told()["page_record"] if tie == "page" else tie,
            )
        except Refused as refused:
            self.refuse(refused)
            return
        outcome = await self._keep(session, item)
        if isinstance(outcome, Lost):
            self.answer(503, {"error": f"the record was not kept: {outcome.reason}"})
            return
        if outcome.capture is None:
            self.answer(409, {"error": "the session archives nothing: its prefix is -"})
            return
        capture = outcome.capture
        self.answer(201, {"record_id": capture.record_id, "filename": capture.filename, "offset": capture.offset})

    async def _keep(self, session: Session, item: Derived) -> Kept | Lost:
        answer: asyncio.Future[Kept | Lost] = asyncio.get_running_loop().create_future()
        session.began()
        try:
            self.controlled.recorder.submit(item, answer.set_result)
            return await answer
        finally:
            session.ended()


class StatusPage(_Handler):
    """The numbers of this process."""

    def get(self) -> None:
        self.answer(200, self.controlled.status())


class Metrics(_Handler):
    """The same for Prometheus."""

    def get(self) -> None:
        self.set_header("Content-Type", METRICS_TYPE)
        self.finish(generate_latest(self.controlled.registry))
