"""admin/harvests/domains/passwords.py and secret_key.py: secrets are encrypted, and come out for harvests alone."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import select, update

from admin.harvests.domains.configurations import ConfigurationChange, change_configuration
from admin.harvests.domains.domain import show_domain
from admin.harvests.domains.lookup import find_configuration, find_domain
from admin.harvests.domains.passwords import (
    PasswordChange,
    PasswordCreation,
    change_password,
    create_password,
    delete_password,
    list_passwords,
    logins,
)
from admin.harvests.domains.uploads import upload_domains
from admin.models.database import Database
from admin.models.domain_tables import DomainPassword
from admin.models.errors import IllegalState, InvalidInput
from admin.models.people_tables import AuditEntry
from admin.models.transaction import COMMAND_LINE

SECRET = "korrekt pferd"
GIVEN = PasswordCreation(
    name="members", url="http://a.org/in", realm="Members", username="anna", password=SecretStr(SECRET)
)


@pytest.fixture
def filled(domains: Database) -> Database:
    upload_domains(domains, COMMAND_LINE, ["a.org\nb.org\n"])
    with domains.transaction(COMMAND_LINE) as transaction:
        create_password(transaction, "a.org", GIVEN)
        change_configuration(transaction, "a.org", "defaultconfig", ConfigurationChange(passwords=("members",)))
    return domains


def secrets_of(database: Database, domain: str) -> list[str]:
    with database.transaction(COMMAND_LINE) as transaction:
        number = find_configuration(find_domain(transaction, domain), "defaultconfig").id
        return [login.secret for login in logins(transaction, [number]).get(number, [])]


def test_a_harvest_gets_the_secret_and_nobody_else(
    filled: Database, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert secrets_of(filled, "a.org") == [SECRET]
    with filled.transaction(COMMAND_LINE) as transaction:
        shown = f"{show_domain(transaction, 'a.org')} {list_passwords(transaction, 'a.org')} {GIVEN!r}"
        row = transaction.session.scalars(select(DomainPassword)).one()
        entries = transaction.session.scalars(select(AuditEntry)).all()
        number = find_configuration(find_domain(transaction, "a.org"), "defaultconfig").id
        login = logins(transaction, [number])[number][0]
        assert (login.domain, login.url, login.realm, login.username) == ("a.org", "http://a.org/in", "Members", "anna")
        for text in (
            shown,
            repr(row.secret),
            repr(login),
            caplog.text,
            *(f"{each.old} {each.new}" for each in entries),
        ):
            assert SECRET not in text
        assert SECRET.encode() not in row.secret
    assert stat.S_IMODE((home / "passwords.key").stat().st_mode) == 0o600


def test_two_passwords_that_are_the_same_look_different_in_the_database(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        create_password(transaction, "b.org", GIVEN)
        first, second = transaction.session.scalars(select(DomainPassword.secret)).all()
        assert first != second


def test_a_secret_that_was_moved_to_another_domain_is_refused(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        create_password(transaction, "b.org", GIVEN)
        change_configuration(transaction, "b.org", "defaultconfig", ConfigurationChange(passwords=("members",)))
        stolen = transaction.session.scalars(select(DomainPassword.secret).order_by(DomainPassword.id)).first()
        transaction.session.execute(update(DomainPassword).values(secret=stolen))
    assert secrets_of(filled, "a.org") == [SECRET]
    with pytest.raises(IllegalState, match=r"a password of b\.org can't be decrypted"):
        secrets_of(filled, "b.org")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is missing; put it back"),
        ("ab" * 32, "can't be decrypted with the key"),
        ("nix", "can't be used"),
        ("00", "does not hold a key of 32 bytes"),
    ],
)
def test_a_lost_or_wrong_key_is_named_with_the_remedy(
    filled: Database, home: Path, content: str | None, message: str
) -> None:
    path = home / "passwords.key"
    path.unlink()
    if content is not None:
        path.write_text(content)
        path.chmod(0o600)
    with pytest.raises(IllegalState, match=message):
        secrets_of(filled, "a.org")


def test_a_key_that_others_can_read_is_refused(filled: Database, home: Path) -> None:
    (home / "passwords.key").chmod(0o644)
    with pytest.raises(IllegalState, match="chmod 600"):
        secrets_of(filled, "a.org")


def test_a_change_says_in_the_audit_that_the_secret_is_new(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        change_password(transaction, "a.org", "members", PasswordChange(username="bert"))
        change_password(transaction, "a.org", "members", PasswordChange(password=SecretStr("neu neu")))
    assert secrets_of(filled, "a.org") == ["neu neu"]
    with filled.transaction(COMMAND_LINE) as transaction:
        query = select(AuditEntry).where(AuditEntry.action == "password.change").order_by(AuditEntry.id)
        first, second = transaction.session.scalars(query).all()
        assert (first.old, first.new) == (
            {"name": "members", "username": "anna"},
            {"name": "members", "username": "bert"},
        )
        assert second.new == {"name": "members", "password": "a new one"}


def test_a_password_in_use_stays(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        with pytest.raises(IllegalState, match="used by the configurations 'defaultconfig'"):
            delete_password(transaction, "a.org", "members")
        change_configuration(transaction, "a.org", "defaultconfig", ConfigurationChange(passwords=()))
        delete_password(transaction, "a.org", "members")
        assert list_passwords(transaction, "a.org").items == []
    assert secrets_of(filled, "a.org") == []


def test_bad_input_is_refused_without_showing_the_secret(filled: Database) -> None:
    given = PasswordCreation(name="a/b", url="ftp://x", realm="a\nb", username="", password=SecretStr("geheim" * 1000))
    with filled.transaction(COMMAND_LINE) as transaction:
        with pytest.raises(InvalidInput) as caught:
            create_password(transaction, "a.org", given)
        fields = [problem.field for problem in caught.value.problems]
        assert fields == ["name", "url", "realm", "username", "password"]
        assert "geheim" not in str(caught.value)
        with pytest.raises(InvalidInput, match="has a password 'members' already"):
            create_password(transaction, "a.org", GIVEN)
        with pytest.raises(InvalidInput, match="has a user name in it"):
            change_password(transaction, "a.org", "members", PasswordChange(url="http://me:x@a.org/"))
