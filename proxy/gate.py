"""Whose traffic is this, and may it go on: sessions, what their clients may command, when nothing is accepted."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import secrets
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from archive.capture import Context
from archive.sections import ProxySettings
from proxy.buckets import names_of
from proxy.http1 import RequestHead
from proxy.keep import Kept, Lost
from proxy.refusal import Refused
from proxy.rules import Subject
from proxy.spec import SessionSpec
from proxy.vouched import Vouched
from proxy.wishes import NO_META, NOT_ARCHIVED, NOTHING, Meta, Wishes, parse_meta

if TYPE_CHECKING:
    from proxy.policy import Policy
    from proxy.scripts import Scripts

__all__ = ["NO_META", "Gate", "Meta", "Refused", "Session", "SessionSpec", "context_of", "parse_meta"]

COUNTS: Final = (
    *("urls", "novel", "revisits", "unkept", "failed", "bytes"),
    *("websockets", "messages", "patched", "relayed"),
)
"""What is counted of a session. `unkept` is by the client's wish; `messages` are those of its WebSockets; `patched`
came from the archive in patch mode; `relayed` were not kept in live mode."""


@dataclass(frozen=True, slots=True)
class Past:
    """What came of a session in the process that had it before this one."""

    counts: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    in_flight: int = 0
    """Exchanges that it still has under way."""
    page_record: str | None = None

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Self:
        """As `Session.told` says it."""
        counts = {name: report[name] for name in COUNTS if name in report}
        return cls(counts, report.get("errors", {}), report.get("in_flight", 0), report.get("page_record"))


NO_PAST: Final = Past()


@dataclass(slots=True, eq=False)
class Session:
    """One client's traffic: what it is for, and what has come of it so far."""

    spec: SessionSpec
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    in_flight: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """By the names in COUNTS."""
    errors: Counter[str] = field(default_factory=Counter)
    when_idle: list[Callable[[], None]] = field(default_factory=list)
    page_record: str | None = None
    """Record id of the capture of `page_url`: what derived records are concurrent to."""
    past: Past = NO_PAST
    given: dict[str, Any] = field(default_factory=dict)
    """The control request that made it, and what has been changed since."""
    plain: tuple[SessionSpec, bool, Policy] | None = None
    """The policy of this spec, with or without archiving, that is the same for all its URLs (see `policy`)."""
    scripts: Scripts | None = None
    """Those in its path, loaded; None on the fast path."""

    @property
    def keeps(self) -> bool:
        """Whether what is fetched for it goes into a WARC."""
        return self.spec.mode in ("record", "patch")

    def check_keeps(self) -> None:
        """Raises Refused (403) for a record that is handed in to a session which keeps none."""
        if not self.keeps:
            raise Refused(403, f"a session with mode {self.spec.mode} keeps no records", "control")

    def began(self) -> None:
        """An exchange is under way."""
        self.in_flight += 1

    def ended(self) -> None:
        """An exchange is over and kept, or lost."""
        self.in_flight -= 1
        if self.in_flight == 0:
            waiting, self.when_idle = self.when_idle, []
            for done in waiting:
                done()

    def note(self, outcome: Kept | Lost, url: str, size: int) -> None:
        """An exchange had a response of that many bytes, and this became of it."""
        self.counts["urls"] += 1
        self.counts["bytes"] += size
        if isinstance(outcome, Lost):
            self.counts["failed"] += 1
            self.errors["not-kept"] += 1
            return
        self.counts["revisits" if outcome.is_revisit else "novel" if outcome.capture else "unkept"] += 1
        if url == self.spec.page_url and outcome.capture is not None:
            self.page_record = outcome.capture.record_id

    def note_relayed(self, size: int) -> None:
        """An exchange had a response of that many bytes, which was not to be kept."""
        self.counts.update(urls=1, relayed=1, bytes=size)

    def note_failure(self, code: int) -> None:
        """An exchange had no response, for the reason with that Heritrix code."""
        self.counts["urls"] += 1
        self.counts["failed"] += 1
        self.errors[str(code)] += 1

    def report(self) -> dict[str, Any]:
        """What the control port tells of the session."""
        counts = {name: self.counts[name] + self.past.counts.get(name, 0) for name in COUNTS}
        errors = self.errors + Counter(self.past.errors)
        in_flight = self.in_flight + self.past.in_flight
        return {**counts, "in_flight": in_flight, "errors": dict(errors), "user_agent": self.spec.user_agent}

    def told(self) -> dict[str, Any]:
        """What a process that takes this one's place is told of the session."""
        return {**self.report(), "page_record": self.page_record or self.past.page_record}

    async def until_idle(self, seconds: float) -> bool:
        """Return when nothing of it is under way in this process; False when that takes too long."""
        if self.in_flight:
            idle = asyncio.Event()
            self.when_idle.append(idle.set)
            with suppress(TimeoutError):
                await asyncio.wait_for(idle.wait(), seconds)
        return not self.in_flight


