"""These are the operations on notifications: events, the own subscriptions, and the list of messages."""

from __future__ import annotations

from typing import Final

from admin.models.operation import Operation
from admin.models.transaction import Right
from admin.notifications.outbox import MessageView, list_messages, send_test
from admin.notifications.subscriptions import (
    EventView,
    NewSubscription,
    SubscriptionView,
    list_events,
    list_subscriptions,
    subscribe,
    unsubscribe,
)
from admin.notifications.webhook_keys import KeyRotation, RotatedKey, rotate_key

_TAGS: Final = ("notifications",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "event.list", "GET", "/events", Right.READ, list_events, "List the events that can be subscribed to.",
        output=EventView, is_list=True, tags=_TAGS,
    ),
    Operation(
        "subscription.list", "GET", "/profile/subscriptions", Right.READ, list_subscriptions,
        "List the own subscriptions.", output=SubscriptionView, is_list=True, tags=_TAGS,
    ),
    Operation(
        "subscription.create", "POST", "/profile/subscriptions", Right.READ, subscribe,
        "Subscribe to an event by e-mail or, with the right to operate, by a webhook.",
        input=NewSubscription, output=SubscriptionView, status=201, tags=_TAGS,
    ),
    Operation(
        "subscription.remove", "DELETE", "/profile/subscriptions/{id}", Right.READ, unsubscribe,
        "Remove one of the own subscriptions.", status=204, tags=_TAGS,
    ),
    Operation(
        "subscription.test", "POST", "/profile/subscriptions/{id}/test", Right.READ, send_test,
        "Send a test message to a subscription.", status=204, tags=_TAGS,
    ),
    Operation(
        "message.list", "GET", "/messages", Right.READ, list_messages,
        "List messages, the newest first: the own ones, or a user's for administrators.",
        output=MessageView, is_list=True, tags=_TAGS,
    ),
    Operation(
        "webhook-key.rotate", "POST", "/webhook-key/rotations", Right.ADMINISTER, rotate_key,
        "Replace the key by which messages to webhooks are signed.",
        input=KeyRotation, output=RotatedKey, tags=_TAGS,
    ),
)  # fmt: skip
