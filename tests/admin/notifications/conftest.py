"""Fixtures of the tests of notifications: users, a mail server, a receiver of webhooks, and a sender."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.admin.notifying import Notifying
from support.web.mail_receiver import MailReceiver

from admin.models.database import Database
from archive.settings.load import Settings, load


@pytest.fixture
def settings(home: object, mail: MailReceiver) -> Settings:
    """Settings that send e-mail to `mail`, and webhooks to this machine too."""
    return load(
        {
            "home": str(home),
            "notifications.smtp_host": "127.0.0.1",
            "notifications.smtp_port": mail.port,
            "notifications.smtp_security": "none",
            "notifications.sender": "ghostfleet@archive.example",
            "admin.public_url": "https://archive.example/",
            "notifications.webhook_allow_private": True,
            "notifications.timeout_seconds": 60,  # a slow machine is no failure
        },
        environment={},
    )


@pytest.fixture
def site(database: Database, settings: Settings) -> Iterator[Notifying]:
    """The database with a sender, on SQLite and PostgreSQL."""
    with Notifying(database) as site:
        yield site


@pytest.fixture
def sqlite_site(sqlite_database: Database, settings: Settings) -> Iterator[Notifying]:
    """The database with a sender, on SQLite alone."""
    with Notifying(sqlite_database) as site:
        yield site
