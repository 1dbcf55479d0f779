"""Messages become texts here: the JSON of a webhook, an e-mail, and the digest of an hour."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any, Final

from admin.notifications.events import EVENTS, Event, Severity
from archive.dates import Micros, iso_second
from archive.settings.notifications import NotificationSettings

MOST_IN_DIGEST: Final = 500
_SHOWN_IN_DIGEST: Final = 200
_PRODUCT: Final = "Ghostfleet"


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """The message is a row of the outbox as it is sent."""

    id: int
    message_id: str
    user_id: int
    event: str
    target: str
    subject: str
    body: Mapping[str, Any]
    created: Micros
    attempts: int
    digest: str | None
    secrets: tuple[str, ...] = ()
    """The keys of a webhook, the present one first."""
    site_url: str = ""
    """The address of the admin site; empty when it is not set."""

    @property
    def link(self) -> str:
        """Return the address of the job's page, or of the site; empty when the site's address is not set."""
        job_id = self.body.get("job_id")
        return f"{self.site_url}/jobs/{job_id}" if self.site_url and job_id is not None else self.site_url


def webhook_body(message: OutgoingMessage) -> bytes:
    """Return the JSON of a webhook: type, timestamp and data, as Standard Webhooks recommends."""
    content = {
        "type": message.event,
        "timestamp": iso_second(message.created),
        "data": {
            "subject": message.subject,
            "severity": severity_of(message.event),
            "harvest_id": message.body.get("harvest_id"),
            "job_id": message.body.get("job_id"),
            "facts": message.body.get("facts", {}),
            "url": message.link or None,
        },
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def mail_of(messages: Sequence[OutgoingMessage], now: Micros, settings: NotificationSettings) -> EmailMessage:
    """Return the e-mail of one message, or of a digest.

    Raises ValueError for an address with a line end: `EmailMessage` refuses to make two headers of one.
    """
    first = messages[0]
    mail = EmailMessage()
    mail["From"] = settings.sender
    mail["To"] = first.target
    mail["Date"] = format_datetime(datetime.fromtimestamp(now / 1_000_000, UTC))
    mail["Message-ID"] = f"<{first.message_id}@{settings.sender.rpartition('@')[2] or 'localhost'}>"
    if first.event != Event.LETTER:
        mail["Auto-Submitted"] = "auto-generated"
    if first.event == Event.LETTER:
        mail["Subject"] = first.subject
        mail.set_content(str(first.body.get("letter", "")))
    elif len(messages) == 1 and first.digest is None:
        mail["Subject"] = f"[{_PRODUCT}] {first.subject}"
        mail.set_content(_text(first))
    else:
        count = f"{len(messages)} message{'s' if len(messages) != 1 else ''}"
        mail["Subject"] = f"[{_PRODUCT}] {count} of the last hour"
        mail.set_content(_digest(messages))
    return mail


def severity_of(event: str) -> str:
    """Return the severity of an event; "info" for one that this version no longer has."""
    return EVENTS[event].severity if event in EVENTS else Severity.INFO


def _text(message: OutgoingMessage) -> str:
    lines = [message.subject, "", f"Event: {message.event} ({severity_of(message.event)})"]
    lines.append(f"Time: {iso_second(message.created)}")
    lines += [f"{name}: {_indented(value)}" for name, value in message.body.get("facts", {}).items()]
    if message.link:
        lines += ["", message.link]
    return "\n".join([*lines, "", *_foot(message.site_url)])


def _digest(messages: Sequence[OutgoingMessage]) -> str:
    counts: dict[str, int] = {}
    for message in messages:
        counts[message.event] = counts.get(message.event, 0) + 1
    lines = [f"{count:>5}  {event} ({severity_of(event)})" for event, count in sorted(counts.items())]
    lines.append("")
    lines += [f"{iso_second(each.created)}  {each.event}  {each.subject}" for each in messages[:_SHOWN_IN_DIGEST]]
    if len(messages) > _SHOWN_IN_DIGEST:
        lines.append(f"… and {len(messages) - _SHOWN_IN_DIGEST} more")
    return "\n".join([*lines, "", *_foot(messages[0].site_url)])


def _foot(site_url: str) -> list[str]:
    where = f" at {site_url}" if site_url else ""
    return ["-- ", f"{_PRODUCT} sent this because you subscribed to it. Your profile{where} has your subscriptions."]


def _indented(value: object) -> str:
    return str(value).replace("\n", "\n    ")
