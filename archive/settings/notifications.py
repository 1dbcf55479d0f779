"""The section `[notifications]` says how e-mail and webhooks are sent."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from archive.settings.values.base import Section

type SmtpSecurity = Literal["starttls", "tls", "none"]


class NotificationSettings(Section):
    """These settings control the mail server, the webhooks, and how often a message is tried."""

    smtp_host: str = Field("", description="mail server that takes our e-mail; empty sends none")
    smtp_port: int = Field(587, ge=1, le=65535, description="port of the mail server")
    smtp_security: SmtpSecurity = Field(
        "starttls", description="starttls (port 587), tls from the first byte (port 465), or none (port 25)"
    )
    smtp_ca: str = Field("", description="PEM file of the authority of the mail server; empty is the system's")
    smtp_user: str = Field("", description="user at the mail server; empty logs in as nobody")
    smtp_password: str = Field("", description="password of that user; better from the environment or a file")
    smtp_password_file: str = Field("", description="file that holds the password of that user")
    sender: str = Field("", description="address that e-mail is from, such as ghostfleet@example.org")
    webhook_allow_private: bool = Field(
        False, description="send webhooks to loopback, private and link-local addresses, and without TLS"
    )
    timeout_seconds: float = Field(10, gt=0, le=120, description="longest wait for a mail server or a webhook's server")
    most_per_hour: int = Field(
        20, ge=1, le=10_000, description="most single e-mails to one user in an hour; the others come as one digest"
    )
    keep_seconds: int = Field(
        2_592_000, ge=3600, description="how long a message that was sent or given up is kept in the list"
    )

    @field_validator("smtp_host", "sender")
    @classmethod
    def _is_one_line(cls, text: str) -> str:
        if any(character.isspace() or not character.isprintable() for character in text):
            raise ValueError("remove the spaces and line ends")
        return text
