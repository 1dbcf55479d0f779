"""The outbox holds messages that wait to be sent, and for a while those that were sent or given up."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import Field
from sqlalchemy import insert, or_, select

from admin.models.operation import OutputModel, Page
from admin.models.people_tables import Notification, Subscription, User
from admin.models.plain_text import comparable
from admin.models.transaction import Right, Transaction
from admin.notifications.events import Event
from admin.notifications.retries import digest_key
from admin.notifications.subscriptions import Way, find
from archive.dates import Micros

MAIL_LANE: Final = "smtp"
_LONGEST_SUBJECT: Final = 300
_LONGEST_FACT: Final = 2000
_MOST_FACTS: Final = 50


class MessageView(OutputModel):
    """The user sees this of a message."""

    id: int
    event: str
    way: Way
    target: str
    subject: str
    created: Micros
    due: Micros | None
    attempts: int
    sent: Micros | None
    given_up: Micros | None
    error: str


def notify(
    transaction: Transaction,
    event: Event,
    subject: str,
    facts: Mapping[str, Any] | None = None,
    *,
    harvest_id: int | None = None,
    job_id: int | None = None,
) -> int:
    """Put a message into the outbox for everybody who subscribed. Return the number of messages.

    The messages are kept or undone together with the change that the caller makes. One user gets one message by each
    way and target, even with a subscription to the harvest and another one to all harvests.
    """
    wanted = (
        select(Subscription, User.email)
        .join(User, User.id == Subscription.user_id)
        .where(Subscription.event == event.value, User.is_active)
        .order_by(Subscription.id)
    )
    if harvest_id is None:
        wanted = wanted.where(Subscription.harvest_id.is_(None))
    else:
        wanted = wanted.where(or_(Subscription.harvest_id.is_(None), Subscription.harvest_id == harvest_id))
    is_digest: dict[tuple[int, str, str], bool] = {}
    for row, email in transaction.session.execute(wanted):
        target = email if row.way == Way.EMAIL else row.target
        if target:
            key = (row.user_id, row.way, target)
            is_digest[key] = is_digest.get(key, True) and row.is_digest
    body = {"facts": _bounded(facts or {}), "harvest_id": harvest_id, "job_id": job_id}
    rows = [
        _row(transaction, event, subject, body, user_id, Way(way), target, digest)
        for (user_id, way, target), digest in is_digest.items()
    ]
    if rows:
        transaction.session.execute(insert(Notification), rows)
    return len(rows)


def send_test(transaction: Transaction, id: int) -> None:
    """Put a test message for one of the actor's own subscriptions into the outbox."""
    subscription = find(transaction, id)
    user = transaction.session.get_one(User, subscription.user_id)
    way = Way(subscription.way)
    body: dict[str, Any] = {"facts": {"asked for by": user.name}, "harvest_id": None, "job_id": None}
    target = user.email if way is Way.EMAIL else subscription.target
    row = _row(transaction, Event.TEST, "This is a test message", body, user.id, way, target, False)
    transaction.session.execute(insert(Notification), [row])
    transaction.audit("subscription.test", "subscription", subscription.id, subscription.event)


def send_letter(transaction: Transaction, to: str, subject: str, text: str) -> None:
    """Put a letter of the actor, who is a user, to somebody outside into the outbox."""
    user_id = transaction.actor.user_id
    assert user_id is not None
    body: dict[str, Any] = {"facts": {}, "letter": _plain(text), "harvest_id": None, "job_id": None}
    row = _row(transaction, Event.LETTER, subject, body, user_id, Way.EMAIL, to, False)
    transaction.session.execute(insert(Notification), [row])


def list_messages(
    transaction: Transaction, user: str | None = None, after: int = 0, limit: Annotated[int, Field(ge=1, le=500)] = 100
) -> Page[MessageView]:
    """Return messages to the actor, the newest first; administrators name another user."""
    transaction.require(Right.READ)
    if user is not None and user != transaction.actor.name:
        transaction.require(Right.ADMINISTER)
    name = transaction.actor.name if user is None else comparable(user)
    wanted = (
        select(Notification)
        .join(User, User.id == Notification.user_id)
        .where(User.name == name)
        .order_by(Notification.id.desc())
        .limit(limit + 1)
    )
    if after > 0:
        wanted = wanted.where(Notification.id < min(after, 2**63 - 1))
    rows = transaction.session.scalars(wanted).all()
    return Page(
        items=[MessageView.model_validate(row) for row in rows[:limit]],
        next=str(rows[limit - 1].id) if len(rows) > limit else None,
    )


def one_line(text: str, longest: int) -> str:
    """Return the text on one line, cut, and without characters that nobody sees."""
    plain = "".join(each if each.isprintable() else " " for each in text[: longest * 2])
    words = " ".join(plain.split())
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def _row(
    transaction: Transaction,
    event: Event,
    subject: str,
    body: Mapping[str, Any],
    user_id: int,
    way: Way,
    target: str,
    is_digest: bool,
) -> dict[str, Any]:
    digest, due = digest_key(user_id, transaction.now) if is_digest else (None, transaction.now)
    return {
        "message_id": f"msg_{secrets.token_hex(16)}",
        "user_id": user_id,
        "event": event.value,
        "way": way.value,
        "target": target,
        "lane": MAIL_LANE if way is Way.EMAIL else target,
        "subject": one_line(subject, _LONGEST_SUBJECT),
        "body": dict(body),
        "created": transaction.now,
        "due": due,
        "digest": digest,
        "attempts": 0,
        "error": "",
    }


def _bounded(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts as a message can hold them: few, flat and short."""
    kept: dict[str, Any] = {}
    for name, value in list(facts.items())[:_MOST_FACTS]:
        plain = value if isinstance(value, int | float | None) else _text(str(value))
        kept[one_line(name, 100)] = plain
    return kept


def _text(value: str) -> str:
    """Return a text of several lines, cut, and without characters that databases and mail programs refuse."""
    return _plain(value[:_LONGEST_FACT])


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() or each in "\n\t" else " " for each in text)
