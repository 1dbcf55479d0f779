"""admin/notifications/sender.py: each message is sent, not twice, not late because of others, and not for ever."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import threading
from http.server import BaseHTTPRequestHandler

import pytest
from support.admin.harvest_database import DAY, HOUR, MINUTE, SECOND, MovableClock
from support.admin.notifying import Notifying
from support.processes.machine_needs import free_port
from support.processes.python_code import PLACES, code_command
from support.processes.waiting import until
from support.web.mail_receiver import MailReceiver
from support.web.webhook_receiver import WebhookReceiver, status

from admin.models.people_tables import User
from admin.models.transaction import COMMAND_LINE, SCHEDULER
from admin.notifications.events import Event
from admin.notifications.outbox import notify
from admin.notifications.sender import Sender
from archive.settings.load import Settings, load


def test_a_message_goes_by_mail_and_webhook_to_those_who_subscribed(
    site: Notifying, mail: MailReceiver, hook: WebhookReceiver
) -> None:
    anna, bert = site.person("anna"), site.person("bert")
    site.subscribe(anna)
    site.hear(anna, hook.url())
    site.subscribe(bert, "job.ended")
    assert site.happens("Job 7 failed", job_id=7) == 2
    assert site.send() == 2
    assert site.send() == 0
    (letter,) = mail.mails
    assert (letter["To"], letter["From"]) == ("anna@example.org", "ghostfleet@archive.example")
    assert letter["Subject"] == "[Ghostfleet] Job 7 failed"
    text = letter.get_content()
    assert "reason: no space" in text
    assert "https://archive.example/jobs/7" in text
    (request,) = hook.received
    assert request.json == {
        "type": "job.failed",
        "timestamp": "2027-01-15T08:00:00Z",
        "data": {
            "subject": "Job 7 failed",
            "severity": "error",
            "harvest_id": None,
            "job_id": 7,
            "facts": {"reason": "no space"},
            "url": "https://archive.example/jobs/7",
        },
    }
    assert all(row.sent and row.due is None and row.claim is None for row in site.rows())


def test_a_change_that_is_undone_tells_nobody(site: Notifying) -> None:
    def fail() -> None:
        with site.database.transaction(SCHEDULER) as transaction:
            assert notify(transaction, Event.JOB_FAILED, "x") == 1
            raise ZeroDivisionError

    site.subscribe(site.person("anna"))
    with pytest.raises(ZeroDivisionError):
        fail()
    assert site.rows() == []


def test_a_webhook_is_tried_again_with_the_same_id_and_longer_pauses(
    site: Notifying, hook: WebhookReceiver, clock: MovableClock
) -> None:
    site.hear(site.person("anna"), hook.url())
    site.happens()
    hook.answer = status(500, b"out of \x00 order <b>")
    for pause in (30, 60, 120, 240):
        assert site.send() == 1
        (row,) = site.rows()
        assert row.error == "the server answered 500: out of   order <b>"
        assert row.due == clock.now + pause * SECOND
        clock.move(pause * SECOND - 1)
        assert site.send() == 0
        clock.move(1)
    hook.answer = status(200)
    assert site.send() == 1
    assert len(hook.received) == 5
    assert len(set(hook.ids)) == 1
    assert len({each.headers["webhook-timestamp"] for each in hook.received}) == 5
    (row,) = site.rows()
    assert (row.attempts, row.error) == (5, "")


def test_a_message_that_never_arrives_is_given_up(site: Notifying, clock: MovableClock) -> None:
    site.hear(site.person("anna"), f"http://127.0.0.1:{free_port()}/dead")
    site.happens()
    begin = clock.now
    while (row := site.rows()[0]).given_up is None:
        assert row.due is not None
        clock.move(4 * HOUR)  # longer than any pause; `test_mail` has the pauses
        assert site.send() == 1
    assert 2 * DAY < row.given_up - begin <= 3 * DAY
    assert row.due is None
    assert "Connect" in row.error
    clock.move(DAY)
    assert site.send() == 0


def test_redirects_are_not_followed(sqlite_site: Notifying, hook: WebhookReceiver) -> None:
    codes = (301, 302, 307, 308)
    with WebhookReceiver() as elsewhere:
        hook.answer = lambda handler: status(int(handler.path[1:]), Location=elsewhere.url())(handler)
        sqlite_site.hear(sqlite_site.person("anna"), *(hook.url(f"/{code}") for code in codes))
        sqlite_site.happens()
        sqlite_site.send()
        assert elsewhere.received == []
    errors = {row.target: row.error for row in sqlite_site.rows()}
    assert [code for code in codes if f"answered {code}" not in errors[hook.url(f"/{code}")]] == []


def test_a_receiver_that_is_gone_for_good_is_not_asked_again(sqlite_site: Notifying, hook: WebhookReceiver) -> None:
    hook.answer = status(410)
    sqlite_site.hear(sqlite_site.person("anna"), hook.url())
    sqlite_site.happens()
    sqlite_site.send()
    assert sqlite_site.rows()[0].given_up is not None


def test_the_pause_that_a_server_asks_for_is_kept(
    sqlite_site: Notifying, hook: WebhookReceiver, clock: MovableClock
) -> None:
    sqlite_site.hear(sqlite_site.person("anna"), hook.url())
    for asked, kept in (("600", 600), ("999999999", 3600), ("x", 30), ("-5", 30), ("９", 30), ("9" * 5000, 30)):
        hook.answer = status(429, Retry_After=asked.encode().decode("latin-1"))
        sqlite_site.happens()
        sqlite_site.send()
        row = sqlite_site.rows()[-1]
        assert row.due == clock.now + kept * SECOND
        clock.move(DAY)
        hook.answer = status(200)
        sqlite_site.send()


def test_dead_targets_hold_up_nobody(sqlite_site: Notifying, hook: WebhookReceiver, clock: MovableClock) -> None:
    """Twelve servers take requests and never answer; messages to another server arrive meanwhile."""
    released = threading.Event()
    site = sqlite_site

    def arrived(wanted: int) -> bool:
        site.sender.look()
        return len(hook.received) == wanted

    def waiting() -> int:
        return sum(not future.done() for lane, future in site.sender._busy.items() if "alive" not in lane)

    with WebhookReceiver(answer=lambda handler: (released.wait(30), None)[1]) as silent:
        anna, bert = site.person("anna"), site.person("bert")
        site.hear(anna, *(silent.url(f"/{number}") for number in range(12)))
        site.happens()
        site.sender._settings = site.sender._settings.model_copy(update={"timeout_seconds": 0.5})
        while any(row.attempts == 0 for row in site.rows()):  # the first attempt of each one, by eight threads
            site.send()
        site.sender._settings = site.sender._settings.model_copy(update={"timeout_seconds": 60})
        clock.move(HOUR)
        site.sender.look()
        assert waiting() == 4  # half of the threads
        site.hear(bert, hook.url("/alive"), event="job.ended")
        for number in range(5):
            site.happens(f"Job {number} ended", Event.JOB_ENDED)
            until(lambda wanted=number + 1: arrived(wanted), what="the living server has its message")
        assert waiting() == 4
        released.set()


def test_new_messages_to_a_dead_server_rest_with_the_others(
    sqlite_site: Notifying, hook: WebhookReceiver, clock: MovableClock
) -> None:
    site = sqlite_site
    site.hear(site.person("anna"), hook.url())
    hook.answer = status(503)
    for _ in range(30):
        site.happens()
    site.send()
    assert len(hook.received) == 1  # the server itself failed, so that the others were not tried
    site.happens()
    site.send()
    assert len(hook.received) == 1
    assert {row.due for row in site.rows()} == {clock.now + 30 * SECOND}
    hook.answer = status(200)
    clock.move(30 * SECOND)
    while site.send():
        pass
    assert len(set(hook.ids)) == 31


@pytest.mark.both_databases
def test_two_senders_send_no_message_twice(site: Notifying, hook: WebhookReceiver) -> None:
    anna = site.person("anna")
    site.hear(anna, *(hook.url(f"/{number}") for number in range(5)))
    for _ in range(4):
        site.happens()
    senders = [Sender(site.database) for _ in range(2)]

    def work(sender: Sender) -> None:
        while any(row.due is not None for row in site.rows()):
            sender.look()
            sender.wait(60)

    threads = [threading.Thread(target=work, args=(sender,)) for sender in senders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for sender in senders:
        sender.close()
    assert len(hook.received) == 20
    assert len(set(hook.ids)) == 20


_KILLED = """
import sys
from admin.models.database import Database
from admin.notifications.outbox import notify
from admin.notifications.sender import Sender
from archive.settings.load import load
settings = load({"home": sys.argv[2], "notifications.webhook_allow_private": True,
    "notifications.smtp_host": "127.0.0.1", "notifications.smtp_port": int(sys.argv[4]),
    "notifications.smtp_security": "none", "notifications.sender": "ghostfleet@archive.example",
    "notifications.timeout_seconds": 60}, environment={})
