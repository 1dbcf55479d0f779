"""Whose traffic is this, and may it go on: sessions, what their clients may command, when nothing is accepted."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import secrets
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from archive.capture import Context, parse_date
from archive.settings import MODES, NAME_PATTERN, ProxySettings
from proxy.egress import parse
from proxy.http1 import RequestHead
from proxy.keep import Kept, Lost

_NAME: Final = re.compile(NAME_PATTERN)
_MAX_META: Final = 4_194_304
COUNTS: Final = ("urls", "novel", "revisits", "failed", "bytes", "websockets", "messages", "patched", "relayed")
"""What is counted of a session. `messages` are those of its WebSockets; `patched` came from the archive in patch mode;
`relayed` were not kept in live mode."""


class Refused(ValueError):
    """A request that is not carried out; `status` is the HTTP status that says so."""

    def __init__(self, status: int, reason: str, word: str = "refused") -> None:
        super().__init__(reason)
        self.status = status
        self.word = word


@dataclass(frozen=True, slots=True)
class SessionSpec:
    """What was asked for when the session was made."""

    collection: str
    job: str | None = None
    page_id: str | None = None
    page_url: str | None = None
    mode: str = "record"
    hop_path: str = ""
    via: str | None = None
    source: str | None = None
    log_dir: str | None = None
    datetime: str | None = None
    """Replay and patch: the 14-digit date to answer from; None is the newest."""
    egress: str | None = None
    """The proxy to go out by, as `proxy.egress.parse` reads it; None is what the setting proxy.egress says."""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> SessionSpec:
        """The spec in a control request. Raises Refused naming the first field that can't be used."""
        known = cls.__dataclass_fields__
        check_name("field 'collection'", body.get("collection"))
        for name, value in body.items():
            if name == "listen":
                if not isinstance(value, bool):
                    raise Refused(400, f"field 'listen' = {value!r} must be true or false")
            elif name not in known:
                raise Refused(400, f"unknown field {name!r}; known are {', '.join(known)}")
            elif value is not None:
                check_text(f"field {name!r}", value)
        spec = cls(**{name: value for name, value in body.items() if name in known and value is not None})
        if spec.mode not in MODES:
            raise Refused(400, f"field 'mode' = {spec.mode!r} must be one of {', '.join(MODES)}")
        if spec.datetime is not None:
            check_digits("field 'datetime'", spec.datetime)
        if spec.egress is not None:
            try:
                parse(spec.egress)
            except ValueError as error:
                raise Refused(400, f"field 'egress' = {error}") from error
        return spec


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
        self.counts["revisits" if outcome.is_revisit else "novel"] += 1
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
        counts = {name: self.counts[name] for name in COUNTS}
        return {**counts, "in_flight": self.in_flight, "errors": dict(self.errors)}


@dataclass(frozen=True, slots=True)
class Meta:
    """What a trusted client says of one request in its `Warcprox-Meta` header."""

    prefix: str | None = None
    dedup: bool = True
    facts: Mapping[str, str] = field(default_factory=dict)


class Gate:
    """The sessions of this process, and whether it accepts new work."""

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self.default = Session(SessionSpec(settings.collection, mode=settings.mode), id="default")
        self.sessions: dict[str, Session] = {}
        self.counts: Counter[str] = Counter()
        """control_refused: commands from clients that may not give any; unauthorized; refused."""
        self.closed_because = ""
        """Why new work is refused, for instance a full disk; empty when it is accepted."""
        self.is_draining = False
        """Whether this process is about to end: responses then close their connections."""

    def open(self, spec: SessionSpec) -> Session:
        """A new session."""
        session = Session(spec)
        self.sessions[session.id] = session
        return session

    def close(self, session: Session) -> None:
        """Forget the session; its exchanges in flight go on to their end."""
        self.sessions.pop(session.id, None)

    def who(self, head: RequestHead, listener: Session | None) -> tuple[Session, bool]:
        """The session of a request, and whether its client may give commands. Raises Refused (407)."""
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
        return self.default, self._settings.trust_clients

    def meta(self, head: RequestHead, *, trusted: bool) -> Meta:
        """The request's Warcprox-Meta; of an untrusted client it is ignored and counted. Raises Refused (400)."""
        raw = head.get(b"warcprox-meta")
        if raw is None:
            return Meta()
        if not trusted:
            self.counts["control_refused"] += 1
            return Meta()
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


def parse_meta(raw: bytes) -> Meta:
    """The facts in a Warcprox-Meta header. Raises Refused naming the field that can't be used."""
    if len(raw) > _MAX_META:
        raise Refused(400, f"Warcprox-Meta has {len(raw)} bytes, more than {_MAX_META}")
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"Warcprox-Meta is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused(400, "Warcprox-Meta must be a JSON object")
    prefix = value.get("warc-prefix")
    if prefix is not None:
        check_name("warc-prefix", prefix)
    facts = value.get("metadata") or {}
    if not isinstance(facts, dict):
        raise Refused(400, "Warcprox-Meta field 'metadata' must be an object")
    texts = {str(name): text for name, text in facts.items() if isinstance(text, str)}
    for name, text in texts.items():
        check_text(f"Warcprox-Meta metadata {name!r}", text)
    return Meta(prefix, value.get("dedup-ok", True) is not False, texts)


def context_of(session: Session, meta: Meta, url: str, referrer: str | None) -> Context:
    """On whose behalf a URL is fetched. What a page asks for beside itself is an embed of it: hop `E`."""
    spec, facts = session.spec, meta.facts
    hop_path = facts.get("hop_path", spec.hop_path)
    via = facts.get("hop_via_url", spec.via)
    if spec.page_url is not None and url != spec.page_url:
        hop_path, via = hop_path + "E", referrer or spec.page_url
    return Context(
        collection=spec.collection,
        job=spec.job,
        page_id=facts.get("page_id", spec.page_id),
        page_url=spec.page_url,
        prefix=meta.prefix,
        hop_path=hop_path,
        via=via,
        source=facts.get("seed", spec.source),
        log_dir=spec.log_dir,
        dedup=meta.dedup,
    )


def check_name(what: str, value: object) -> None:
    """Raises Refused (400) unless the value may be part of a file name."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise Refused(400, f"{what} = {value!r} must be 1 to 64 of A-Z a-z 0-9 . _ - and begin with a letter or digit")


def check_text(what: str, value: object) -> None:
    """Raises Refused (400) unless the value is text that may stand in a record's header or a line of the log."""
    if not isinstance(value, str):
        raise Refused(400, f"{what} = {value!r} must be a string")
    if not value.isprintable():
        raise Refused(400, f"{what} = {value[:100]!r} holds control characters")


def check_digits(what: str, value: str) -> None:
    """Raises Refused (400) unless the value is a CDX date, cut short anywhere behind its year."""
    try:
        parse_date(value if value.isascii() and value.isdigit() else "")
    except ValueError:
        raise Refused(400, f"{what} = {value[:100]!r} must be a date of 4 to 17 digits, YYYYMMDDhhmmss") from None
