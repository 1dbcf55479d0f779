"""The control port serves clients that make, watch and close sessions, and that hand in derived records.

The port speaks JSON over HTTP (tornado's server) on loopback. Every request needs `Authorization: Bearer <token>`; the
token is a file of the home that only its owner can read. `proxy.process.control_gate` checks the token before a body is
read. Pages can't reach this port through the proxy, because the proxy never connects to it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from http.client import responses
from typing import Any, Final, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.web import HTTPError, RequestHandler

from archive.capture import Body
from archive.listener_access import HostNames
from archive.local_endpoints import host_and_port
from proxy.clients.endpoints import METRICS_TYPE
from proxy.clients.write_record import METADATA_FIELD, derived
from proxy.process.control_gate import MAX_RECORD, GatedApplication, GatedServer
from proxy.recording.keep import Kept, Lost
from proxy.recording.plan import DerivedRecord
from proxy.recording.recorder import Recorder
from proxy.refusal import Refused
from proxy.sessions.gate import Gate
from proxy.sessions.policy_builder import context_of
from proxy.sessions.request_options import NO_META
from proxy.sessions.session import Session
from proxy.sessions.spec import changed

log = logging.getLogger(__name__)

CLOSE_SECONDS: Final = 60.0
"""How long the end of a session waits for its exchanges."""
MOST_PORT_SECONDS: Final = 3600.0
"""The port of a closed session is kept for so long at most."""
_PASS_ON_SECONDS: Final = 2 * CLOSE_SECONDS


class Controlled(Protocol):
    """The control port acts upon an object with these methods."""

    gate: Gate
    recorder: Recorder
    registry: CollectorRegistry

    def status(self) -> dict[str, Any]:
        """Return the numbers of `/status`."""

    @property
    def has_retired(self) -> bool:
        """Return whether another process has taken this one's place."""

    async def open_session(self, request_json: dict[str, Any]) -> tuple[Session, str, int]:
        """Return a new session, and the address of the proxy port that serves it. Raises Refused when it can't be
        made.
        """

    async def close_session(self, session: Session, *, finish_files: bool, keep_port_seconds: float = 0.0) -> bool:
        """Close the session and its port; with `finish_files`, close the WARC files that it wrote to.

        With `keep_port_seconds`, keep the port for so long when that is possible. Return whether it is kept.
        """

    def give_up_port(self, session_id: str) -> bool:
        """Close the port that was kept of a closed session. Return whether there was one."""

    async def change_session(self, session: Session, request_json: dict[str, Any]) -> None:
        """Treat the session's requests by `request_json` from now on. Raises Refused."""

    async def refresh(self, session: Session) -> None:
        """Note what an earlier process has counted of the session."""


def start_control(controlled: Controlled, token: str, listener: socket.socket, names: HostNames) -> HTTPServer:
    """Serve the control port on a bound socket."""
    arguments = {"controlled": controlled, "here": f"http://{host_and_port(*listener.getsockname()[:2])}"}
    application = GatedApplication(
        token,
        names,
        [
            (r"/sessions", Sessions, arguments),
            (r"/sessions/([0-9a-f]{32})", OneSession, arguments),
            (r"/sessions/([0-9a-f]{32})/port", KeptPorts, arguments),
            (r"/sessions/([0-9a-f]{32})/exchanges", Exchanges, arguments),
            (r"/sessions/([0-9a-f]{32})/records", Records, arguments),
            (r"/status", StatusPage, arguments),
            (r"/metrics", Metrics, arguments),
        ],
        default_handler_class=_UnknownPath,
        default_handler_args=arguments,
        log_function=lambda handler: None,
    )
    server = GatedServer.of(application)
    listener.listen(128)
    server.add_socket(listener)
    return server


class _Handler(RequestHandler):
    """Answers errors as JSON. When another process has taken this one's place, the handler forwards requests to it."""

    def initialize(self, controlled: Controlled, here: str) -> None:
        self.controlled = controlled
        self._here = here

    async def prepare(self) -> None:
        if self.controlled.has_retired:
            await self.forward()

    async def forward(self) -> None:
        """Forward the request to the process that listens on this port now, and close the client's connection."""
        asked = self.request
        answer = await AsyncHTTPClient(force_instance=True, max_body_size=MAX_RECORD).fetch(
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
        """Return the session of that id. Raises 404."""
        session = self.controlled.gate.sessions.get(name)
        if session is None:
            raise HTTPError(404, reason="no session has this id; GET /sessions lists them")
        return session

    def seconds(self, name: str, longest: float) -> float:
        """Return the number of seconds in a query argument; 0 without it. Raises 400."""
        text = self.get_query_argument(name, "0")
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds <= longest:  # also false for NaN
            raise HTTPError(400, reason=f"{name} = {text[:40]!a} must be a number of seconds from 0 to {longest:g}")
        return seconds

    def answer(self, status: int, body: object) -> None:
        """Send one JSON response."""
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(body) + "\n")

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Send an error as JSON, with its remedy."""
        error = kwargs.get("exc_info", (None, None, None))[1]
        reason = error.reason if isinstance(error, HTTPError) else None
        self.answer(status_code, {"error": reason or responses.get(status_code, "Unknown")})

    def refuse(self, refused: Refused) -> None:
        """Send an error that names the field that can't be used."""
        self.answer(refused.status, {"error": str(refused)})


