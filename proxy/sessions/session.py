"""A session is one client's traffic, with its specification and its counts."""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self

from archive.capture import Exchange
from archive.dates import Micros, iso_date
from archive.ended_exchange import EndedExchange, ExchangeEnd
from proxy.recording.keep import Kept, Lost
from proxy.refusal import Refused
from proxy.sessions.exchange_list import ExchangeList, listed
from proxy.sessions.policy import Policy
from proxy.sessions.secrets.typed_secrets import TypedSecrets
from proxy.sessions.spec import SessionSpec

COUNTS: Final = (
    *("urls", "novel", "revisits", "unkept", "failed", "bytes"),
    *("websockets", "messages", "patched", "relayed"),
)
"""The counts of a session. `unkept` is by the client's wish; `messages` are those of its WebSockets; `patched` came
from the archive in patch mode; `relayed` were not kept in live mode."""


MOST_UNTRUSTING: Final = 20
"""Hosts of a session whose certificate from us the client refuses: so many are named."""
_BREAKS: Final = 2
"""A client may break a handshake that it does not need any more. So the second break in a row tells that it refuses."""


class SessionScripts(Protocol):
    """The loaded scripts of a session, as far as the session uses them."""

    def close(self) -> None:
        """End the scripts."""


@dataclass(frozen=True, slots=True)
class SessionReport:
    """A report says what one process, or several one after the other, have counted of a session."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """By the names in COUNTS."""
    errors: Mapping[str, int] = field(default_factory=dict)
    in_flight: int = 0
    """Exchanges that are still in progress."""
    page_record: str | None = None
    """Record id of the capture of the session's `page_url`."""
    page_date: Micros | None = None
    """Date of that capture."""
    user_agent: str | None = None
    exchanges: ExchangeList = field(default_factory=ExchangeList)
    """The exchanges that have ended, of a session with a page id."""
    untrusted: tuple[str, ...] = ()
    """The hosts for which the client refuses our certificate now."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the report that another process sent (`handover_json`)."""
        return cls(
            counts={name: value[name] for name in COUNTS if name in value},
            errors=value.get("errors", {}),
            in_flight=value.get("in_flight", 0),
            page_record=value.get("page_record"),
            page_date=value.get("page_date"),
            user_agent=value.get("user_agent"),
            exchanges=ExchangeList.from_json(value.get("exchange_list", {})),
            untrusted=tuple(value.get("untrusted", ())),
        )

    def control_json(self) -> dict[str, Any]:
        """Return the report as the control port sends it."""
        rest = {"in_flight": self.in_flight, "errors": dict(self.errors), "user_agent": self.user_agent}
        return {**self.counts, **rest, "untrusted": list(self.untrusted)}

    def handover_json(self) -> dict[str, Any]:
        """Return the report as one process sends it to another."""
        page = {"page_record": self.page_record, "page_date": self.page_date}
        return {**self.control_json(), **page, "exchange_list": self.exchanges.to_json()}

    def exchanges_json(self) -> dict[str, Any]:
        """Return the list of the exchanges as the control port sends it."""
        page = {"record_id": self.page_record, "date": iso_date(self.page_date)} if self.page_date is not None else None
        return {"page": page, "in_flight": self.in_flight, **self.exchanges.to_json()}


NO_REPORT: Final = SessionReport()


