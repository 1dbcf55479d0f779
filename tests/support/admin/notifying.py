"""Users who subscribe, changes that notify, and a sender: what tests of notifications do again and again."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from sqlalchemy import select

from admin.models.database import Database
from admin.models.people_tables import Notification, Role, User
from admin.models.transaction import COMMAND_LINE, SCHEDULER, Actor, Door
from admin.notifications.events import Event
from admin.notifications.outbox import notify
from admin.notifications.sender import Sender
from admin.notifications.subscriptions import NewSubscription, SubscriptionView, subscribe


class Notifying:
    """The database of a test with its sender."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def __enter__(self) -> Self:
        self.sender = Sender(self.database)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.sender.close()

    def person(self, name: str, role: Role = Role.CURATOR, email: str | None = None) -> Actor:
        """Add a user with an e-mail address of that name."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            user = User(
                name=name,
                full_name=name,
                email=f"{name}@example.org" if email is None else email,
                role=role,
                is_active=True,
                zone="UTC",
                created=transaction.now,
            )
            transaction.session.add(user)
            transaction.session.flush()
            return Actor(name, role, Door.WEB, user_id=user.id)

    def subscribe(self, actor: Actor, event: str = "job.failed", **values: Any) -> SubscriptionView:
        """Subscribe a user."""
        with self.database.transaction(actor) as transaction:
            return subscribe(transaction, NewSubscription(event=event, **values))

    def hear(self, actor: Actor, *targets: str, event: str = "job.failed") -> None:
        """Subscribe a user by webhooks."""
        for target in targets:
            self.subscribe(actor, event, way="webhook", target=target)

    def happens(self, subject: str = "Job 7 failed", event: Event = Event.JOB_FAILED, **values: Any) -> int:
        """Let something happen of which subscribers are told."""
        with self.database.transaction(SCHEDULER) as transaction:
            return notify(transaction, event, subject, {"reason": "no space"}, **values)

    def send(self) -> int:
        """Send what is due, and wait for the end."""
        number = self.sender.look()
        assert self.sender.wait(60)
        return number

    def rows(self) -> Sequence[Notification]:
        """The messages of the outbox, the oldest first."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            return transaction.session.scalars(select(Notification).order_by(Notification.id)).all()
