"""Login attempts are counted for each account and each address, so that nobody tries many passwords.

The counters lie in the admin's database and not in Redis: no login works without the database, so the counters add no
further way to fail, and they can't be lost by a restart.

An attempt is counted before the password is looked at. A thousand attempts at the same moment therefore don't pass
together. A login sets the counter of its account back.
"""

from __future__ import annotations

import hashlib
import ipaddress
from typing import Final

from sqlalchemy import delete, text, update

from admin.models.errors import UseCaseError
from admin.models.people_tables import LoginAttempts
from admin.models.transaction import Transaction
from archive.dates import Micros
from archive.local_endpoints import plain_ip

_SECOND: Final = 1_000_000
_COUNT: Final = text("""
    INSERT INTO login_attempts (key, attempts, until) VALUES (:key, 1, :end)
    ON CONFLICT (key) DO UPDATE SET
        attempts = CASE WHEN login_attempts.until <= :now OR login_attempts.until > :latest
                        THEN 1 ELSE login_attempts.attempts + 1 END,
        until = CASE WHEN login_attempts.until <= :now OR login_attempts.until > :latest
                     THEN :end ELSE login_attempts.until END
    RETURNING attempts, until
""")
"""Both kinds of database know this statement. An `until` later than `latest` is of a clock that was wrong."""
_DISORDER: Final = 120 * _SECOND
"""Attempts at the same moment reach the database in any order, and each has the time at which its transaction began. A
counter may therefore have begun later than the attempt that is counted now, by the longest wait for the database.
"""


class TooManyAttempts(UseCaseError):
    """There were too many login attempts for the account or from the address."""

    def __init__(self, seconds: int) -> None:
        minutes = max(1, -(-seconds // 60))
        super().__init__(
            "there were too many login attempts for this account or from this address; try again in"
            f" {minutes} minute{'s' if minutes != 1 else ''}, or ask an administrator to release the account"
        )
        self.seconds = seconds


def count_attempt(transaction: Transaction, name: str, address: str, *, known_name: str) -> TooManyAttempts | None:
    """Count a login attempt. Return the refusal when there were too many; the caller commits and raises it.

    `known_name` is for the audit: the user's name, or empty for a text that is the name of nobody.
    """
    people = transaction.settings.people
    transaction.session.execute(delete(LoginAttempts).where(LoginAttempts.until <= transaction.now))
    ends: list[Micros] = []
    for key, most in (
        (account_key(name), people.login_attempts_per_account),
        (address_key(address), people.login_attempts_per_address),
    ):
        end = transaction.now + people.login_window_seconds * _SECOND
        values = {"key": key, "end": end, "now": transaction.now, "latest": end + _DISORDER}
        attempts, until = transaction.session.execute(_COUNT, values).one()
        if attempts == most + 1:  # once in each window: an attacker must not fill the audit
            transaction.audit("login.throttle", "login", key, known_name, new={"address": address[:100]})
        if attempts > most:
            ends.append(until)
    return TooManyAttempts(-(-(max(ends) - transaction.now) // _SECOND)) if ends else None


def forget_attempts(transaction: Transaction, name: str, address: str | None = None) -> None:
    """Set the counter of the account back, and take the login that succeeded off the counter of its address."""
    transaction.session.execute(delete(LoginAttempts).where(LoginAttempts.key == account_key(name)))
    if address is not None:
        transaction.session.execute(
            update(LoginAttempts)
            .where(LoginAttempts.key == address_key(address), LoginAttempts.attempts > 0)
            .values(attempts=LoginAttempts.attempts - 1)
        )


def account_key(name: str) -> str:
    """Return the counter's key of an account: a hash, since people type passwords into the wrong field."""
    return f"account:{hashlib.sha256(name.strip().lower().encode('utf-8', 'replace')).hexdigest()}"


def address_key(address: str) -> str:
    """Return the counter's key of an address. All addresses of an IPv6 /64 are one, as one line has them all."""
    try:
        ip = ipaddress.ip_address(plain_ip(address))
    except ValueError:
        return f"address:{address[:64]}"
    network = ipaddress.ip_network(f"{ip}/64", strict=False) if ip.version == 6 else ip
    return f"address:{network}"
