"""The plain crawler makes one request through the proxy and finds links in the response.

It runs no JavaScript and follows no redirects. It keeps no cookies but those of stored logins, and those of one chain
of redirects until the chain ends (`browsers.plain.chain_cookies`) or of the job (`browsers.plain.job_cookies`). `https`
URLs are requested in absolute form (`GET https://host/path`): there is no TLS to the proxy, and the proxy makes the
only TLS connection, to the site. One connection to the proxy serves all sites in turn.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal, Protocol

from archive import crawl_log
from archive.http.content_coding import decode
from archive.settings.load import Settings
from browsers.links.decoding import encoding_of, text_of
from browsers.links.documents import Links, links_of, may_have_links, media_type
from browsers.links.headers import REDIRECTS, charset
from browsers.links.kinds import begins_with_links
from browsers.page_quality.assessment import flaws_of
from browsers.page_quality.flaws import MAX_DOM, PageEvidence
from browsers.page_quality.missing_page import look_of_html
from browsers.page_quality.rules import REFUSALS
from browsers.plain.chain_cookies import ChainCookies
from browsers.proxying import outcomes
from browsers.proxying.control_client import Control, ProxySession, SessionRequest
from browsers.proxying.outcomes import ERROR_HEADER
from browsers.proxying.proxy_connection import (
    AnswerUnreadable,
    ConnectionLost,
    ProxyConnections,
    ProxyResponse,
    ProxyUnreachable,
)
from browsers.proxying.rendezvous import ranked
from browsers.visit import (
    UNRECORDED,
    UNRECORDED_OF_RESPONSES,
    FleetUnavailable,
    OwnHeaders,
    PageLook,
    Visit,
    VisitOrder,
)
from browsers.visitor_choice import is_embed
from frontier.definition.job import CookiePolicy

ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_ENCODING: Final = "gzip, deflate, br"
"""Codings that every replay tool can decode. zstd is decoded, too, when a site sends it."""
_CONNECT_SECONDS: Final = 10.0
_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
_UNAUTHORIZED: Final = 401
_TITLE: Final = re.compile(r"<title[^>]{0,200}>([^<]{0,1000})", re.IGNORECASE)
_REST_SECONDS: Final = 10.0
"""A proxy process that could not be reached is tried last for this time."""


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """The answer is a response as it came through the proxy. `body` is cut at the requested bound."""

    status: int
    headers: Mapping[str, str]
    """Header fields by lower-case name. The values of a repeated field are joined by a comma."""
    body: bytes
    length: int
    """Length of the whole body in bytes."""
    duration_ms: int
    set_cookies: tuple[str, ...] = ()
    """The values of the fields Set-Cookie of a redirect."""
    digest: str = ""
    """Eight bytes of the digest of the whole body, when the visitor has been asked for it."""


class SiteFailure(Exception):
    """The site gave no whole response. The error has Heritrix's negative code and a word for it."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason


class RequestLogins(Protocol):
    """The stored logins of a job as the crawler needs them."""

    def is_for(self, url: str) -> bool:
        """Return whether requests to the URL have a login, so that its secrets must not be recorded."""

    def headers(self, url: str) -> Mapping[str, str]:
        """Return the headers Cookie and Authorization of a request to the URL, as far as they are known."""

    def answer(self, url: str, asked: Mapping[str, str], sent: str) -> str:
        """Return the value of Authorization for the same request once more; empty when there is no better one.

        `asked` are the headers of the site's answer with status 401, and `sent` is the value that the request had.
        """


