"""The sender takes messages from the outbox and sends them. Several senders may run; no message is sent by two of them.

A message is claimed in one transaction, sent without any, and marked in another one. Its claim has an end, which each
attempt moves on. This happens when a sender is killed:

| killed | what follows |
|---|---|
| between claim and delivery | the claim ends, and another sender sends the message |
| between delivery and mark | the claim ends, and the message is sent a second time, with the same id |

The same follows when the database goes away before the mark. A webhook's receiver knows a repeated message by
`webhook-id`. An e-mail has the same Message-ID, by which many mail servers drop the second one. A message is therefore
sent at least once, and twice only after a kill.

Messages of one lane need the same server: the mail server, or the URL of a webhook. They are sent one after another.
A lane that fails rests until its next attempt. Lanes that failed get at most half of the threads, so that dead servers,
however many, never hold up the others.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Final

from sqlalchemy import delete, func, select, update

from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.models.people_tables import Notification, Role, User
from admin.models.transaction import Actor, Door, Transaction
from admin.notifications.events import Event
from admin.notifications.mail import MailServer
from admin.notifications.message import MOST_IN_DIGEST, OutgoingMessage, webhook_body
from admin.notifications.outbox import MAIL_LANE
from admin.notifications.retries import HOUR, RETRY_SECONDS, SECOND, digest_key, next_attempt
from admin.notifications.subscriptions import Way
from admin.notifications.webhook import DeliveryAttempt, post
from admin.notifications.webhook_keys import signing_secrets
from archive.dates import Micros
from archive.settings.notifications import NotificationSettings

log = logging.getLogger(__name__)

BATCH: Final = 20
"""Messages of one lane that are claimed together."""
_LANES: Final = 500
"""Lanes that are looked at together."""
_REMEMBERED_LANES: Final = 10_000
_DELETED_AT_ONCE: Final = 10_000
_STEPS_OF_MAIL: Final = 12
"""Answers of a mail server within one delivery, each of which may take `timeout_seconds`."""
_SENDER: Final = Actor("notifications", Role.ADMINISTRATOR, Door.SCHEDULER)


class Sender:
    """A sender sends what waits in the outbox. `look` begins deliveries, `wait` waits for their ends."""

    def __init__(self, database: Database, settings: NotificationSettings | None = None, threads: int = 8) -> None:
        self._database = database
        self._settings = settings or database.settings.notifications
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "notifications")
        self._lock = threading.Lock()
        self._busy: dict[str, Future[None]] = {}
        self._failing: OrderedDict[str, Micros] = OrderedDict()
        """Lanes whose last attempt failed, with the moment of the next one."""
        self._cleaned: Micros = 0
        self.lease = int((_STEPS_OF_MAIL * self._settings.timeout_seconds + 60) * SECOND)
        """How long a claim lasts from the last attempt on; longer than any attempt takes."""

    def look(self) -> int:
        """Claim messages that are due, and begin to send them. Return how many were taken up; 0 is nothing to do.

        Raises DatabaseRefused.
        """
        with self._lock:
            self._busy = {lane: future for lane, future in self._busy.items() if not future.done()}
            with self._database.transaction(_SENDER) as transaction:
                self._clean(transaction)
                claimed = [(lane, *self._claim(transaction, lane)) for lane in self._lanes(transaction)]
            for lane, claim, deliveries, _ in claimed:
                if deliveries:
                    self._busy[lane] = self._pool.submit(self._send, lane, claim, deliveries)
        return sum(taken for _, _, _, taken in claimed)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until everything that `look` began has ended. Return whether it has."""
        with self._lock:
            futures = list(self._busy.values())
        return not wait(futures, seconds).not_done

    def close(self) -> None:
        """Wait for deliveries under way. What was claimed and not begun is given back."""
        self._pool.shutdown()

    def _lanes(self, transaction: Transaction) -> list[str]:
        """Return the lanes to send now. A lane that rests is put off together with its messages."""
        now = transaction.now
        free = self._threads - len(self._busy)
        if free <= 0:
            return []
        due = transaction.session.scalars(
            select(Notification.lane)
            .where(Notification.due <= now)
            .group_by(Notification.lane)
            .order_by(func.min(Notification.due), Notification.lane)
            .limit(_LANES)
        ).all()
        healthy: list[str] = []
        failing: list[str] = []
        for lane in due:
            again = self._failing.get(lane)
            if lane in self._busy:
                continue
            if again is None:
                healthy.append(lane)
            elif again > now:
                _put_off(transaction, lane, again)
            else:
                failing.append(lane)
        for_failing = max(0, self._threads // 2 - sum(lane in self._failing for lane in self._busy))
        chosen = healthy[:free]
        return chosen + failing[: min(for_failing, free - len(chosen))]

    def _claim(self, transaction: Transaction, lane: str) -> tuple[str, list[list[OutgoingMessage]], int]:
        """Claim messages of a lane. Return the claim's token, the deliveries (one message each, or a digest), and how
        many messages were looked at.
        """
        claim = secrets.token_hex(16)
        rows = self._due(transaction, Notification.lane == lane, BATCH)
        deliveries: list[list[OutgoingMessage]] = []
        digests: set[str] = set()
        singles: dict[int, int] = {}
        for row in rows:
            if row.digest is not None:
                digests.add(row.digest)
            elif self._is_flood(transaction, row, singles):
                row.digest, row.due = digest_key(row.user_id, transaction.now)
            else:
                deliveries.append([self._claimed(transaction, row, claim)])
        for digest in sorted(digests):
            all_of_it = self._due(transaction, Notification.digest == digest, MOST_IN_DIGEST)
            by_target: dict[str, list[OutgoingMessage]] = {}
            for row in all_of_it:
                by_target.setdefault(row.target, []).append(self._claimed(transaction, row, claim))
            deliveries += by_target.values()
        return claim, deliveries, len(rows)

    def _due(self, transaction: Transaction, which: object, most: int) -> Sequence[Notification]:
        return transaction.session.scalars(
            select(Notification)
            .where(which, Notification.due <= transaction.now)  # type: ignore[arg-type]
            .order_by(Notification.due, Notification.id)
            .limit(most)
            .with_for_update(skip_locked=True)
        ).all()

    def _claimed(self, transaction: Transaction, row: Notification, claim: str) -> OutgoingMessage:
        row.claim = claim
        row.due = transaction.now + self.lease
        is_webhook = row.way == Way.WEBHOOK
        return OutgoingMessage(
            id=row.id,
            message_id=row.message_id,
            user_id=row.user_id,
            event=row.event,
            target=row.target,
            subject=row.subject,
            body=row.body,
            created=row.created,
            attempts=row.attempts,
            digest=row.digest,
            secrets=signing_secrets(transaction, row.user_id, row.target) if is_webhook else (),
            site_url=transaction.settings.admin.public_url,
        )

    def _is_flood(self, transaction: Transaction, row: Notification, singles: dict[int, int]) -> bool:
        """Return whether the user had as many single e-mails within an hour as the settings allow."""
        if row.way != Way.EMAIL or row.event in (Event.TEST, Event.LETTER) or row.attempts:
            return False
        if row.user_id not in singles:
            recent = (
                select(Notification.id)
                .where(
                    Notification.user_id == row.user_id,
                    Notification.created > transaction.now - 2 * HOUR,
                    Notification.sent > transaction.now - HOUR,
                    Notification.way == Way.EMAIL,
                    Notification.digest.is_(None),
                )
                .limit(self._settings.most_per_hour)
            )
            singles[row.user_id] = len(transaction.session.scalars(recent).all())
        singles[row.user_id] += 1
        return singles[row.user_id] > self._settings.most_per_hour

    def _send(self, lane: str, claim: str, deliveries: list[list[OutgoingMessage]]) -> None:
        """Send the deliveries of a lane, one after another, until the server itself fails."""
        try:
            with MailServer(self._settings) as server:
                for at, messages in enumerate(deliveries):
                    begun = self._begin(claim, messages)
                    if not begun:
                        continue
                    again = self._finish(claim, begun, self._deliver(server, lane, begun))
                    if again is not None:
                        self._rest(lane, claim, again, deliveries[at + 1 :])
                        return
            self._failing.pop(lane, None)
        except DatabaseRefused as error:
            log.warning("notifications wait until the database is back: %s", error)
        except Exception:
            log.exception("notifications to %s could not be sent; they are tried again", lane[:100])

    def _deliver(self, server: MailServer, lane: str, messages: Sequence[OutgoingMessage]) -> DeliveryAttempt:
        try:
            return self._delivered(server, lane, messages)
        except Exception as error:  # an attempt like any other: it is repeated, and has an end
            log.exception("message %s can't be sent", messages[0].message_id)
            return DeliveryAttempt(False, f"{type(error).__name__}: {error}"[:300])

    def _delivered(self, server: MailServer, lane: str, messages: Sequence[OutgoingMessage]) -> DeliveryAttempt:
        now = self._database.clock()
        if lane == MAIL_LANE:
            return server.send(messages, now)
        (message,) = messages
        return post(
            message.target,
            webhook_body(message),
            message.secrets,
            message.message_id,
            now // SECOND,
            seconds=self._settings.timeout_seconds,
            allow_private=self._settings.webhook_allow_private,
        )

    def _begin(self, claim: str, messages: Sequence[OutgoingMessage]) -> list[OutgoingMessage]:
        """Count an attempt, and let the claim last for it. Return those messages whose claim is still ours.

        Messages to a user who was deactivated since are given up.
        """
        with self._database.transaction(_SENDER) as transaction:
            user = transaction.session.get(User, messages[0].user_id)
            if user is None or not user.is_active:
                _mark(transaction, claim, messages, given_up=transaction.now, error="the user was deactivated")
                return []
            kept = transaction.session.scalars(
                update(Notification)
                .where(Notification.id.in_([each.id for each in messages]), Notification.claim == claim)
                .values(due=transaction.now + self.lease, attempts=Notification.attempts + 1)
                .returning(Notification.id)
            ).all()
        still = frozenset(kept)
        return [replace(each, attempts=each.attempts + 1) for each in messages if each.id in still]

    def _finish(self, claim: str, messages: Sequence[OutgoingMessage], delivery: DeliveryAttempt) -> Micros | None:
        """Note what became of a delivery. Return the lane's next attempt when the server itself failed."""
        with self._database.transaction(_SENDER) as transaction:
            now = transaction.now
            if delivery.is_done:
                _mark(transaction, claim, messages, sent=now)
                return None
            latest: Micros | None = None
            for message in messages:
                again = (
                    None
                    if delivery.is_final
                    else next_attempt(message.created, message.attempts, now, delivery.retry_after)
                )
                if again is None:
                    _mark(transaction, claim, [message], given_up=now, error=delivery.error)
                    log.warning("message %s is given up: %s", message.message_id, delivery.error)
                else:
                    _mark(transaction, claim, [message], due=again, error=delivery.error)
                latest = max(latest or 0, again or now + RETRY_SECONDS * SECOND)
            return latest if delivery.blames_server else None

    def _rest(self, lane: str, claim: str, again: Micros, rest: Sequence[Sequence[OutgoingMessage]]) -> None:
        """Let a lane rest until its next attempt, with all its messages."""
        self._failing[lane] = again
        self._failing.move_to_end(lane)
        while len(self._failing) > _REMEMBERED_LANES:
            self._failing.popitem(last=False)
        with self._database.transaction(_SENDER) as transaction:
            for messages in rest:
                _mark(transaction, claim, messages, due=again)
            _put_off(transaction, lane, again)

    def _clean(self, transaction: Transaction) -> None:
        """Remove old messages from the list, once an hour."""
        if transaction.now - self._cleaned < HOUR:
            return
        self._cleaned = transaction.now
        old = (
            select(Notification.id)
            .where(Notification.due.is_(None), Notification.created < transaction.now - self._kept)
            .limit(_DELETED_AT_ONCE)
        )
        transaction.session.execute(delete(Notification).where(Notification.id.in_(old.scalar_subquery())))

    @property
    def _kept(self) -> Micros:
        return self._settings.keep_seconds * SECOND


def _mark(
    transaction: Transaction,
    claim: str,
    messages: Sequence[OutgoingMessage],
    *,
    due: Micros | None = None,
    sent: Micros | None = None,
    given_up: Micros | None = None,
    error: str = "",
) -> None:
    """Write what became of messages, as far as their claim is still ours, and end the claim."""
    transaction.session.execute(
        update(Notification)
        .where(Notification.id.in_([each.id for each in messages]), Notification.claim == claim)
        .values(claim=None, due=due, sent=sent, given_up=given_up, error=error)
    )


def _put_off(transaction: Transaction, lane: str, until: Micros) -> None:
    """Put off all messages of a lane that nobody has claimed."""
    transaction.session.execute(
        update(Notification)
        .where(Notification.lane == lane, Notification.due < until, Notification.claim.is_(None))
        .values(due=until)
    )
