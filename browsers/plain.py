"""The plain crawler: one request through the proxy, links out of the answer. No JavaScript, no cookies, no redirects.

`https` URLs are asked for in absolute form (`GET https://host/path`), so there is no TLS between us and the proxy:
the proxy makes the only TLS connection, to the site. One connection to the proxy serves all sites, one after another.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import httpx

from archive import crawl_log
from archive.rendezvous import ranked
from archive.settings import Settings
from archive.url import host_of
from browsers import outcome
from browsers.links import Links, links_of, may_have_links, media_type
from browsers.proxyclient import Control, ProxySession, SessionWish
from browsers.visit import FleetUnavailable, Visit, VisitOrder

ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_ENCODING: Final = "gzip, deflate, br"
"""What every replay tool can undo; zstd is understood when sent anyway."""
_TRIES: Final = 2
"""A connection that was kept alive may be closed just as it is used again: then a fresh one is tried, once."""
_REST_SECONDS: Final = 10.0
"""A proxy process that could not be reached is asked after all others for so long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as it came through the proxy. `body` is on-the-wire content, cut at the bound that was asked for."""

    status: int
    headers: Mapping[str, str]
    """Lower-case names; of a repeated header, the values joined by comma."""
    body: bytes
    length: int
    """Bytes of the whole body, kept or not."""
    duration_ms: int


class SiteFailure(Exception):
    """The site gave no whole answer: Heritrix's negative code and the word for it."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason


class PlainVisitor:
    """Visits URLs without rendering them. Safe to use from several threads."""

    name = "plain"

    def __init__(
        self, settings: Settings, controls: Sequence[Control], *, user_agent: str = "", connections: int = 64
    ) -> None:
        self._settings = settings
        self._controls = controls
        self._user_agent = user_agent or settings.archive.user_agent
        self._sessions: dict[tuple[str, str | None, str], ProxySession] = {}
        self._unreachable: dict[str, float] = {}
        """Control address to when (monotonic seconds) it is to be asked in its turn again."""
        self._lock = threading.Lock()
        self._http = _client(settings, connections)

    def visit(self, order: VisitOrder) -> Visit:
        """See Visitor: the site's status with the links of its answer, or a negative code."""
        began = time.monotonic()
        try:
            answer = self.fetch(order)
        except SiteFailure as failure:
            return Visit(failure.code, _elapsed_ms(began), error=failure.reason)
        found = Links()
        if answer.body or answer.status in range(300, 400):
            limit = self._settings.browsers.max_page_bytes
            found = links_of(order.url, answer.status, answer.headers, answer.body, limit=limit)
        cut = ("body-capped",) if answer.body and answer.length > len(answer.body) else ()
        return Visit(
            code=answer.status,
            duration_ms=answer.duration_ms,
            bytes=answer.length,
            content_type=media_type(answer.headers.get("content-type", "")),
            links=found.links,
            annotations=tuple(dict.fromkeys((*found.annotations, *cut))),
            retry_after=outcome.retry_after(answer.headers),
        )

    def fetch(self, order: VisitOrder, *, keep: int | None = None) -> Answer:
        """The site's answer, read to its end. Raises SiteFailure without one, FleetUnavailable for faults of ours.

        Of the body, `keep` bytes are in the answer; by default as many as links are searched in. A process that is
        down is passed over for the one that is the host's next choice.
        """
        trouble = FleetUnavailable("no-proxy")
        for control in self._choices(order):
            try:
                return self._fetch_through(control, order, keep)
            except FleetUnavailable as error:
                if error.reason != "proxy-unreachable":
                    raise
                self._unreachable[control.address] = time.monotonic() + _REST_SECONDS
                trouble = error
        raise trouble

    def close(self) -> None:
        """Ends this visitor's sessions and connections."""
        self._http.close()
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        for (address, _, _), session in sessions.items():
            control = next(control for control in self._controls if control.address == address)
            try:
                control.finish(session, wait_seconds=self._settings.browsers.close_seconds)
            except FleetUnavailable:
                continue  # a proxy that is gone has no sessions left to end

    def _fetch_through(self, control: Control, order: VisitOrder, keep: int | None) -> Answer:
        session = self._session(order, control)
        for last_try in (False, True):
            try:
                answer = self._exchange(order, session, keep)
            except httpx.ReadTimeout as error:
                raise SiteFailure(crawl_log.TIMEOUT, "timeout") from error
            except (httpx.RemoteProtocolError, httpx.ReadError) as error:
                if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error):
                    raise SiteFailure(crawl_log.BAD_URL, "unreadable") from error
                if last_try:
                    raise SiteFailure(crawl_log.LOST, "lost") from error
            except httpx.TransportError as error:
                self._forget(order, control)  # a proxy that was replaced knows neither the session nor its port
                raise FleetUnavailable("proxy-unreachable") from error
            else:
                return self._checked(answer, order, control)
        raise AssertionError("the last try either returns or raises")

    def _exchange(self, order: VisitOrder, session: ProxySession, keep: int | None) -> Answer:
        began = time.monotonic()
        request = self._http.build_request(
            "GET",
            f"http://{session.address}/",
            headers=self._headers(order, session),
            extensions={"target": order.url.encode("ascii")},
        )
        response = self._http.send(request, stream=True)
        try:
            headers = {name.lower(): value for name, value in response.headers.items()}
            if keep is None:
                keep = self._settings.browsers.max_page_bytes if may_have_links(order.url, headers) else 0
            body, length = _read(response, keep)
        finally:
            response.close()
        return Answer(response.status_code, headers, body, length, _elapsed_ms(began))

    def _checked(self, answer: Answer, order: VisitOrder, control: Control) -> Answer:
        """The answer if it is the site's own; else raises what the proxy says."""
        if answer.status == 407 and "proxy-authenticate" in answer.headers:
            self._forget(order, control)
            raise FleetUnavailable("session-lost")
        if failure := outcome.proxy_error(answer.status, answer.headers):
            raise SiteFailure(*failure)
        return answer

    def _headers(self, order: VisitOrder, session: ProxySession) -> dict[str, str]:
        credentials = base64.b64encode(f"{session.id}:{session.token}".encode()).decode()
        headers = {
            "Host": host_of(order.url),
            "User-Agent": self._user_agent,
            "Accept": ACCEPT,
            "Accept-Encoding": ACCEPT_ENCODING,
            "Connection": "keep-alive",
            "Proxy-Authorization": f"Basic {credentials}",
            "Warcprox-Meta": json.dumps({"metadata": _facts(order)}),
        }
        if order.via and not (order.via.startswith("https:") and order.url.startswith("http:")):
            headers["Referer"] = order.via  # never from a secure page to an insecure one (Referrer Policy section 3.7)
        return headers

    def _choices(self, order: VisitOrder) -> list[Control]:
        """The processes that may serve the URL, best first: always the same for a host, so connections are reused."""
        if len(self._controls) == 1:
            return [*self._controls]
        by_address, now = {control.address: control for control in self._controls}, time.monotonic()
        ranking = ranked(host_of(order.url), by_address)
        ranking.sort(key=lambda address: self._unreachable.get(address, 0.0) > now)  # stable
        return [by_address[address] for address in ranking]

    def _session(self, order: VisitOrder, control: Control) -> ProxySession:
        """This job's session at this process."""
        key = (control.address, order.job, order.collection)
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                session = control.open(SessionWish(order.collection, job=order.job, log_dir=order.log_dir))
                self._sessions[key] = session
        return session

    def _forget(self, order: VisitOrder, control: Control) -> None:
        with self._lock:
            self._sessions.pop((control.address, order.job, order.collection), None)


