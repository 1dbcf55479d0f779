"""The gate finds the session of a request, decides what its client may command, and knows when no work is accepted."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections import Counter
from typing import Final

from archive.settings import ProxySettings
from proxy.protocol.http1 import RequestHead
from proxy.refusal import Refused
from proxy.sessions.meta_trust import MetaTrust, is_by_browser
from proxy.sessions.request_options import NO_META, NOTHING, Meta, RequestOptions, parse_meta
from proxy.sessions.session import Session
from proxy.sessions.spec import SessionSpec

_MOST_ENDED: Final = 1_000
_ENDED: Final = (
    "the capture session into {} has expired, or was ended. Nothing was fetched, and nothing is recorded. To go on, "
    "open the session again on its page in Ghostfleet, and load this page again. To browse without recording, take the "
    "proxy out of the settings of your browser"
)


class Gate:
    """The sessions of this process, and whether it accepts new work."""

    def __init__(self, settings: ProxySettings, meta_trust: MetaTrust | None = None) -> None:
        self._settings = settings
        self._meta_trust = meta_trust or MetaTrust()
        options = RequestOptions(prefix=settings.prefix) if settings.prefix else NOTHING
        spec = SessionSpec(settings.collection, mode=settings.mode, log_dir=settings.log_dir or None, options=options)
        self.default = Session(spec, id="default")
        self.by_credentials = Session(spec, id="by-credentials")
        """This session stands for the port that serves only sessions which are chosen by their credentials."""
        self.sessions: dict[str, Session] = {}
        self._ended: dict[str, tuple[bytes, str]] = {}
        """The sessions of people that have ended, with the digests of their tokens and their collections."""
        self.counts: Counter[str] = Counter()
        """control_refused: commands from clients that may not give any; unauthorized; refused."""
        self.closed_because = ""
        """Why new work is refused, for instance a full disk; empty when it is accepted."""
        self.is_draining = False
        """This process is about to end: responses then close their connections."""

    def open(self, spec: SessionSpec) -> Session:
        """Return a new session."""
        return self.adopt(Session(spec))

    def adopt(self, session: Session) -> Session:
        """Add a session that has an id and a token already, and return it."""
        self.sessions[session.id] = session
        return session

    def close(self, session: Session) -> None:
        """Forget the session; its exchanges in flight go on to their end."""
        if self.sessions.pop(session.id, None) is not None and session.spec.notes_navigation:
            if len(self._ended) >= _MOST_ENDED:
                del self._ended[next(iter(self._ended))]
            self._ended[session.id] = _digest(session.token.encode()), session.spec.collection

    def identify(self, head: RequestHead, listener: Session | None, *, is_local: bool) -> tuple[Session, bool]:
        """Return the session of a request, and whether its client may give commands. Raises Refused (407, 403).

        `is_local`: whether the client is on this machine.
        """
        credentials = head.get(b"proxy-authorization")
        if credentials is not None:
            session = self._by_credentials(credentials)
            if listener is None or listener is session:
                return session, True
            if listener is self.by_credentials and session is not self.default:
                return session, True
        if listener is self.by_credentials:
            self.counts["unauthorized"] += 1
            why = "this port needs a session's credentials; send Proxy-Authorization with its id and token"
            raise Refused(407, f"{why}, or make a session with listen: true, which has a port of its own", "session")
        if listener is not None:
            return listener, False
        if self._settings.password:
            self.counts["unauthorized"] += 1
            raise Refused(407, "this proxy needs its password; send it in Proxy-Authorization", "unauthorized")
        whom = self._settings.trust_clients
        return self.default, whom == "all" or (whom == "loopback" and is_local)

    def meta(self, head: RequestHead, session: Session, *, trusted: bool, address: str = "") -> Meta:
        """Return the request's Warcprox-Meta. Raises Refused (400).

        The header of an untrusted client is ignored and counted. So is one that a page's script may have made up,
        because a browser sends the proxy's credentials with requests of scripts as well. `address` is the client's.
        """
        raw = head.get(b"warcprox-meta")
        if raw is None:
            return NO_META
        if not trusted or not self._meta_trust.is_trusted(head, raw, f"{address} {session.id}"):
            self.counts["control_refused"] += 1
            return NO_META
        return parse_meta(raw)

    def remember_connect(self, head: RequestHead, session: Session, *, address: str) -> None:
        """Remember the Warcprox-Meta of a trusted client's CONNECT: its scripts may send the same value."""
        raw = head.get(b"warcprox-meta")
        if raw is not None:
            self._meta_trust.is_trusted(head, raw, f"{address} {session.id}")

    def check_may_write(self, head: RequestHead, session: Session, *, trusted: bool) -> None:
        """Raise Refused when the client may not hand in a record now.

        What crawlers hand in never comes from a browser; a page's script would.
        """
        if not trusted or is_by_browser(head):
            self.counts["control_refused"] += 1
            why = "is not for pages" if trusted else "needs a session's password or a trusted listener"
            raise Refused(403, f"{head.method} {why}", "control")
        session.check_keeps()
        self.check_open()

    def check_open(self) -> None:
        """Raise Refused (503) while no new work is accepted."""
        if self.closed_because:
            raise Refused(503, self.closed_because, "not-accepting")

    def _by_credentials(self, header: bytes) -> Session:
        scheme, _, value = header.partition(b" ")
        try:
            name, _, secret = base64.b64decode(value.strip(), validate=True).partition(b":")
        except binascii.Error:
            name, secret = b"", b""
        session = self.sessions.get(name.decode("latin-1"))
        if scheme.lower() == b"basic":
            if session is not None and hmac.compare_digest(secret, session.token.encode()):
                return session
            if self._settings.password and hmac.compare_digest(secret, self._settings.password.encode()):
                return self.default
            digest, collection = self._ended.get(name.decode("latin-1"), (b"", ""))
            if hmac.compare_digest(_digest(secret), digest):
                raise Refused(403, _ENDED.format(collection), "session-ended")
        self.counts["unauthorized"] += 1
        raise Refused(407, "no session has this id, or the token or password is wrong", "unauthorized")


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