sender = Sender(Database(sys.argv[1], lambda: int(sys.argv[3]), settings))
sender.look()
sender.wait()
"""


def test_a_sender_killed_between_delivery_and_mark_leads_to_the_same_message_once_more(
    site: Notifying, hook: WebhookReceiver, clock: MovableClock, settings: Settings, tables_url: str
) -> None:
    site.hear(site.person("anna"), hook.url())
    site.happens()
    process: list[subprocess.Popen[bytes]] = []
    started = threading.Event()

    def kill(handler: BaseHTTPRequestHandler) -> None:
        assert started.wait(30)
        os.kill(process[0].pid, signal.SIGKILL)
        process[0].wait(30)

    hook.answer = kill
    process.append(
        subprocess.Popen(
            code_command(_KILLED, tables_url, str(settings.home), str(clock.now), "1"),
            env={**os.environ, **PLACES},
        )
    )  # fmt: skip
    started.set()
    assert process[0].wait(60) == -signal.SIGKILL
    assert len(hook.received) == 1
    hook.answer = status(200)
    clock.move(site.sender.lease - 1)
    assert site.send() == 0  # the claim of the dead sender still holds
    clock.move(1)
    assert site.send() == 1
    assert len(set(hook.ids)) == 1
    assert len(hook.received) == 2
    (row,) = site.rows()
    assert (row.attempts, row.sent) == (2, clock.now)


def test_a_sender_that_lost_its_claim_marks_nothing(
    sqlite_site: Notifying, hook: WebhookReceiver, clock: MovableClock
) -> None:
    """The first sender hangs until its claim has ended; the second one sends. The first one then changes nothing."""
    site = sqlite_site
    site.hear(site.person("anna"), hook.url())
    site.happens()
    go, waiting = threading.Event(), threading.Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        waiting.set()
        go.wait(30)
        status(500)(handler)

    hook.answer = hang
    site.sender._settings = site.sender._settings.model_copy(update={"timeout_seconds": 60})
    site.sender.look()
    assert waiting.wait(30)
    hook.answer = status(200)
    clock.move(site.sender.lease)
    second = Sender(site.database)
    assert second.look() == 1
    assert second.wait(30)
    second.close()
    go.set()
    assert site.sender.wait(30)
    (row,) = site.rows()
    assert row.sent is not None
    assert row.error == ""


def test_messages_of_a_digest_come_as_one_mail_at_the_end_of_the_hour(
    site: Notifying, mail: MailReceiver, clock: MovableClock
) -> None:
    anna = site.person("anna")
    site.subscribe(anna, is_digest=True)
    site.subscribe(anna, "job.ended", is_digest=True)
    for number in range(10):
        clock.move(2 * MINUTE)
        site.happens(f"Job {number} failed")
        site.happens(f"Job {number} ended", Event.JOB_ENDED)
    assert site.send() == 0
    clock.move(HOUR)
    assert site.send() > 0
    assert site.send() == 0
    (letter,) = mail.mails
    assert letter["Subject"] == "[Ghostfleet] 20 messages of the last hour"
    text = letter.get_content()
    assert "   10  job.ended (info)" in text
    assert all(f"Job {number} failed" in text for number in range(10))
    assert all(row.sent for row in site.rows())


def test_a_flood_becomes_a_digest(site: Notifying, mail: MailReceiver, clock: MovableClock) -> None:
    site.subscribe(site.person("anna"))
    for number in range(30):
        site.happens(f"Job {number} failed")
    while site.send():
        pass
    assert len(mail.mails) == 20
    clock.move(HOUR)
    while site.send():
        pass
    assert len(mail.mails) == 21
    assert mail.mails[-1]["Subject"] == "[Ghostfleet] 10 messages of the last hour"
    assert all(row.sent for row in site.rows())


def test_a_flood_for_one_user_leaves_the_mail_of_others_alone(
    sqlite_site: Notifying, mail: MailReceiver, clock: MovableClock
) -> None:
    site = sqlite_site
    site.subscribe(site.person("anna"))
    for number in range(30):
        site.happens(f"Job {number} failed")
    site.subscribe(site.person("bert"), "job.ended")
    site.happens("Job 1 ended", Event.JOB_ENDED)
    while site.send():
        pass
    assert len(mail.to("bert@example.org")) == 1


def test_a_user_who_was_deactivated_gets_nothing_more(site: Notifying, mail: MailReceiver, clock: MovableClock) -> None:
    anna = site.person("anna")
    site.subscribe(anna)
    site.happens()
    with site.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.get_one(User, anna.user_id).is_active = False
    assert site.happens() == 0
    site.send()
    assert mail.mails == []
    assert site.rows()[0].error == "the user was deactivated"


def test_old_messages_leave_the_list(sqlite_site: Notifying, mail: MailReceiver, clock: MovableClock) -> None:
    site = sqlite_site
    site.subscribe(site.person("anna"))
    site.happens()
    site.send()
    clock.move(30 * DAY)
    site.happens()
    site.send()
    assert len(site.rows()) == 2
    clock.move(HOUR)
    site.send()
    assert len(site.rows()) == 1


def test_a_database_that_goes_away_leaves_the_message_for_later(
    sqlite_site: Notifying, hook: WebhookReceiver, clock: MovableClock
) -> None:
    site = sqlite_site
    site.hear(site.person("anna"), hook.url())
    site.happens()

    def hide(handler: BaseHTTPRequestHandler) -> None:
        with site.database.engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE notifications RENAME TO hidden")
        status(200)(handler)

    hook.answer = hide
    site.send()
    with site.database.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE hidden RENAME TO notifications")
    hook.answer = status(200)
    assert site.send() == 0
    clock.move(site.sender.lease)
    assert site.send() == 1
    assert len(set(hook.ids)) == 1


def test_the_library_of_standard_webhooks_would_verify_what_we_send(
    sqlite_site: Notifying, hook: WebhookReceiver
) -> None:
    """The receiver's side, written after the specification: the signature covers id, time and body."""
    import hashlib
    import hmac

    view = sqlite_site.subscribe(sqlite_site.person("anna"), way="webhook", target=hook.url())
    sqlite_site.happens("Ünïcödé \U0001f577 ended")
    sqlite_site.send()
    (request,) = hook.received
    assert view.secret is not None
    key = base64.b64decode(view.secret.removeprefix("whsec_"))
    signed = ".".join((request.headers["webhook-id"], request.headers["webhook-timestamp"])).encode()
    made = hmac.new(key, signed + b"." + request.body, hashlib.sha256).digest()
    assert request.headers["webhook-signature"] == f"v1,{base64.b64encode(made).decode()}"
    assert request.headers["content-type"] == "application/json"
    assert int(request.headers["webhook-timestamp"]) == 1_800_000_000


def test_settings_without_a_mail_server_give_mail_up_with_the_remedy(
    sqlite_site: Notifying, settings: Settings, mail: MailReceiver
) -> None:
    sqlite_site.subscribe(sqlite_site.person("anna"))
    sqlite_site.happens()
    bare = load({"home": str(settings.home)}, environment={}).notifications
    sender = Sender(sqlite_site.database, bare)
    sender.look()
    sender.close()
    assert "set notifications.smtp_host" in sqlite_site.rows()[0].error
    assert mail.mails == []
