"""Users say of which events they want to hear, of one harvest or of all, and by which way."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import httpx
from sqlalchemy import select

from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem, UseCaseError
from admin.models.harvest_tables import Harvest
from admin.models.operation import InputModel, OutputModel, Page
from admin.models.people_tables import Subscription, User
from admin.models.plain_text import comparable
from admin.models.transaction import Right, Transaction
from admin.notifications.events import SUBSCRIBABLE, Severity
from admin.notifications.webhook_keys import installation_key, made_secret
from archive.settings.notifications import NotificationSettings

MOST_SUBSCRIPTIONS: Final = 500
"""Of one user."""
_LONGEST_TARGET: Final = 2000


class Way(StrEnum):
    """A message goes one of these ways."""

    EMAIL = "email"
    WEBHOOK = "webhook"


class EventView(OutputModel):
    """The event can be subscribed to."""

    event: str
    severity: Severity
    description: str


class NewSubscription(InputModel):
    """A user writes this to hear of an event."""

    event: str
    harvest: str | None = None
    """The name of a harvest; None is every harvest."""
    way: Way = Way.EMAIL
    target: str = ""
    """The URL of a webhook; empty for e-mail, which goes to the address of the profile."""
    is_digest: bool = False
    """E-mail of an hour comes as one message."""


class SubscriptionView(OutputModel):
    """The user sees this of a subscription."""

    id: int
    event: str
    harvest: str | None
    way: Way
    target: str
    is_digest: bool
    secret: str | None
    """The key by which messages to a webhook are signed, as libraries for Standard Webhooks take it."""


def list_events(transaction: Transaction) -> Page[EventView]:
    """Return the events that can be subscribed to."""
    transaction.require(Right.READ)
    events = SUBSCRIBABLE.values()
    views = [EventView(event=each.value, severity=each.severity, description=each.description) for each in events]
    return Page(items=views)


def subscribe(transaction: Transaction, given: NewSubscription) -> SubscriptionView:
    """Subscribe the actor to an event. A webhook takes the right to operate: this machine connects to its server."""
    transaction.require(Right.READ)
    user = own_user(transaction)
    if given.way is Way.WEBHOOK:
        transaction.require(Right.OPERATE)
    problems: list[Problem] = []
    if given.event not in SUBSCRIBABLE:
        problems.append(Problem("event", f"{given.event[:60]!r} is no event; the list of events has their names"))
    harvest = _harvest(transaction, given.harvest, problems)
    target = _target(given, user, transaction.settings.notifications, problems)
    if problems:
        raise InvalidInput(*problems)
    held = transaction.session.scalars(select(Subscription).where(Subscription.user_id == user.id)).all()
    harvest_id = harvest.id if harvest is not None else None
    for each in held:
        if (each.event, each.harvest_id, each.way, each.target) == (given.event, harvest_id, given.way, target):
            each.is_digest = given.is_digest
            return view(transaction, each, harvest.name if harvest else None)
    if len(held) >= MOST_SUBSCRIPTIONS:
        raise UseCaseError(f"you have {MOST_SUBSCRIPTIONS} subscriptions; remove one before you add another")
    row = Subscription(
        user_id=user.id,
        event=given.event,
        harvest_id=harvest_id,
        way=given.way,
        target=target,
        is_digest=given.is_digest,
    )
    transaction.session.add(row)
    transaction.session.flush()
    transaction.audit(
        "subscription.create",
        "subscription",
        row.id,
        given.event,
        new={"event": given.event, "harvest": given.harvest, "way": given.way, "host": _host(target)},
    )
    return view(transaction, row, harvest.name if harvest else None)


def unsubscribe(transaction: Transaction, id: int) -> None:
    """Remove one of the actor's own subscriptions."""
    row = find(transaction, id)
    transaction.session.delete(row)
    transaction.audit("subscription.remove", "subscription", id, row.event, old={"event": row.event, "way": row.way})