class Gate:
    """The sessions of this process, and whether it accepts new work."""

    def __init__(self, settings: ProxySettings, vouched: Vouched | None = None) -> None:
        self._settings = settings
        self._vouched = vouched or Vouched()
        wishes = Wishes(prefix=settings.prefix) if settings.prefix else NOTHING
        spec = SessionSpec(settings.collection, mode=settings.mode, log_dir=settings.log_dir or None, wishes=wishes)
        self.default = Session(spec, id="default")
        self.sessions: dict[str, Session] = {}
        self.counts: Counter[str] = Counter()
        """control_refused: commands from clients that may not give any; unauthorized; refused."""
        self.closed_because = ""
        """Why new work is refused, for instance a full disk; empty when it is accepted."""
        self.is_draining = False
        """Whether this process is about to end: responses then close their connections."""

    def open(self, spec: SessionSpec) -> Session:
        """A new session."""
        return self.adopt(Session(spec))

    def adopt(self, session: Session) -> Session:
        """A session with an id and token of its own choice: another process had it before."""
        self.sessions[session.id] = session
        return session

    def close(self, session: Session) -> None:
        """Forget the session; its exchanges in flight go on to their end."""
        self.sessions.pop(session.id, None)

    def who(self, head: RequestHead, listener: Session | None, *, is_local: bool) -> tuple[Session, bool]:
        """The session of a request, and whether its client may give commands. Raises Refused (407).

        `is_local`: whether the client is on this machine.
        """
        credentials = head.get(b"proxy-authorization")
        if credentials is not None:
            session = self._by_credentials(credentials)
            if listener is None or listener is session:
                return session, True
        if listener is not None:
            return listener, False
        if self._settings.password:
            self.counts["unauthorized"] += 1
            raise Refused(407, "this proxy asks for a password", "unauthorized")
        whom = self._settings.trust_clients
        return self.default, whom == "all" or (whom == "loopback" and is_local)

    def meta(self, head: RequestHead, *, trusted: bool) -> Meta:
        """The request's Warcprox-Meta. Raises Refused (400).

        Of an untrusted client it is ignored and counted, and so is one that a page's script may have made up: a
        browser sends its proxy's credentials with those as well.
        """
        raw = head.get(b"warcprox-meta")
        if raw is None:
            return NO_META
        if not trusted or not self._vouched.obeys(head, raw):
            self.counts["control_refused"] += 1
            return NO_META
        return parse_meta(raw)

    def check_open(self) -> None:
        """Raises Refused (503) while no new work is accepted."""
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
        self.counts["unauthorized"] += 1
        raise Refused(407, "no such session, or wrong password", "unauthorized")


def context_of(
    session: Session, meta: Meta, url: str, referrer: str | None, *, wishes: Wishes = NOTHING, archived: bool = True
) -> Context:
    """On whose behalf a URL is fetched. What a page asks for beside itself is an embed of it: hop `E`.

    A brozzler-like client names its page in `brozzled_url`, and its embeds are hop `B`, as in warcprox's crawl log.
    `wishes` are the session's and the request's together.
    """
    spec, facts = session.spec, meta.facts
    hop_path = facts.get("hop_path", spec.hop_path)
    via = facts.get("hop_via_url", spec.via)
    if spec.page_url is not None and url != spec.page_url:
        hop_path, via = hop_path + "E", referrer or spec.page_url
    elif (page := facts.get("brozzled_url")) is not None and url != page:
        hop_path, via = hop_path + "B", page
    if spec.redaction.fields and via:
        via = spec.redaction.url(via)
    return Context(
        collection=spec.collection,
        job=spec.job,
        page_id=facts.get("page_id", spec.page_id),
        page_url=spec.page_url,
        prefix=None if wishes.prefix == NOT_ARCHIVED else wishes.prefix,
        hop_path=hop_path,
        via=via,
        source=facts.get("seed", spec.source),
        log_dir=spec.log_dir,
        dedup=wishes.dedup,
        buckets=wishes.buckets,
        archived=archived and wishes.prefix != NOT_ARCHIVED,
        stats=names_of(wishes.stats, Subject(url).host) if wishes.stats else (),
    )
