"""This client of a proxy's control port opens sessions and writes the records that browsers make of pages.

A failure here is on our side and not the site's, so that it becomes FleetUnavailable with a reason of one word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self
from urllib.parse import urlencode

from archive.dates import Micros, parse_date
from archive.ended_exchange import EndedExchange
from archive.json_text import compact_json
from archive.local_endpoints import host_and_port
from archive.repairs import is_repair
from browsers.proxying.outcomes import NOT_KEPT, retry_after
from browsers.proxying.proxy_connection import AnswerUnreadable, ConnectionLost, ProxyConnections, ProxyUnreachable
from browsers.visit import FleetMisconfigured, FleetUnavailable, VisitOrder

type RecordType = Literal["resource", "metadata", "conversion"]

_CONNECT_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 60.0
_REFUSES_US: Final = (401, 403, 421)
"""The control port does not accept the token or the name by which it was asked."""
_LONGEST_REASON: Final = 500
_MOST_KEPT: Final = 20
"""Idle connections that are kept for the next calls."""
_LONGEST_WAIT: Final = 50.0
"""The control port may wait for exchanges for so long, and still answer in time."""


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """A request for a session. `listen` asks for a port of its own, which needs no credentials."""

    collection: str
    job: str | None = None
    page_id: str | None = None
    page_url: str | None = None
    mode: Literal["record", "replay", "patch", "live"] = "record"
    hop_path: str = ""
    attempt: str = ""
    """The number of the try, when it is not the first one."""
    via: str | None = None
    source: str | None = None
    log_dir: str | None = None
    datetime: str | None = None
    prefix: str | None = None
    """The beginning of the names of the WARC files; None for that of the collection."""
    listen: bool = False
    redact_headers: tuple[str, ...] = ()
    """Names of the request headers whose values are not recorded."""
    redact_fields: tuple[str, ...] = ()
    """Names of the form fields whose values are not recorded."""
    redact_response_headers: tuple[str, ...] = ()
    """Names of the response headers whose values are not recorded."""
    notes_navigation: bool = False
    """True if the log says by which requests a browser opened a page."""
    blocks: tuple[Mapping[str, str], ...] = ()
    """Rules of requests that are refused, as in `Warcprox-Meta`."""
    id: str | None = None
    token: str | None = None
    port: int | None = None
    """Credentials and port that clients know already, of a session of a proxy that has ended."""
    port_of: str | None = None
    """The id of a closed session whose port was kept for this one."""
    unconditional: bool = False
    """True if a browser's conditions (If-None-Match) are left out, so that the archive gets whole answers."""

    @classmethod
    def for_page(
        cls,
        order: VisitOrder,
        page_id: str,
        redact_headers: tuple[str, ...] = (),
        redact_response_headers: tuple[str, ...] = (),
    ) -> Self:
        """Return the request for the session of one page."""
        return cls(
            collection=order.collection,
            job=order.job,
            page_id=page_id,
            page_url=order.url,
            hop_path=order.hop_path,
            attempt=str(order.attempt) if order.attempt > 1 else "",
            via=order.via,
            source=order.source,
            log_dir=order.log_dir,
            prefix=order.prefix,
            listen=True,
            redact_headers=redact_headers,
            redact_response_headers=redact_response_headers,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the body of `POST /sessions`: unset fields are left out.

        The captures of a repair refer to no earlier capture: that may be the damaged one.
        """
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        given = {name: value for name, value in values.items() if value not in (None, "", False, ())}
        return {**given, "dedup_buckets": {self.job: "rw"}, "conditional": False} if is_repair(self.job) else given


@dataclass(frozen=True, slots=True)
class ProxySession:
    """An open session has the address of its proxy, and the credentials that select it on a shared port."""

    id: str
    token: str
    host: str
    port: int

    @property
    def address(self) -> str:
        """Return host:port of the proxy that serves this session."""
        return host_and_port(self.host, self.port)


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """The report of a session counts exchanges, and failures by Heritrix code (or `not-kept`)."""

    urls: int = 0
    novel: int = 0
    revisits: int = 0
    failed: int = 0
    bytes: int = 0
    in_flight: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    untrusted: tuple[str, ...] = ()
    """The hosts for which the client refuses our certificate now."""
    not_accepting_because: str = ""
    """Why the proxy accepts nothing now; empty when it does."""
    kept_port: bool = False
    """True if the proxy keeps the port of the closed session for the next one."""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Return the report in an answer of the control port. Unknown fields are ignored."""
        known = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        return cls(**known | {"untrusted": tuple(known.get("untrusted", ()))})

    @property
    def not_kept(self) -> int:
        """Return the number of exchanges that could not be recorded, so that the page is incomplete by our fault."""
        return self.errors.get(NOT_KEPT, 0)


@dataclass(frozen=True, slots=True)
class SessionExchanges:
    """The proxy's list of what a page fetched."""

    exchanges: tuple[EndedExchange, ...] = ()
    unlisted: int = 0
    """Number of exchanges that came when the list was full."""
    in_flight: int = 0
    """Number of exchanges that have not ended."""
    page_date: Micros | None = None
    """Date of the capture of the page's URL; None when there is none."""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Return the list in an answer of the control port. Unknown fields are ignored."""
        page = body.get("page")
        return cls(
            exchanges=tuple(EndedExchange.from_json(entry) for entry in body["exchanges"]),
            unlisted=body.get("unlisted", 0),
            in_flight=body.get("in_flight", 0),
            page_date=parse_date(page["date"]) if page else None,
        )


class PortNotKept(Exception):
    """The proxy does not give the port of a closed session to another one. The message is the proxy's."""


class Control:
    """A client of one control port. It is safe to use from several threads."""

    def __init__(self, address: str, token: str, *, timeout_seconds: float = _ANSWER_SECONDS) -> None:
        self.address = address
        host, _, port = address.rpartition(":")
        self._host, self._port = host.removeprefix("[").removesuffix("]"), int(port)
        self._headers = {"Host": address, "Authorization": f"Bearer {token}"}
        self._timeout_seconds = timeout_seconds
        self._http = ProxyConnections(_CONNECT_SECONDS, _MOST_KEPT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self, request: SessionRequest) -> ProxySession:
        """Return a new session, ready for traffic. Raises PortNotKept for a request with `port_of`."""
        answer = self._call("POST", "/sessions", json=request.as_json()).json()
        return ProxySession(answer["id"], answer["token"], answer["host"], int(answer["port"]))

    def change(self, session: ProxySession, **fields: Any) -> None:
        """Change fields of the session's request, such as `mode`."""
        self._call("PATCH", f"/sessions/{session.id}", json=fields)

    def report(self, session: ProxySession) -> SessionCounts:
        """Return the report of the session so far."""
        return SessionCounts.from_json(self._call("GET", f"/sessions/{session.id}").json())

    def finish(
        self,
        session: ProxySession,
        *,
        wait_seconds: float,
        keep_port_seconds: float = 0.0,
        finish_files: bool = False,
    ) -> SessionCounts | None:
        """End the session after its captures are durable. Return None when that takes longer than `wait_seconds`.

        With `finish_files`, the WARC files of its prefix get their final names.
        With `keep_port_seconds`, the proxy breaks the session's connections and keeps its port for so long, if it can.
        """
        wish = {"keep_port": f"{keep_port_seconds:g}"} if keep_port_seconds else {}
        if finish_files:
            wish["finish"] = "1"
        try:
            answer = self._call("DELETE", f"/sessions/{session.id}", timeout=wait_seconds, params=wish)
        except TimeoutError:
            return None
        return SessionCounts.from_json(answer.json())

    def give_up_port(self, session: ProxySession) -> None:
        """Let the proxy close the port that it keeps of a closed session, if it does."""
        with suppress(FleetUnavailable, TimeoutError):  # the port's time was over, or the proxy has ended
            self._call("DELETE", f"/sessions/{session.id}/port", timeout=_CONNECT_SECONDS)

    def exchanges(self, session: ProxySession, *, wait_seconds: float) -> SessionExchanges:
        """Return what the proxy kept of the session's page, as soon as nothing is in flight or the time is over."""
        seconds = min(wait_seconds, _LONGEST_WAIT)
        answer = self._call("GET", f"/sessions/{session.id}/exchanges", params={"wait": f"{seconds:.3f}"})
        return SessionExchanges.from_json(answer.json())

    def write(
        self,
        session: ProxySession,
        kind: RecordType,
        uri: str,
        content_type: str,
        block: bytes,
        metadata: Mapping[str, Any] | None = None,
        *,
        is_of_capture: bool = True,
    ) -> str:
        """Write a record beside the page of the session, and return its id once it is durable.

        `metadata` are facts for the record's field WARC-JSON-Metadata. A record that is not of the capture refers to no
        other record, as in a session that has captured nothing.
        """
        headers = {"WARC-Type": kind, "WARC-Target-URI": uri, "Content-Type": content_type}
        if is_of_capture:
            headers["WARC-Concurrent-To"] = "page"
        if metadata:
            headers["WARC-JSON-Metadata"] = json.dumps(metadata, separators=(",", ":"))
        answer = self._call("POST", f"/sessions/{session.id}/records", headers=headers, content=block)
        return str(answer.json()["record_id"])

    def close(self) -> None:
        """Close the connections. Sessions stay open."""
        self._http.close()

    def _call(
        self,
        method: str,
        path: str,
        *,
        timeout: float | None = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Mapping[str, Any] | None = None,
        content: bytes = b"",
    ) -> _ControlAnswer:
        sent, body = {**self._headers, **(headers or {})}, content
        if json is not None:
            sent["Content-Type"], body = "application/json", compact_json(json).encode()
        if method != "GET":
            sent["Content-Length"] = str(len(body))
        target = f"{path}?{urlencode(params)}" if params else path
        seconds = self._timeout_seconds if timeout is None else timeout
        try:
            response = self._http.ask(self._host, self._port, target, sent, seconds, method=method, body=body)
            try:
                answer = _ControlAnswer(response.status, response.headers, response.body())
            finally:
                response.close()
        except TimeoutError as error:
            if timeout is not None:
                raise TimeoutError(f"{self.address} did not answer in {timeout:.0f} s") from error
            raise FleetUnavailable("proxy-silent") from error
        except (ProxyUnreachable, ConnectionLost, AnswerUnreadable) as error:
            raise FleetUnavailable("proxy-unreachable") from error
        status = answer.status
        if 200 <= status < 300:
            return answer
        if status == 409 and json is not None and "port_of" in json:
            raise PortNotKept(answer.json()["error"])
        if status == 503:
            raise FleetUnavailable("not-accepting", retry_after(answer.headers))
        reason, detail = f"control-{status}", _said(answer)
        if status in _REFUSES_US:
            raise FleetMisconfigured(reason, detail=detail)
        is_about_content = 400 <= status < 500 and status != 404  # 404: the session ended with its proxy
        raise FleetUnavailable(reason, may_be_the_page=is_about_content, detail=detail)


@dataclass(frozen=True, slots=True)
class _ControlAnswer:
    """An answer of a control port. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the value of a body that is JSON. Raises ValueError."""
        return json.loads(self.body)


def check_session(control: Control, request: SessionRequest) -> None:
    """Open and close a session, to find out whether the proxy takes what all sessions of a worker have in common.

    Raises FleetMisconfigured with the proxy's words when it does not. A proxy that can't answer now is not at fault.
    """
    try:
        control.finish(control.open(request), wait_seconds=_CONNECT_SECONDS)
    except FleetMisconfigured:
        raise
    except FleetUnavailable as error:
        if error.may_be_the_page:
            raise FleetMisconfigured(error.reason, detail=error.detail) from error


def _said(answer: _ControlAnswer) -> str:
    """Return the reason in an answer of the control port, on one line."""
    try:
        found = answer.json()["error"]
    except (ValueError, KeyError, TypeError):
        found = answer.body.decode(errors="replace")
    return " ".join(str(found).split())[:_LONGEST_REASON]


def read_token(home: Path) -> str:
    """Return the bearer token of this home's control ports. Raises FleetUnavailable."""
    try:
        return (home / "control.token").read_text("ascii").strip()
    except OSError as error:
        raise FleetUnavailable("no-control-token") from error