class PlainVisitor:
    """The visitor visits URLs without rendering them. It is safe to use from several threads."""

    name = "plain"

    def __init__(
        self,
        settings: Settings,
        controls: Sequence[Control],
        *,
        user_agent: str = "",
        headers: OwnHeaders | None = None,
        login: RequestLogins | None = None,
        connections: int = 64,
        digests: bool = False,
        mode: Literal["record", "live"] = "record",
        guesses: bool = True,
        cookies: CookiePolicy = "chain",
    ) -> None:
        """`login` has the headers Cookie and Authorization for a URL. Their values are not recorded.

        Nothing is archived in the mode `live`. With `guesses`, texts that look like URLs are links. With `digests`,
        visits have the digest of the body. `cookies` says how long cookies of sites are kept.
        """
        self._settings = settings
        self._controls = controls
        self._user_agent = user_agent or settings.archive.user_agent
        self._own = headers or OwnHeaders()
        self._login = login
        self._mode = mode
        self._guesses = guesses
        self._digests = digests
        self._cookies = cookies
        self._own_names = {name.lower() for name in self._own.values}
        self._sessions: dict[tuple[str, str | None, str, bool], ProxySession] = {}
        self._unreachable: dict[str, float] = {}
        """The time (monotonic seconds) from which a control address is tried in its turn again."""
        self._lock = threading.Lock()
        self._http = ProxyConnections(_CONNECT_SECONDS, connections)

    def visit(self, order: VisitOrder) -> Visit:
        """Return the status of the site with the links of its response, or a negative code."""
        began = time.monotonic()
        try:
            answer = self.fetch(order)
        except SiteFailure as failure:
            return Visit(failure.code, _elapsed_ms(began), error=failure.reason)
        found = Links()
        if answer.body or answer.status in range(300, 400):
            found = links_of(
                order.url,
                answer.status,
                answer.headers,
                answer.body,
                hop_path=order.hop_path,
                via=order.via,
                guesses=self._guesses,
                limit=self._settings.browsers.max_page_bytes,
            )
        cut = ("body-capped",) if answer.body and answer.length > len(answer.body) else ()
        return Visit(
            code=answer.status,
            duration_ms=answer.duration_ms,
            bytes=answer.length,
            content_type=media_type(answer.headers.get("content-type", "")),
            links=found.links,
            annotations=tuple(dict.fromkeys((*found.annotations, *cut, *_flaws(order.url, answer)))),
            retry_after=outcomes.retry_after(answer.headers),
            cookies=self._cookies_after(order, answer),
            set_cookies=() if self._cookies != "job" or self._has_own_cookies(order) else answer.set_cookies,
            digest=answer.digest,
            look=_look(order.url, answer) if self._settings.browsers.soft_404_check else None,
        )

    def look(self, order: VisitOrder) -> tuple[int, PageLook | None]:
        """Return the status of a page and its look. Raises SiteFailure and FleetUnavailable."""
        answer = self.fetch(order)
        return answer.status, _look(order.url, answer)

    def fetch(self, order: VisitOrder, *, keep: int | None = None) -> PlainAnswer:
        """Return the site's response, read to its end. Raises SiteFailure and FleetUnavailable.

        `keep` is the number of bytes of the body in the answer; by default, as many as are searched for links. When a
        process can't be reached, the next choice of the host is tried.
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
        """End the sessions and connections of this visitor."""
        self._http.close()
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        for (address, *_), session in sessions.items():
            control = next(control for control in self._controls if control.address == address)
            try:
                control.finish(session, wait_seconds=self._settings.browsers.close_seconds)
            except FleetUnavailable:
                continue  # a proxy that has ended has no sessions

    def _fetch_through(self, control: Control, order: VisitOrder, keep: int | None) -> PlainAnswer:
        session = self._session(order, control)
        for last_try in (False, True):
            try:
                answer = self._exchanged(order, session, keep)
            except TimeoutError as error:
                raise SiteFailure(crawl_log.TIMEOUT, "timeout") from error
            except AnswerUnreadable as error:
                raise SiteFailure(crawl_log.BAD_URL, "unreadable") from error
            except ConnectionLost as error:
                if last_try:
                    raise SiteFailure(crawl_log.LOST, "lost") from error
            except ProxyUnreachable as error:
                self._forget(order, control)  # a new proxy process does not have the session
                raise FleetUnavailable("proxy-unreachable") from error
            else:
                return self._checked(answer, order, control)
        raise AssertionError("the last try either returns or raises")

    def _exchanged(self, order: VisitOrder, session: ProxySession, keep: int | None) -> PlainAnswer:
        """Return the answer to a request; when the site asks for credentials that a login has, to a second one."""
        headers = self._headers(order, session)
        answer = self._exchange(order, session, keep, headers)
        is_question = answer.status == _UNAUTHORIZED and ERROR_HEADER not in answer.headers
        if self._login is None or not is_question or "authorization" in self._own_names:
            return answer
        value = self._login.answer(order.url, answer.headers, headers.get("Authorization", ""))
        return self._exchange(order, session, keep, {**headers, "Authorization": value}) if value else answer

    def _exchange(
        self, order: VisitOrder, session: ProxySession, keep: int | None, sent: Mapping[str, str]
    ) -> PlainAnswer:
        began = time.monotonic()
        response = self._http.ask(session.host, session.port, order.url, sent, self._silence(order))
        try:
            headers = response.headers
            if keep is None:
                keep = self._settings.browsers.max_page_bytes
                searches = may_have_links(order.url, headers, order.hop_path, guesses=self._guesses)
            else:
                searches = True
            is_endless = is_embed(order.hop_path) and "content-length" not in headers
            seconds = self._settings.browsers.embed_seconds if is_endless else None
            digest = blake2b(digest_size=8) if self._digests else None
            body, length = _read(response, keep, seconds, searches=searches, digest=digest)
            if digest is not None:  # a redirect to another target is a change, too
                digest.update(headers.get("location", "").encode("utf-8", "surrogatepass"))
        finally:
            response.close()
        is_asked = response.status in REDIRECTS or self._cookies == "job"
        cookies = response.values("set-cookie") if is_asked else ()
        text = digest.hexdigest() if digest is not None else ""
        return PlainAnswer(response.status, headers, body, length, _elapsed_ms(began), cookies, text)

    def _cookies_after(self, order: VisitOrder, answer: PlainAnswer) -> str:
        """Return the cookies for the target of a redirect; none for another answer.

        With cookies of a login or of the profile, none are added: a secret must not be stored with queued URLs.
        """
        if answer.status not in REDIRECTS or not (order.cookies or answer.set_cookies) or self._has_own_cookies(order):
            return ""
        return ChainCookies.read(order.cookies).after(order.url, answer.set_cookies).text()

    def _has_own_cookies(self, order: VisitOrder) -> bool:
        return self._cookies == "off" or self._has_login(order) or "cookie" in self._own_names

    def _silence(self, order: VisitOrder) -> float:
        """Return the seconds for which the proxy may be silent. Those for a part of a page are less than the proxy's.

        For another URL, the time is a little longer than the proxy's, so that the error of the proxy arrives.
        """
        proxy = self._settings.proxy
        if is_embed(order.hop_path):
            turn = proxy.host_delay_wait_seconds if proxy.host_delay else 0.0
            return self._settings.browsers.embed_seconds + turn
        return max(proxy.connect_seconds + proxy.first_byte_seconds, proxy.idle_seconds) + 30

    def _checked(self, answer: PlainAnswer, order: VisitOrder, control: Control) -> PlainAnswer:
        """Return an answer of the site. Raises SiteFailure and FleetUnavailable for an answer of the proxy."""
        if answer.status == 407 and "proxy-authenticate" in answer.headers:
            self._forget(order, control)
            raise FleetUnavailable("session-lost")
        if failure := outcomes.proxy_error(answer.status, answer.headers):
            raise SiteFailure(*failure)
        return answer

    def _headers(self, order: VisitOrder, session: ProxySession) -> dict[str, str]:
        credentials = base64.b64encode(f"{session.id}:{session.token}".encode()).decode()
        headers = {
            "Host": order.host,
            "User-Agent": self._user_agent,
            "Accept": ACCEPT,
            "Accept-Encoding": ACCEPT_ENCODING,
            "Connection": "keep-alive",
            "Proxy-Authorization": f"Basic {credentials}",
            "Warcprox-Meta": json.dumps({"metadata": _facts(order)}),
        }
        if order.via and not (order.via.startswith("https:") and order.url.startswith("http:")):
            headers["Referer"] = order.via  # never from a secure page to an insecure one (Referrer Policy section 3.7)
        chain = order.cookies if self._cookies != "off" else ""  # a redirect of robots.txt may have set some
        if chain and (cookies := ChainCookies.read(chain).header(order.url)):
            headers["Cookie"] = cookies
        if self._login is not None:
            headers.update(self._login.headers(order.url))
        if self._own_names:
            headers = {name: value for name, value in headers.items() if name.lower() not in self._own_names}
            headers.update(self._own.values)
        return headers

    def _choices(self, order: VisitOrder) -> list[Control]:
        """Return the processes that may serve the URL, best first.

        The order is always the same for a host, so that connections are used again.
        """
        if len(self._controls) == 1:
            return [*self._controls]
        by_address, now = {control.address: control for control in self._controls}, time.monotonic()
        ranking = ranked(order.host, by_address)
        ranking.sort(key=lambda address: self._unreachable.get(address, 0.0) > now)  # stable
        return [by_address[address] for address in ranking]

    def _session(self, order: VisitOrder, control: Control) -> ProxySession:
        """Return the session of this job at this process."""
        key = self._key(order, control)
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                session = control.open(self._session_request(order))
                self._sessions[key] = session
        return session

    def _session_request(self, order: VisitOrder) -> SessionRequest:
        has_login = self._has_login(order)
        hidden = UNRECORDED if has_login else ()
        return SessionRequest(
            order.collection,
            job=order.job,
            mode=self._mode,
            log_dir=order.log_dir,
            prefix=order.prefix,
            redact_headers=tuple(dict.fromkeys((*self._own.unrecorded, *hidden))),
            redact_response_headers=UNRECORDED_OF_RESPONSES if has_login else (),
        )

    def _has_login(self, order: VisitOrder) -> bool:
        return self._login is not None and self._login.is_for(order.url)

    def _key(self, order: VisitOrder, control: Control) -> tuple[str, str | None, str, bool]:
        """Return the key of the session: requests with a login have one of their own, whose secrets are not kept."""
        return (control.address, order.job, order.collection, self._has_login(order))

    def _forget(self, order: VisitOrder, control: Control) -> None:
        with self._lock:
            self._sessions.pop(self._key(order, control), None)


def _read(
    response: ProxyResponse,
    wanted: int,
    seconds: float | None = None,
    *,
    searches: bool = True,
    digest: blake2b | None = None,
) -> tuple[bytes, int]:
    """Return the first `wanted` bytes of the body, and its whole length.

    Without `searches`, the bytes are returned only when the first of them show a document with links. Raises
    SiteFailure, also when the body does not end within `seconds`.
    """
    kept, length = bytearray(), 0
    end = None if seconds is None else time.monotonic() + seconds
    try:
        for piece in response.pieces():
            if end is not None and time.monotonic() > end:
                raise SiteFailure(crawl_log.TIMEOUT, "endless")
            if not length and not searches and not begins_with_links(piece):
                wanted = 0
            length += len(piece)
            if digest is not None:
                digest.update(piece)
            if len(kept) < wanted:
                kept += piece[: wanted - len(kept)]
    except (ConnectionLost, AnswerUnreadable) as error:
        # The proxy closes the connection when the site did, and when it could not keep the response.
        raise SiteFailure(crawl_log.LOST, "short") from error
    return bytes(kept), length


def _facts(order: VisitOrder) -> dict[str, str]:
    facts = {"hop_path": order.hop_path, "hop_via_url": order.via, "seed": order.source}
    facts["page_id"] = order.page_id or str(uuid.uuid4())
    facts["attempt"] = str(order.attempt) if order.attempt > 1 else ""
    return {name: value for name, value in facts.items() if value}


def _flaws(url: str, answer: PlainAnswer) -> Iterator[str]:
    """Yield annotations about a refusal of the site: by a firewall, for too many requests, without a login."""
    if answer.status in REFUSALS:
        data = decode(answer.body, answer.headers.get("content-encoding", ""), MAX_DOM).data
        dom = text_of(data, encoding_of(data, charset(answer.headers.get("content-type", ""))))
        title = _TITLE.search(dom)
        evidence = PageEvidence(
            url,
            status=answer.status,
            headers=answer.headers,
            title=title[1].strip() if title else "",
            dom=dom,
            is_rendered=False,
        )
        yield from (flaw.annotation for flaw in flaws_of(evidence))


def _look(url: str, answer: PlainAnswer) -> PageLook | None:
    """Return the look of a page with status 200; None for any other answer."""
    if answer.status != 200 or media_type(answer.headers.get("content-type", "")) not in _PAGES:
        return None
    body = decode(answer.body, answer.headers.get("content-encoding", ""), MAX_DOM).data
    return look_of_html(url, body)


def _elapsed_ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