class _UnknownPath(_Handler):
    """The handler answers 404 for unknown paths."""

    async def prepare(self) -> None:
        if not self.controlled.has_retired:
            raise HTTPError(404, reason="the control port has no such path; it has /sessions, /status and /metrics")
        await self.forward()


class Sessions(_Handler):
    """POST makes a session, GET lists them."""

    async def post(self) -> None:
        try:
            session, host, port = await self.controlled.open_session(_object(self.request.body))
        except Refused as refused:
            if refused.word == "replaced":
                await self.forward()
            else:
                self.refuse(refused)
            return
        self.answer(201, {"id": session.id, "token": session.token, "host": host, "port": port})

    async def get(self) -> None:
        sessions = list(self.controlled.gate.sessions.values())
        for session in sessions:
            await self.controlled.refresh(session)
        self.answer(200, {session.id: session.report().control_json() for session in sessions})


def _object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a request's body. Raises Refused (400)."""
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(400, "the body must be a JSON object")
    return found


class OneSession(_Handler):
    """GET reports on a session, PATCH changes it, DELETE closes it once all of its exchanges are kept.

    `DELETE …?finish=1` gives the session's WARC files their final names before it answers: the files of its prefix,
    or of its whole collection when it has no prefix. `DELETE …?keep_port=SECONDS` breaks the session's connections, and
    keeps its port for a new session with `port_of` = the id of this one; `kept_port` says whether the port is kept.
    """

    async def get(self, name: str) -> None:
        session = self.session(name)
        await self.controlled.refresh(session)
        self.answer(
            200, {**session.report().control_json(), "not_accepting_because": self.controlled.gate.closed_because}
        )

    async def patch(self, name: str) -> None:
        """Change the session for requests from now on; requests in progress are not affected."""
        session = self.session(name)
        try:
            request_json = changed(session.request_json, _object(self.request.body))
            await self.controlled.change_session(session, request_json)
        except Refused as refused:
            self.refuse(refused)
            return
        self.answer(200, request_json)

    async def delete(self, name: str) -> None:
        session, keep_port = self.session(name), self.seconds("keep_port", MOST_PORT_SECONDS)
        if not await session.until_idle(CLOSE_SECONDS):
            log.warning("session %s is closed while %d of its exchanges are in progress", name, session.in_flight)
        if self.controlled.has_retired:  # since the request began
            await self.forward()
            return
        wish = self.get_query_argument("finish", "")
        is_kept = await self.controlled.close_session(
            session, finish_files=wish in ("1", "true"), keep_port_seconds=keep_port
        )
        self.answer(200, session.report().control_json() | ({"kept_port": is_kept} if keep_port else {}))


class KeptPorts(_Handler):
    """DELETE closes the port that was kept of a closed session."""

    def delete(self, name: str) -> None:
        if not self.controlled.give_up_port(name):
            raise HTTPError(404, reason="no port is kept of this session")
        self.answer(200, {})


class Exchanges(_Handler):
    """GET lists the exchanges of a session with a page id, and whether the archive has each of them.

    `GET …?wait=SECONDS` first waits until no exchange is in progress, for at most so long.
    """

    async def get(self, name: str) -> None:
        session = self.session(name)
        await session.until_idle(self.seconds("wait", CLOSE_SECONDS))
        if self.controlled.has_retired:  # since the request began
            await self.forward()
            return
        await self.controlled.refresh(session)
        self.answer(200, session.report().exchanges_json())


class Records(_Handler):
    """POST hands in a record of the page, and is answered once the record is durable.

    A record with `WARC-Concurrent-To: page` refers to the capture of the session's page URL and has its date.
    """

    async def post(self, name: str) -> None:
        session, headers = self.session(name), self.request.headers
        tie = headers.get("WARC-Concurrent-To")
        if tie == "page" and session.page_record is None:
            await self.controlled.refresh(session)
        try:
            session.check_keeps()
            report = session.report()
            item = derived(
                headers.get("WARC-Type"),
                headers.get("WARC-Target-URI", ""),
                headers.get("Content-Type"),
                Body((self.request.body,), None, len(self.request.body)),
                context_of(session, NO_META, session.spec.page_url or "", None, options=session.spec.options),
                report.page_record if tie == "page" else tie,
                date=report.page_date if tie == "page" else None,
                metadata=headers.get(METADATA_FIELD),
            )
        except Refused as refused:
            self.refuse(refused)
            return
        outcome = await self._keep(session, item)
        if isinstance(outcome, Lost):
            self.answer(503, {"error": f"the record was not kept: {outcome.reason}"})
            return
        if outcome.capture is None:
            self.answer(
                409, {"error": "the session archives nothing because its prefix is '-'; give it another prefix"}
            )
            return
        capture = outcome.capture
        self.answer(201, {"record_id": capture.record_id, "filename": capture.filename, "offset": capture.offset})

    async def _keep(self, session: Session, item: DerivedRecord) -> Kept | Lost:
        answer: asyncio.Future[Kept | Lost] = asyncio.get_running_loop().create_future()
        session.began()
        try:
            self.controlled.recorder.submit(item, answer.set_result)
            return await answer
        finally:
            session.ended()


class StatusPage(_Handler):
    """The handler serves the status of this process."""

    def get(self) -> None:
        self.answer(200, self.controlled.status())


class Metrics(_Handler):
    """The handler serves the metrics for Prometheus."""

    def get(self) -> None:
        self.set_header("Content-Type", METRICS_TYPE)
        self.finish(generate_latest(self.controlled.registry))
