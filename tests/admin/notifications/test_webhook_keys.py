"""admin/notifications/webhook_keys.py: a new key signs at once, and for a day the old one signs too."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from support.admin.harvest_database import DAY, MovableClock
from support.admin.notifying import Notifying
from support.web.webhook_receiver import Received, WebhookReceiver

from admin.models.errors import Forbidden
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from admin.notifications.subscriptions import list_subscriptions
from admin.notifications.webhook_keys import KeyRotation, rotate_key


def verifies(request: Received, secret: str | None) -> bool:
    """Whether a receiver that has this key takes the request, after the specification of Standard Webhooks."""
    assert secret is not None
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    made = f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"
    return made in request.headers["webhook-signature"].split(" ")


def test_for_a_day_messages_are_signed_with_both_keys(
    site: Notifying, hook: WebhookReceiver, clock: MovableClock
) -> None:
    anna = site.person("anna")
    old = site.subscribe(anna, way="webhook", target=hook.url()).secret
    with site.database.transaction(COMMAND_LINE) as transaction:
        assert rotate_key(transaction, KeyRotation()).old_key_signs_until == clock() + DAY
    with site.database.transaction(anna) as transaction:
        (view,) = list_subscriptions(transaction).items
    assert view.secret != old
    for moved, old_is_good in ((0, True), (DAY - 1, True), (1, False)):
        clock.move(moved)
        site.happens()
        site.send()
        assert verifies(hook.received[-1], view.secret)
        assert verifies(hook.received[-1], old) is old_is_good


def test_a_stolen_key_signs_nothing_from_the_rotation_on(sqlite_site: Notifying, hook: WebhookReceiver) -> None:
    anna = sqlite_site.person("anna")
    old = sqlite_site.subscribe(anna, way="webhook", target=hook.url()).secret
    for at_once in (False, True):
        with sqlite_site.database.transaction(COMMAND_LINE) as transaction:
            rotate_key(transaction, KeyRotation(at_once=at_once))
    sqlite_site.happens()
    sqlite_site.send()
    assert not verifies(hook.received[0], old)
    assert len(hook.received[0].headers["webhook-signature"].split(" ")) == 1
    with sqlite_site.database.transaction(anna) as transaction, pytest.raises(Forbidden):
        rotate_key(transaction, KeyRotation())
    assert anna.role == Role.CURATOR
