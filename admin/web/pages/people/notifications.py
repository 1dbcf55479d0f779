"""Everybody chooses here of which events to hear, by e-mail or by a webhook, and sees the messages of late."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint
from pydantic import Field
from werkzeug.wrappers import Response

from admin.models.operation import InputModel
from admin.models.transaction import Right
from admin.notifications import outbox, subscriptions
from admin.notifications.subscriptions import NewSubscription, SubscriptionView, Way
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, reading, transaction

BLUEPRINT: Final = Blueprint("notifications", __name__, url_prefix="/notifications")
_NUMBER: Final = "<int(max=9223372036854775807):number>"
_MESSAGES: Final = 20


class Wishes(InputModel):
    """The input names several events, of which a person wants to hear in the same way."""

    event: tuple[str, ...] = Field(min_length=1, max_length=100)
    harvest: str = ""
    way: Way = Way.EMAIL
    target: str = ""
    is_digest: bool = False


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show the own subscriptions, and add some."""
    values = {"event": [], "harvest": "", "way": Way.EMAIL, "target": "", "is_digest": False}
    form = Form(values, lists=("event",), switches=("is_digest",))
    if form.is_sent:
        made = form.run(_subscribe, Wishes, _given)
        if made is not None:
            return done(f"You hear of {len(made)} events now.", "profile.notifications.index")
    with reading() as opened:
        found = subscriptions.list_subscriptions(opened)
        events = subscriptions.list_events(opened)
        messages = outbox.list_messages(opened, limit=_MESSAGES)
        email = subscriptions.own_user(opened).email
    return page(
        "profile/notifications.html",
        422 if form.has_problems else 200,
        subscriptions=found,
        events=events,
        messages=messages,
        email=email,
        form=form,
        ways=list(Way),
    )


@BLUEPRINT.post(f"/{_NUMBER}/<any(remove, test):action>", endpoint="act")
@needs(Right.READ)
def act(number: int, action: str) -> Response:
    """Remove one of the own subscriptions, or send a test message to it."""
    with transaction() as opened:
        if action == "remove":
            subscriptions.unsubscribe(opened, number)
        else:
            outbox.send_test(opened, number)
    said = "The subscription was removed." if action == "remove" else "A test message waits to be sent."
    return done(said, "profile.notifications.index")


def _subscribe(given: Wishes) -> list[SubscriptionView]:
    """Subscribe to all the events, or to none when one of them can't be."""
    rest: dict[str, Any] = given.model_dump(exclude={"event", "harvest"})
    with transaction() as opened:
        return [
            subscriptions.subscribe(opened, NewSubscription(event=event, harvest=given.harvest or None, **rest))
            for event in given.event
        ]


def _given(sent: dict[str, Any]) -> dict[str, Any]:
    return {**sent, "harvest": str(sent.get("harvest", "")).strip(), "target": str(sent.get("target", "")).strip()}