def list_subscriptions(transaction: Transaction) -> Page[SubscriptionView]:
    """Return the actor's own subscriptions."""
    transaction.require(Right.READ)
    rows = transaction.session.execute(
        select(Subscription, Harvest.name)
        .outerjoin(Harvest, Harvest.id == Subscription.harvest_id)
        .where(Subscription.user_id == own_user(transaction).id)
        .order_by(Subscription.id)
    )
    return Page(items=[view(transaction, row, name) for row, name in rows])


def find(transaction: Transaction, id: int) -> Subscription:
    """Return one of the actor's own subscriptions. Raises NotFound."""
    row = transaction.session.get(Subscription, id) if 0 < id < 2**63 else None
    if row is None or row.user_id != own_user(transaction).id:
        raise NotFound("subscription", id)
    return row


def own_user(transaction: Transaction) -> User:
    """Return the user who acts. Raises IllegalState for the scheduler and the command line."""
    user_id = transaction.actor.user_id
    user = transaction.session.get(User, user_id) if user_id is not None else None
    if user is None:
        raise IllegalState(f"{transaction.actor.name} is no user, and has no subscriptions; log in as a user")
    return user


def view(transaction: Transaction, row: Subscription, harvest: str | None) -> SubscriptionView:
    """Return a subscription as its user sees it, with the webhook's key."""
    is_webhook = row.way == Way.WEBHOOK
    return SubscriptionView(
        id=row.id,
        event=row.event,
        harvest=harvest,
        way=Way(row.way),
        target=row.target,
        is_digest=row.is_digest,
        secret=webhook_secret(transaction, row.user_id, row.target) if is_webhook else None,
    )


def webhook_secret(transaction: Transaction, user_id: int, target: str) -> str:
    """Return the key of one user's webhook. All are made from the installation's key, so that none has to be kept.

    Who receives one webhook can't sign messages to another.
    """
    return made_secret(installation_key(transaction), user_id, target)


def _harvest(transaction: Transaction, name: str | None, problems: list[Problem]) -> Harvest | None:
    if name is None:
        return None
    found = transaction.session.scalars(select(Harvest).where(Harvest.name == comparable(name))).one_or_none()
    if found is None:
        problems.append(Problem("harvest", f"there is no harvest {name[:60]!r}; leave it out for all harvests"))
    return found


def _target(given: NewSubscription, user: User, mail: NotificationSettings, problems: list[Problem]) -> str:
    if given.way is Way.EMAIL:
        if not (mail.smtp_host and mail.sender):
            problems.append(
                Problem("way", "this installation sends no e-mail; ask an administrator to set notifications.smtp_host")
            )
        if given.target:
            problems.append(Problem("target", "e-mail goes to the address of your profile; leave the target empty"))
        if not user.email:
            problems.append(Problem("way", "your profile has no e-mail address; write one there first"))
        return ""
    if given.is_digest:
        problems.append(Problem("is_digest", "a webhook gets each event by itself; choose e-mail for a digest"))
    try:
        return checked_url(given.target)
    except ValueError as error:
        problems.append(Problem("target", str(error)))
        return ""


def checked_url(text: str) -> str:
    """Return the URL of a webhook. Raises ValueError with the remedy."""
    if len(text) > _LONGEST_TARGET:
        raise ValueError(f"the URL has {len(text):,} characters; use at most {_LONGEST_TARGET}")
    if any(each.isspace() or not each.isprintable() for each in text):
        raise ValueError(f"{text[:60]!r} has spaces or characters that nobody sees; remove them")
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise ValueError(f"{text[:60]!r} is no URL: {error}") from None
    if url.scheme not in ("https", "http") or not url.host:
        raise ValueError(f"{text[:60]!r} is no web address; write it as https://example.org/path")
    if url.port is not None and not 0 < url.port < 65_536:
        raise ValueError(f"{text[:60]!r} is no URL: there is no port {url.port}")
    if url.userinfo:
        raise ValueError("the URL has a user or a password; leave them out, since messages are signed")
    return str(url.copy_with(fragment=None))


def _host(target: str) -> str:
    """Return the host of a webhook for the audit: the path may hold a key."""
    return httpx.URL(target).host if target else ""