def _client(settings: Settings, connections: int) -> httpx.Client:
    """A client that adds nothing of its own: no cookies (all sites look like one host to it), no redirects, no proxy
    from the environment. It waits a little longer than the proxy does, so that the proxy's verdict arrives."""
    proxy = settings.proxy
    silence = max(proxy.connect_seconds + proxy.first_byte_seconds, proxy.idle_seconds) + 30
    return httpx.Client(
        timeout=httpx.Timeout(silence, connect=10),
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections, keepalive_expiry=20),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        trust_env=False,
    )


def _read(response: httpx.Response, wanted: int) -> tuple[bytes, int]:
    """The body's first `wanted` bytes, and its whole length: the rest is read and let go. Raises SiteFailure."""
    kept, length = bytearray(), 0
    try:
        for piece in response.iter_raw():
            length += len(piece)
            if len(kept) < wanted:
                kept += piece[: wanted - len(kept)]
    except (httpx.RemoteProtocolError, httpx.ReadError) as error:
        # The proxy breaks off when the site did, and when it could not keep what came: either way it is not whole.
        raise SiteFailure(crawl_log.LOST, "short") from error
    return bytes(kept), length


def _facts(order: VisitOrder) -> dict[str, str]:
    facts = {"hop_path": order.hop_path, "hop_via_url": order.via, "seed": order.source, "page_id": str(uuid.uuid4())}
    return {name: value for name, value in facts.items() if value}


def _elapsed_ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
