"""E-mail goes to one mail server by SMTP. One connection serves the messages of a batch."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress
from email.message import EmailMessage
from types import TracebackType
from typing import Final, Self

from admin.notifications.message import OutgoingMessage, mail_of
from admin.notifications.webhook import DONE, DeliveryAttempt
from archive.dates import Micros
from archive.settings.notifications import NotificationSettings
from archive.settings.values.secret_file import SecretUnreadable, secret

_LONGEST_ERROR: Final = 300


class MailServer:
    """A mail server has one connection, which is opened with the first message."""

    def __init__(self, settings: NotificationSettings) -> None:
        self._settings = settings
        self._connection: smtplib.SMTP | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._leave()

    def send(self, messages: Sequence[OutgoingMessage], now: Micros) -> DeliveryAttempt:
        """Send one message, or several as one digest."""
        if not self._settings.smtp_host or not self._settings.sender:
            return DeliveryAttempt(
                False, "no e-mail is sent: set notifications.smtp_host and notifications.sender", is_final=True
            )
        try:
            mail = mail_of(messages, now, self._settings)
        except (ValueError, IndexError, UnicodeError) as error:  # the parser of addresses raises IndexError too
            return DeliveryAttempt(False, f"the message can't be written: {error}"[:_LONGEST_ERROR], is_final=True)
        try:
            connection = self._connection = self._connection or self._connected()
        except (OSError, smtplib.SMTPException, SecretUnreadable) as error:
            return self._blamed(error)
        return self._sent(connection, mail, messages[0].target)

    def _sent(self, connection: smtplib.SMTP, mail: EmailMessage, target: str) -> DeliveryAttempt:
        try:
            connection.send_message(mail, self._settings.sender, [target])
        except smtplib.SMTPRecipientsRefused as error:
            code, said = next(iter(error.recipients.values()))
            return DeliveryAttempt(False, _answer(code, said), is_final=code >= 500)
        except smtplib.SMTPDataError as error:
            return DeliveryAttempt(False, _answer(error.smtp_code, error.smtp_error), is_final=error.smtp_code >= 500)
        except smtplib.SMTPNotSupportedError as error:
            return DeliveryAttempt(False, str(error)[:_LONGEST_ERROR], is_final=True)
        except (ValueError, UnicodeError) as error:
            return DeliveryAttempt(False, f"the message can't be sent: {error}"[:_LONGEST_ERROR], is_final=True)
        except (OSError, smtplib.SMTPException) as error:
            return self._blamed(error)
        return DONE

    def _connected(self) -> smtplib.SMTP:
        settings = self._settings
        name = socket.gethostname() or "localhost"
        if settings.smtp_security == "tls":
            connection: smtplib.SMTP = smtplib.SMTP_SSL(
                settings.smtp_host, settings.smtp_port, name, timeout=settings.timeout_seconds, context=self._tls()
            )
        else:
            connection = smtplib.SMTP(settings.smtp_host, settings.smtp_port, name, timeout=settings.timeout_seconds)
        try:
            if settings.smtp_security == "starttls":
                connection.starttls(context=self._tls())
            if settings.smtp_user:
                connection.login(
                    settings.smtp_user,
                    secret("notifications.smtp_password", settings.smtp_password, settings.smtp_password_file),
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _tls(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._settings.smtp_ca or None)

    def _blamed(self, error: Exception) -> DeliveryAttempt:
        self._leave()
        return DeliveryAttempt(False, f"{type(error).__name__}: {error}"[:_LONGEST_ERROR], blames_server=True)

    def _leave(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(OSError, smtplib.SMTPException):  # what was accepted stays accepted
                connection.quit()
            connection.close()


def _answer(code: int, said: bytes | str) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return f"the mail server answered {code}: {' '.join(text.split())}"[:_LONGEST_ERROR]
