"""admin/notifications/mail.py: a real mail server, with TLS and a password, and recipients that it refuses."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from support.admin.harvest_database import DAY, HOUR, SECOND, MovableClock
from support.admin.notifying import Notifying
from support.processes.machine_needs import free_port
from support.web.mail_receiver import MailReceiver

from admin.models.people_tables import Notification, User
from admin.models.transaction import COMMAND_LINE
from admin.notifications.mail import MailServer
from admin.notifications.message import OutgoingMessage, mail_of
from archive.settings.load import Settings, SettingsError, load
from archive.settings.notifications import NotificationSettings
from archive.settings.values.redacted import HIDDEN, shown


def message(target: str = "anna@example.org", **values: Any) -> OutgoingMessage:
    plain: dict[str, Any] = {"facts": {"a": "b\nc"}, "job_id": 7, "harvest_id": None}
    return OutgoingMessage(
        **{
            "id": 1, "message_id": "msg_1", "user_id": 1, "event": "job.ended", "target": target, "subject": "Job 7",
            "body": plain, "created": 1_800_000_000_000_000, "attempts": 1, "digest": None, **values,
        }
    )  # fmt: skip


def settings_of(port: int, **values: Any) -> NotificationSettings:
    return NotificationSettings(
        **{
            "smtp_host": "localhost",
            "smtp_port": port,
            "smtp_security": "none",
            "sender": "g@archive.example",
            "timeout_seconds": 60,
            **values,
        }
    )


def deliver(settings: NotificationSettings, *messages: OutgoingMessage) -> Any:
    with MailServer(settings) as server:
        return server.send(messages or (message(),), 1_800_000_000_000_000)


def test_one_connection_serves_a_batch(sqlite_site: Notifying, mail: MailReceiver) -> None:
    for name in ("anna", "bert", "carl"):
        sqlite_site.subscribe(sqlite_site.person(name))
    sqlite_site.happens()
    sqlite_site.send()
    assert len(mail.mails) == 3
    assert mail.sessions == 1


def test_tls_and_a_password_from_a_file(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    (tmp_path / "password").write_text("geheim\n")
    with MailReceiver(tls=context, login=("me", "geheim")) as server:
        safe = {"smtp_security": "starttls", "smtp_ca": str(tmp_path / "ca.pem"), "smtp_user": "me"}
        good = settings_of(server.port, **safe, smtp_password_file=str(tmp_path / "password"))
        assert deliver(good).is_done
        wrong = deliver(settings_of(server.port, **safe, smtp_password="falsch"))
        assert wrong.blames_server
        assert "falsch" not in wrong.error
        assert deliver(settings_of(server.port, **{**safe, "smtp_ca": ""})).error.startswith("SSLCertVerificationError")
        assert "smtp_password_file" in deliver(settings_of(server.port, **safe, smtp_password_file="/none")).error
        assert not deliver(settings_of(server.port)).is_done  # the server takes nothing without TLS
        assert len(server.mails) == 1


def test_a_server_without_tls_gets_no_password(mail: MailReceiver) -> None:
    failed = deliver(settings_of(mail.port, smtp_security="starttls", smtp_user="me", smtp_password="geheim"))
    assert "STARTTLS" in failed.error
    assert mail.mails == []


@pytest.mark.parametrize(("answer", "is_final"), [("550 no such user", True), ("450 mailbox busy", False)])
def test_a_recipient_that_is_refused_does_not_hold_up_the_others(
    sqlite_site: Notifying, mail: MailReceiver, clock: MovableClock, answer: str, is_final: bool
) -> None:
    def refuse(address: str) -> str | None:
        return answer if address.startswith("anna") else None

    mail.refuse = refuse
    for name in ("anna", "bert"):
        sqlite_site.subscribe(sqlite_site.person(name))
    sqlite_site.happens()
    sqlite_site.send()
    assert len(mail.to("bert@example.org")) == 1
    first = sqlite_site.rows()[0]
    assert (first.given_up is not None) == is_final
    assert first.error == f"the mail server answered {answer[:3]}: {answer[4:]}"
    mail.refuse = lambda address: None
    clock.move(HOUR)
    sqlite_site.send()
    assert len(mail.to("anna@example.org")) == (0 if is_final else 1)


def test_a_dead_mail_server_loses_nothing(
    sqlite_site: Notifying, mail: MailReceiver, clock: MovableClock, settings: Settings
) -> None:
    for name in ("anna", "bert"):
        sqlite_site.subscribe(sqlite_site.person(name))
    sqlite_site.happens()
    alive = sqlite_site.sender._settings
    sqlite_site.sender._settings = alive.model_copy(update={"smtp_port": free_port()})
    sqlite_site.send()
    assert [row.due for row in sqlite_site.rows()] == [clock.now + 30 * SECOND] * 2
    assert [row.attempts for row in sqlite_site.rows()] == [1, 0]  # the second one was not even tried
    sqlite_site.sender._settings = alive
    clock.move(30 * SECOND)
    sqlite_site.send()
    assert len(mail.mails) == 2


@pytest.mark.parametrize(
    "address", ["anna@example.org\r\nBcc: everybody@example.org", "anna\n@example.org", "a@b,c@d", "", "@", "é@b.org"]
)
def test_an_address_that_got_into_the_database_makes_no_header(
    sqlite_site: Notifying, mail: MailReceiver, address: str
) -> None:
    """The forms refuse such addresses; here one was written into the table by other means."""
    site = sqlite_site
    site.subscribe(site.person("anna"))
    site.subscribe(site.person("bert"))
    site.happens()
    with site.database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.get_one(Notification, site.rows()[0].id)
        row.target = address
        transaction.session.get_one(User, row.user_id).email = address
    site.send()
    assert [letter["To"] for letter in mail.mails if letter["To"] == "bert@example.org"] == ["bert@example.org"]
    for letter in mail.mails:
        assert letter["Bcc"] is None
    if "\n" in address:
        assert len(mail.mails) == 1
        assert site.rows()[0].given_up is not None


def test_a_repeated_mail_has_the_same_message_id() -> None:
    settings = settings_of(25)
    first, again = (mail_of([message()], now, settings) for now in (1_800_000_000_000_000, 1_800_000_900_000_000))
    assert first["Message-ID"] == again["Message-ID"] == "<msg_1@archive.example>"
    assert first["Auto-Submitted"] == "auto-generated"
    assert first["Date"] == "Fri, 15 Jan 2027 08:00:00 +0000"


def test_a_digest_shows_a_bounded_number_of_messages() -> None:
    many = [message(id=number, subject=f"Job {number}", digest="1/2") for number in range(500)]
    text = mail_of(many, 1_800_000_000_000_000, settings_of(25)).get_content()
    assert "  500  job.ended (info)" in text
    assert "… and 300 more" in text
    assert text.count("Job ") == 200


@pytest.mark.parametrize(
    "values",
    [
        {"notifications.sender": "a@b\r\nBcc: c@d"},
        {"notifications.smtp_host": "a b"},
        {"notifications.timeout_seconds": 0},
        {"notifications.smtp_security": "ssl"},
    ],
)
def test_settings_that_can_not_work_are_refused_at_start(values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=f"setting {next(iter(values))}"):
        load(values, environment={})


@pytest.mark.parametrize("name", ["notifications.smtp_password", "people.oidc_client_secret"])
def test_secrets_are_not_shown(name: str) -> None:
    assert shown(name, "geheim") == HIDDEN
    with pytest.raises(SettingsError) as caught:
        load({name: ["geheim"]}, environment={})
    assert "geheim" not in str(caught.value)


def test_retries_have_a_table_of_pauses() -> None:
    from admin.notifications.retries import next_attempt

    now = 10 * DAY
    pauses = [next_attempt(now, attempts, now) for attempts in (1, 2, 3, 7, 8, 10**9)]
    assert [(each or 0) - now for each in pauses] == [s * SECOND for s in (30, 60, 120, 1920, 3600, 3600)]
    assert next_attempt(now - 3 * DAY + 31 * SECOND, 1, now) is not None
    assert next_attempt(now - 3 * DAY + 30 * SECOND, 1, now) is None
    assert next_attempt(now, 1, now, asked=10**12) == now + 3600 * SECOND
    assert next_attempt(now, 3, now, asked=1) == now + 120 * SECOND
