"""A domain has passwords for parts that ask for one, by HTTP or in a form.

Nobody reads a secret again but the harvest that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import Field, SecretStr
from sqlalchemy import select

from admin.harvests.domains import secret_key
from admin.harvests.domains.lookup import find_domain, find_password, listed_names
from admin.harvests.input_checks import differences, name_problem, note_problem, refuse
from admin.models.domain_tables import CONFIGURATION_PASSWORDS, Domain, DomainPassword
from admin.models.errors import IllegalState, InvalidInput, Problem
from admin.models.job_tables import JobConfiguration
from admin.models.operation import InputModel, OutputModel, Page
from admin.models.transaction import Right, Transaction
from archive.url import UrlError, canonical

MOST_PASSWORDS: Final = 100
_LONGEST: Final = 1_000


class PasswordCreation(InputModel):
    """The input has a password that lets a harvest into a part of a domain."""

    name: str
    url: str = Field(description="where the password counts, such as http://www.example.org/members/")
    realm: str = ""
    username: str
    password: SecretStr


class PasswordChange(InputModel):
    """The input says what changes about a password; what is left out stays as it is."""

    url: str | None = None
    realm: str | None = None
    username: str | None = None
    password: SecretStr | None = None


class PasswordView(OutputModel):
    """The output has a password without the secret, which nobody can read again."""

    name: str
    url: str
    realm: str
    username: str
    configurations: list[str]
    """Names of the configurations that use it."""


@dataclass(frozen=True, slots=True)
class DomainLogin:
    """A harvest logs in with these values."""

    domain: str
    url: str
    realm: str
    username: str
    secret: str = field(repr=False)


def create_password(transaction: Transaction, domain: str, given: PasswordCreation) -> PasswordView:
    """Add a password to a domain. Raises InvalidInput."""
    transaction.require(Right.CURATE)
    row = find_domain(transaction, domain, lock=True)
    refuse((name_problem("name", given.name), *_problems(given.url, given.realm, given.username, given.password)))
    if given.name in {each.name for each in row.passwords}:
        raise InvalidInput(Problem("name", f"{row.name} has a password {given.name!r} already; write another name"))
    if len(row.passwords) >= MOST_PASSWORDS:
        raise IllegalState(f"{row.name} has {len(row.passwords)} passwords; delete one first")
    password = DomainPassword(
        name=given.name,
        url=canonical(given.url),
        realm=given.realm,
        username=given.username,
        secret=_encrypted(transaction, row, given.password),
    )
    row.passwords.append(password)
    transaction.session.flush()
    transaction.audit("password.create", "domain", row.id, row.name, new={"name": password.name, **_audited(password)})
    return _view(row, password)


def change_password(transaction: Transaction, domain: str, name: str, given: PasswordChange) -> PasswordView:
    """Change a password of a domain. The audit says that the secret was changed, and not to what."""
    transaction.require(Right.CURATE)
    row = find_domain(transaction, domain, lock=True)
    password = find_password(row, name)
    old = _audited(password)
    new: dict[str, Any] = {**old, **given.model_dump(exclude={"password"}, exclude_none=True)}
    refuse(_problems(new["url"], new["realm"], new["username"], given.password))
    new["url"] = canonical(new["url"])
    password.url, password.realm, password.username = new["url"], new["realm"], new["username"]
    if given.password is not None:
        password.secret = _encrypted(transaction, row, given.password)
        old, new = {**old, "password": "the former one"}, {**new, "password": "a new one"}
    if changed := differences(old, new):
        transaction.audit(
            "password.change",
            "domain",
            row.id,
            row.name,
            old={"name": name, **changed[0]},
            new={"name": name, **changed[1]},
        )
    transaction.session.flush()
    return _view(row, password)


def delete_password(transaction: Transaction, domain: str, name: str) -> None:
    """Delete a password of a domain. Raises IllegalState when a configuration uses it."""
    transaction.require(Right.CURATE)
    row = find_domain(transaction, domain, lock=True)
    password = find_password(row, name)
    if users := _users(row, password):
        raise IllegalState(
            f"the password {name!r} of {row.name} is used by the configurations {listed_names(users)};"
            " take it out of them first"
        )
    old = {"name": name, **_audited(password)}
    row.passwords.remove(password)
    transaction.audit("password.delete", "domain", row.id, row.name, old=old)
    transaction.session.flush()


def list_passwords(transaction: Transaction, domain: str) -> Page[PasswordView]:
    """List the passwords of a domain without their secrets."""
    transaction.require(Right.READ)
    row = find_domain(transaction, domain)
    return Page(items=password_views(row), total=len(row.passwords))


def password_views(row: Domain) -> list[PasswordView]:
    """Return the passwords of a domain without their secrets."""
    return [_view(row, password) for password in row.passwords]


def logins(transaction: Transaction, configuration_ids: Iterable[int]) -> dict[int, list[DomainLogin]]:
    """Return the passwords that these configurations use, decrypted, by the configuration's number.

    Harvesters call this, and no operation does. Raises IllegalState when a secret can't be decrypted.
    """
    query = (
        select(CONFIGURATION_PASSWORDS.c.configuration_id, DomainPassword, Domain.name)
        .join(DomainPassword, CONFIGURATION_PASSWORDS.c.password_id == DomainPassword.id)
        .join(Domain, DomainPassword.domain_id == Domain.id)
        .where(CONFIGURATION_PASSWORDS.c.configuration_id.in_(list(configuration_ids)))
        .order_by(CONFIGURATION_PASSWORDS.c.configuration_id, DomainPassword.name)
    )
    found: dict[int, list[DomainLogin]] = {}
    home = transaction.settings.home
    for number, password, domain in transaction.session.execute(query):
        secret = secret_key.decrypted(home, domain, password.secret)
        found.setdefault(number, []).append(
            DomainLogin(domain, password.url, password.realm, password.username, secret)
        )
    return found


def logins_of_job(transaction: Transaction, job_id: int) -> list[DomainLogin]:
    """Return the passwords that the configurations of a job use, decrypted, each once.

    Raises IllegalState when a secret can't be decrypted.
    """
    numbers = transaction.session.scalars(
        select(JobConfiguration.configuration_id)
        .join(CONFIGURATION_PASSWORDS, CONFIGURATION_PASSWORDS.c.configuration_id == JobConfiguration.configuration_id)
        .where(JobConfiguration.job_id == job_id)
    )
    found = logins(transaction, [number for number in numbers if number is not None])
    return list(dict.fromkeys(login for each in found.values() for login in each))


def _encrypted(transaction: Transaction, row: Domain, secret: SecretStr) -> bytes:
    return secret_key.encrypted(transaction.settings.home, row.name, secret.get_secret_value())


def _problems(url: str, realm: str, username: str, password: SecretStr | None) -> list[Problem | None]:
    """Return what is wrong; the secret itself is in no message."""
    found: list[Problem | None] = [_url_problem(url)]
    for name, text in (("realm", realm), ("username", username)):
        found.append(note_problem(name, text, _LONGEST))
        if not all(char.isprintable() for char in text):
            found.append(Problem(name, "the text has a control character; write it on one line"))
    if not username:
        found.append(Problem("username", "the user name is empty; write the name to log in with"))
    if password is not None and not 0 < len(password.get_secret_value()) <= _LONGEST:
        found.append(Problem("password", f"the password is empty or too long; write 1 to {_LONGEST} characters"))
    return found


def _url_problem(url: str) -> Problem | None:
    try:
        canonical(url)
        has_login = "@" in urlsplit(url).netloc
    except (UrlError, ValueError) as error:
        return Problem("url", f"{str(error)[:300]}; write a URL such as http://www.example.org/members/")
    return Problem("url", "the URL has a user name in it; write it in the field for it") if has_login else None


def _users(row: Domain, password: DomainPassword) -> list[str]:
    return [each.name for each in row.configurations if password in each.passwords]


def _audited(password: DomainPassword) -> dict[str, Any]:
    return {"url": password.url, "realm": password.realm, "username": password.username}


def _view(row: Domain, password: DomainPassword) -> PasswordView:
    return PasswordView(
        name=password.name,
        url=password.url,
        realm=password.realm,
        username=password.username,
        configurations=_users(row, password),
    )
