"""admin/notifications/subscriptions.py and outbox.py: who hears of what, and what is typed into the form."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import insert, select, text
from support.admin.harvest_database import HOUR, MovableClock
from support.admin.notifying import Notifying
from support.each_value import each_value
from support.web.mail_receiver import MailReceiver
from support.web.webhook_receiver import WebhookReceiver

from admin.models.database import Database
from admin.models.errors import Forbidden, IllegalState, InvalidInput, NotFound, UseCaseError
from admin.models.harvest_tables import Channel, Harvest, HarvestKind
from admin.models.people_tables import AuditEntry, Notification, Role
from admin.models.transaction import COMMAND_LINE, SCHEDULER, Actor
from admin.notifications import subscriptions
from admin.notifications.events import EVENTS, SUBSCRIBABLE, Event
from admin.notifications.operations import OPERATIONS
from admin.notifications.outbox import list_messages, notify, send_test
from admin.notifications.subscriptions import (
    list_events,
    list_subscriptions,
    unsubscribe,
)


def add_harvest(database: Database, name: str) -> int:
    with database.transaction(COMMAND_LINE) as transaction:
        channel = transaction.session.scalars(select(Channel)).first() or Channel(name="main", comments="")
        row = Harvest(
            name=name,
            kind=HarvestKind.SNAPSHOT,
            channel=channel,
            collection="default",
            created=transaction.now,
            created_by="anna",
        )
        transaction.session.add(row)
        transaction.session.flush()
        return row.id


def test_every_event_has_a_name_a_severity_and_a_description() -> None:
    assert len(EVENTS) == len(list(Event)) > 10
    for event in Event:
        assert event.description.endswith(".")
        assert EVENTS[str(event)] is event
    assert Event.TEST.value not in SUBSCRIBABLE


def test_a_subscription_to_a_harvest_hears_of_that_harvest_alone(site: Notifying, hook: WebhookReceiver) -> None:
    news, press = add_harvest(site.database, "news"), add_harvest(site.database, "press")
    anna, bert = site.person("anna"), site.person("bert")
    site.subscribe(anna, harvest="news", way="webhook", target=hook.url("/anna"))
    site.subscribe(bert, way="webhook", target=hook.url("/bert"))
    assert site.happens("of news", harvest_id=news) == 2
    assert site.happens("of press", harvest_id=press) == 1
    assert site.happens("of none") == 1
    assert site.happens("another event", Event.JOB_ENDED) == 0


def test_two_subscriptions_that_match_give_one_message(site: Notifying, mail: MailReceiver) -> None:
    news = add_harvest(site.database, "news")
    anna = site.person("anna")
    site.subscribe(anna, is_digest=True)
    site.subscribe(anna, harvest="news")
    assert site.happens(harvest_id=news) == 1
    site.send()
    assert len(mail.mails) == 1  # at once, since one of the two asks for that


def test_a_subscription_that_is_made_again_is_changed_and_not_doubled(site: Notifying) -> None:
    anna = site.person("anna")
    first = site.subscribe(anna)
    again = site.subscribe(anna, is_digest=True)
    assert (again.id, again.is_digest) == (first.id, True)
    with site.database.transaction(anna) as transaction:
        assert [each.id for each in list_subscriptions(transaction).items] == [first.id]
        unsubscribe(transaction, first.id)
        assert list_subscriptions(transaction).items == []
    assert site.happens() == 0


@pytest.fixture
def anna(sqlite_site: Notifying) -> Actor:
    return sqlite_site.person("anna")


@each_value(
    ("values", "field", "said"),
    [
        ({"event": "job.exploded"}, "event", "is no event"),
        ({"event": "test"}, "event", "is no event"),
        ({"event": "x" * 10_000}, "event", "is no event"),
        ({"harvest": "none"}, "harvest", "there is no harvest 'none'"),
        ({"harvest": "\0\ud800"}, "harvest", "there is no harvest"),
        ({"target": "x@example.org"}, "target", "leave the target empty"),
        ({"way": "webhook"}, "target", "is no web address"),
        ({"way": "webhook", "target": "ftp://example.org/"}, "target", "is no web address"),
        ({"way": "webhook", "target": "javascript:alert(1)"}, "target", "is no web address"),
        ({"way": "webhook", "target": "https://"}, "target", "is no web address"),
        ({"way": "webhook", "target": "https://u:p@example.org/"}, "target", "has a user or a password"),
        ({"way": "webhook", "target": "https://example.org/\r\nHost: x"}, "target", "spaces or characters"),
        ({"way": "webhook", "target": "https://example.org/\u202e"}, "target", "spaces or characters"),
        ({"way": "webhook", "target": "https://example.org:99999999/"}, "target", "is no URL"),
        ({"way": "webhook", "target": "https://[::1/"}, "target", "is no URL"),
        ({"way": "webhook", "target": "https://example.org/" + "x" * 10_000}, "target", "use at most 2000"),
        ({"way": "webhook", "target": "https://example.org/", "is_digest": True}, "is_digest", "each event by itself"),
    ],
)
def test_a_subscription_that_can_not_work_is_refused(
    sqlite_site: Notifying, anna: Actor, values: dict[str, Any], field: str, said: str
) -> None:
    if values.get("harvest") == "\0\ud800":
        values = {"harvest": "\0"}  # pydantic refuses lone surrogates by itself
    with pytest.raises(InvalidInput) as caught:
        sqlite_site.subscribe(anna, **values)
    assert [(each.field, said in each.message) for each in caught.value.problems] == [(field, True)]
    assert len(str(caught.value)) < 400


def test_who_has_no_address_or_may_not_operate_is_told_so(sqlite_site: Notifying, hook: WebhookReceiver) -> None:
    with pytest.raises(InvalidInput, match="your profile has no e-mail address"):
        sqlite_site.subscribe(sqlite_site.person("bare", email=""))
    reader = sqlite_site.person("reader", Role.READER)
    sqlite_site.subscribe(reader)
    with pytest.raises(Forbidden):
        sqlite_site.subscribe(reader, way="webhook", target=hook.url())
    with pytest.raises(IllegalState, match="is no user"):
        sqlite_site.subscribe(COMMAND_LINE)


def test_subscriptions_of_others_are_out_of_reach(sqlite_site: Notifying) -> None:
    anna, bert = sqlite_site.person("anna"), sqlite_site.person("bert")
    made = sqlite_site.subscribe(anna)
    for use_case in (unsubscribe, send_test):
        for number in (made.id, 0, -1, 2**70):
            with pytest.raises(NotFound), sqlite_site.database.transaction(bert) as transaction:
                use_case(transaction, number)


def test_the_number_of_subscriptions_is_bounded(
    sqlite_site: Notifying, hook: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "MOST_SUBSCRIPTIONS", 5)
    anna = sqlite_site.person("anna")
    sqlite_site.hear(anna, *(hook.url(f"/{number}") for number in range(5)))
    with pytest.raises(UseCaseError, match="remove one"):
        sqlite_site.subscribe(anna)


def test_each_webhook_has_a_key_of_its_own_that_the_audit_does_not_have(site: Notifying, hook: WebhookReceiver) -> None:
    anna, bert = site.person("anna"), site.person("bert")
    views = [site.subscribe(who, way="webhook", target=hook.url(path)) for who in (anna, bert) for path in ("/a", "/b")]
    assert len({view.secret for view in views}) == 4
    assert site.subscribe(anna, way="webhook", target=hook.url("/a")).secret == views[0].secret
    with site.database.transaction(COMMAND_LINE) as transaction:
        for entry in transaction.session.query(AuditEntry).all():
            assert "whsec_" not in str(vars(entry))
            assert "/a" not in str(entry.new)  # the path may hold a key


def test_a_test_message_is_sent_whatever_else_waits(site: Notifying, mail: MailReceiver, clock: MovableClock) -> None:
    anna = site.person("anna")
    view = site.subscribe(anna, is_digest=True)
    with site.database.transaction(anna) as transaction:
        send_test(transaction, view.id)
    site.send()
    assert mail.mails[0]["Subject"] == "[Ghostfleet] This is a test message"


def test_users_list_their_own_messages_and_administrators_those_of_all(site: Notifying, clock: MovableClock) -> None:
    anna, bert = site.person("anna"), site.person("bert")
    root = site.person("root", Role.ADMINISTRATOR)
    site.subscribe(anna)
    for number in range(5):
        site.happens(f"Job {number} failed")
    with site.database.transaction(anna) as transaction:
        page = list_messages(transaction, limit=3)
        assert [each.subject for each in page.items] == ["Job 4 failed", "Job 3 failed", "Job 2 failed"]
        rest = list_messages(transaction, after=int(page.next or 0), limit=3)
        assert ([each.subject for each in rest.items], rest.next) == (["Job 1 failed", "Job 0 failed"], None)
        assert list_messages(transaction, after=2**70).next is None
    with pytest.raises(Forbidden), site.database.transaction(bert) as transaction:
        list_messages(transaction, user="anna")
    with site.database.transaction(root) as transaction:
        assert len(list_messages(transaction, user="anna").items) == 5
        assert list_messages(transaction, user="\0").items == []


@pytest.mark.parametrize(
    ("subject", "shown"),
    [
        ("Job 7\r\nBcc: everybody@example.org", "Job 7 Bcc: everybody@example.org"),
        ("a\x00b\u2028c\u202ed", "a b c d"),
        ("x" * 1_000_000, "x" * 299 + "…"),
        ("", ""),
    ],
)
def test_a_subject_from_the_web_becomes_one_line(
    sqlite_site: Notifying, mail: MailReceiver, subject: str, shown: str
) -> None:
    sqlite_site.subscribe(sqlite_site.person("anna"))
    sqlite_site.happens(subject)
    sqlite_site.send()
    assert sqlite_site.rows()[0].subject == shown
    (letter,) = mail.mails
    assert letter["Subject"].rstrip() == f"[Ghostfleet] {shown}".rstrip()
    assert letter["Bcc"] is None


def test_facts_from_the_web_are_bounded(site: Notifying, hook: WebhookReceiver) -> None:
    site.hear(site.person("anna"), hook.url())
    facts: dict[str, Any] = {f"fact {number}": "x" * 10_000 for number in range(1000)}
    facts = {"first": "a\0b\ud800c", "n": 7, "none": None, "object": {"a": [1]}, **facts}
    with site.database.transaction(SCHEDULER) as transaction:
        notify(transaction, Event.JOB_FAILED, "x", facts)
    site.send()
    got = hook.received[0].json["data"]["facts"]
    assert got["first"] == "a b c"
    assert (got["n"], got["none"], got["object"]) == (7, None, "{'a': [1]}")
    assert len(got) == 50
    assert len(hook.received[0].body) < 110_000


def test_events_are_listed_for_the_form(sqlite_site: Notifying) -> None:
    with sqlite_site.database.transaction(sqlite_site.person("anna", Role.READER)) as transaction:
        views = {view.event: view for view in list_events(transaction).items}
    assert views["harvest.deactivated"].severity == "error"
    assert set(views) == set(SUBSCRIBABLE)


def test_every_operation_has_a_name_and_a_route_of_its_own() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert len({(operation.method, operation.path) for operation in OPERATIONS}) == len(OPERATIONS)


def test_a_message_costs_no_more_with_thousands_in_the_outbox(
    sqlite_site: Notifying, mail: MailReceiver, clock: MovableClock
) -> None:
    """Work is bounded by what is due: messages that were sent long ago are passed over by an index."""
    anna = sqlite_site.person("anna")
    sqlite_site.subscribe(anna)
    with sqlite_site.database.transaction(COMMAND_LINE) as transaction:
        row = {"user_id": anna.user_id, "event": "job.ended", "way": "email", "target": "x@example.org", "lane": "smtp",
               "subject": "x", "body": {}, "created": clock.now - 3 * HOUR, "due": None, "attempts": 1, "error": "",
               "sent": clock.now - 3 * HOUR}  # fmt: skip
        transaction.session.execute(insert(Notification), [{**row, "message_id": f"m{n}"} for n in range(5_000)])
        transaction.session.execute(text("ANALYZE"))
        plan = str(
            transaction.session.execute(
                text("EXPLAIN QUERY PLAN SELECT lane FROM notifications WHERE due <= 5 GROUP BY lane")
            ).all()
        )
        assert "ix_notifications" in plan
        assert "SCAN notifications'" not in plan
    sqlite_site.happens()
    assert sqlite_site.send() == 1
    assert len(mail.mails) == 1