@dataclass(slots=True, eq=False)
class Session:
    """A session is the traffic of one client, with its specification and its counts so far."""

    spec: SessionSpec
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    in_flight: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """By the names in COUNTS."""
    errors: Counter[str] = field(default_factory=Counter)
    when_idle: list[Callable[[], None]] = field(default_factory=list)
    page_record: str | None = None
    """Record id of the capture of `page_url`; derived records are concurrent to it."""
    page_date: Micros | None = None
    """Date of that capture, which derived records have too."""
    exchanges: ExchangeList = field(default_factory=ExchangeList)
    """The exchanges that have ended, of a session with a page id."""
    broken_handshakes: dict[str, int] = field(default_factory=dict)
    """The hosts with which the client's last TLS handshake failed, and how often in a row. A refusal counts twice."""
    past: SessionReport = NO_REPORT
    """The counts of the processes that served this session before."""
    request_json: dict[str, Any] = field(default_factory=dict)
    """The JSON object of the control request that made the session, with all changes since."""
    cached_policy: tuple[SessionSpec, bool, Policy] | None = None
    """The policy for all URLs of this spec, and whether it archives (see `policy_builder`)."""
    typed_secrets: TypedSecrets | None = None
    """The secrets that a person has typed; None until there is one."""
    scripts: SessionScripts | None = None
    """The loaded scripts of the session; None without scripts."""

    @property
    def keeps(self) -> bool:
        """Return whether the session's exchanges are kept in WARC files."""
        return self.spec.mode in ("record", "patch")

    def check_keeps(self) -> None:
        """Raise Refused (403) for a record that is handed in to a session which keeps none."""
        if not self.keeps:
            raise Refused(403, f"a session with mode {self.spec.mode} keeps no records; record and patch do", "control")

    def began(self) -> None:
        """Note that an exchange has begun."""
        self.in_flight += 1

    def ended(self) -> None:
        """Note that an exchange is over and kept, or lost."""
        self.in_flight -= 1
        if self.in_flight == 0:
            waiting, self.when_idle = self.when_idle, []
            for done in waiting:
                done()

    @property
    def is_of_page(self) -> bool:
        """Return whether the session has the requests of one page, so that its clients are browsers."""
        return self.spec.page_id is not None

    def note(self, outcome: Kept | Lost, url: str, exchange: Exchange, size: int) -> None:
        """Count an exchange with a response of `size` bytes, and its outcome. `url` is the one that was asked for."""
        self.counts["urls"] += 1
        self.counts["bytes"] += size
        if self.spec.page_id is not None:
            self.exchanges.add(listed(exchange, outcome, size))
        if isinstance(outcome, Lost):
            self.counts["failed"] += 1
            self.errors["not-kept"] += 1
            return
        self.counts["revisits" if outcome.is_revisit else "novel" if outcome.capture else "unkept"] += 1
        if url == self.spec.page_url and outcome.capture is not None:
            self.page_record, self.page_date = outcome.capture.record_id, outcome.capture.date

    def note_relayed(self, method: str, url: str, status: int, size: int) -> None:
        """Count an exchange with a response of `size` bytes, which was not to be kept."""
        self.counts.update(urls=1, relayed=1, bytes=size)
        if self.spec.page_id is not None:
            self.exchanges.add(EndedExchange(method, url, status, ExchangeEnd.RELAYED, size=size))

    def note_failure(self, method: str, url: str, code: int, reason: str) -> None:
        """Count an exchange without a response, for the reason with that Heritrix code and word."""
        self.counts["urls"] += 1
        self.counts["failed"] += 1
        self.errors[str(code)] += 1
        if self.spec.page_id is not None:
            self.exchanges.add(EndedExchange(method, url, code, ExchangeEnd.FAILED, reason=reason))

    def note_handshake(self, host: str, failure: str = "") -> None:
        """Note the end of a TLS handshake with the client, which asked for `host`. A good one has no `failure`."""
        if not failure:
            self.broken_handshakes.pop(host, None)
        elif host in self.broken_handshakes or len(self.broken_handshakes) < MOST_UNTRUSTING:
            before = self.broken_handshakes.get(host, 0)
            self.broken_handshakes[host] = before + (_BREAKS if "certificate" in failure else 1)

    def report(self) -> SessionReport:
        """Return the counts of this process and of those before it, added up."""
        return SessionReport(
            counts={name: self.counts[name] + self.past.counts.get(name, 0) for name in COUNTS},
            errors=self.errors + Counter(self.past.errors),
            in_flight=self.in_flight + self.past.in_flight,
            page_record=self.page_record or self.past.page_record,
            page_date=self.page_date if self.page_record else self.past.page_date,
            user_agent=self.spec.user_agent,
            exchanges=self.past.exchanges.joined(self.exchanges),
            untrusted=tuple(host for host, breaks in self.broken_handshakes.items() if breaks >= _BREAKS),
        )

    async def until_idle(self, seconds: float) -> bool:
        """Wait until this process has no exchange of the session in progress. Return False when that takes too long."""
        if self.in_flight:
            idle = asyncio.Event()
            self.when_idle.append(idle.set)
            with suppress(TimeoutError):
                await asyncio.wait_for(idle.wait(), seconds)
        return not self.in_flight
