"""This client of a proxy's control port opens sessions and writes the records that browsers make of pages.

A failure here is on our side and not the site's, so that it becomes FleetUnavailable with a reason of one word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

import httpx

from browsers.proxy_outcome import NOT_KEPT, retry_after
from browsers.visit import FleetUnavailable, VisitOrder

type RecordType = Literal["resource", "metadata", "conversion"]

_CONNECT_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The object asks for a session. `listen` asks for a port of its own, which needs no credentials."""

    collection: str
    job: str | None = None
    page_id: str | None = None
    page_url: str | None = None
    mode: Literal["record", "replay"] = "record"
    hop_path: str = ""
    via: str | None = None
    source: str | None = None
    log_dir: str | None = None
    datetime: str | None = None
    listen: bool = False
    redact_headers: tuple[str, ...] = ()
    """Names of the request headers whose values are not recorded."""

    @classmethod
    def for_page(cls, order: VisitOrder, page_id: str, redact_headers: tuple[str, ...] = ()) -> Self:
        """Return the request for the session of one page."""
        return cls(
            collection=order.collection,
            job=order.job,
            page_id=page_id,
            page_url=order.url,
            hop_path=order.hop_path,
            via=order.via,
            source=order.source,
            log_dir=order.log_dir,
            listen=True,
            redact_headers=redact_headers,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the body of `POST /sessions`: unset fields are left out."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in values.items() if value not in (None, "", False, ())}


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
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


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

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """Return the report in an answer of the control port. Unknown fields are ignored."""
        return cls(**{name: body[name] for name in cls.__dataclass_fields__ if name in body})

    @property
    def not_kept(self) -> int:
        """Return the number of exchanges that could not be recorded, so that the page is incomplete by our fault."""
        return self.errors.get(NOT_KEPT, 0)


class Control:
    """The object is the client of one control port. It is safe to use from several threads."""

    def __init__(self, address: str, token: str, *, timeout_seconds: float = _ANSWER_SECONDS) -> None:
        self.address = address
        self._http = httpx.Client(
            base_url=f"http://{address}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(timeout_seconds, connect=_CONNECT_SECONDS),
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self, request: SessionRequest) -> ProxySession:
        """Return a new session, ready for traffic."""
        answer = self._call("POST", "/sessions", json=request.as_json()).json()
        return ProxySession(answer["id"], answer["token"], answer["host"], int(answer["port"]))

    def report(self, session: ProxySession) -> SessionCounts:
        """Return the report of the session so far."""
        return SessionCounts.from_json(self._call("GET", f"/sessions/{session.id}").json())

    def finish(self, session: ProxySession, *, wait_seconds: float) -> SessionCounts | None:
        """End the session after its captures are durable. Return None when that takes longer than `wait_seconds`."""
        try:
            answer = self._call("DELETE", f"/sessions/{session.id}", timeout=wait_seconds)
        except TimeoutError:
            return None
        return SessionCounts.from_json(answer.json())

    def write(self, session: ProxySession, kind: RecordType, uri: str, content_type: str, block: bytes) -> str:
        """Write a record beside the page of the session, and return its id once it is durable."""
        headers = {
            "WARC-Type": kind,
            "WARC-Target-URI": uri,
            "Content-Type": content_type,
            "WARC-Concurrent-To": "page",
        }
        answer = self._call("POST", f"/sessions/{session.id}/records", headers=headers, content=block)
        return str(answer.json()["record_id"])

    def close(self) -> None:
        """Close the connections. Sessions stay open."""
        self._http.close()

    def _call(self, method: str, path: str, *, timeout: float | None = None, **content: Any) -> httpx.Response:
        if timeout is not None:
            content["timeout"] = timeout
        try:
            answer = self._http.request(method, path, **content)
        except httpx.ReadTimeout as error:
            if timeout is not None:
                raise TimeoutError(f"{self.address} did not answer in {timeout:.0f} s") from error
            raise FleetUnavailable("proxy-silent") from error
        except httpx.HTTPError as error:
            raise FleetUnavailable("proxy-unreachable") from error
        if answer.is_success:
            return answer
        if answer.status_code == 503:
            raise FleetUnavailable("not-accepting", retry_after(answer.headers))
        raise FleetUnavailable(f"control-{answer.status_code}")


def read_token(home: Path) -> str:
    """Return the bearer token of this home's control ports. Raises FleetUnavailable."""
    try:
        return (home / "control.token").read_text("ascii").strip()
    except OSError as error:
        raise FleetUnavailable("no-control-token") from error
