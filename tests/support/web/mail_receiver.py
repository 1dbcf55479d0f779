"""A real mail server on loopback, which keeps what it gets and refuses what a test says."""

from __future__ import annotations

import email
import email.policy
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from types import TracebackType
from typing import Any, Self, cast

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from support.processes.machine_needs import free_port


@dataclass
class MailReceiver:
    """Runs from `with` to its end."""

    tls: ssl.SSLContext | None = None
    login: tuple[str, str] | None = None
    refuse: Callable[[str], str | None] = field(default=lambda address: None)
    """What is answered to a recipient that is refused; None takes the recipient."""
    mails: list[EmailMessage] = field(default_factory=list)
    sessions: int = 0

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any) -> str:
        if refusal := self.refuse(address):
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        self.mails.append(cast(EmailMessage, email.message_from_bytes(envelope.content, policy=email.policy.default)))
        return "250 OK"

    async def handle_EHLO(self, server: SMTP, session: Session, envelope: Envelope, name: str, lines: Any) -> Any:
        self.sessions += 1
        session.host_name = name
        return lines

    def _known(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword) -> Any:
        given = (data.login.decode(), data.password.decode())
        return AuthResult(success=given == self.login, handled=False)  # the server itself answers a failure

    def __enter__(self) -> Self:
        self.port = free_port()
        more: dict[str, Any] = {}
        if self.tls is not None:
            more |= {"tls_context": self.tls, "require_starttls": True}
        if self.login is not None:
            more |= {"authenticator": self._known, "auth_required": True}
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port, ready_timeout=120, **more)
        self._controller.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._controller.stop()

    def to(self, address: str) -> list[EmailMessage]:
        """The mails to one address."""
        return [mail for mail in self.mails if mail["To"] == address]
