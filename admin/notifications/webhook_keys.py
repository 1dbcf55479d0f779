"""The installation has one key, of which the keys of all webhooks are made. A key that others may know is replaced.

For a day after that, messages are signed with the new key and with the old one, as Standard Webhooks has it, so that
receivers can change their copy without losing a message.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final

from admin.models.operation import InputModel, OutputModel
from admin.models.people_tables import InstallationValue
from admin.models.transaction import Right, Transaction
from archive.dates import Micros

SECRET_PREFIX: Final = "whsec_"
BOTH_KEYS_FOR: Final[Micros] = 86_400_000_000
"""Time for which messages are signed with the old key too."""
_PRESENT: Final = "webhook-key"
_BEFORE: Final = "webhook-key-before"


class KeyRotation(InputModel):
    """The input says how the key is replaced."""

    at_once: bool = False
    """The old key signs nothing from now on, because somebody else has it."""


class RotatedKey(OutputModel):
    """The output says until when the old key still signs. Each user sees the new key of a webhook in the profile."""

    old_key_signs_until: Micros | None


def rotate_key(transaction: Transaction, given: KeyRotation) -> RotatedKey:
    """Replace the key of which the keys of all webhooks are made."""
    transaction.require(Right.ADMINISTER)
    old = installation_key(transaction)
    until = None if given.at_once else transaction.now + BOTH_KEYS_FOR
    _keep(transaction, _BEFORE, "" if until is None else f"{until} {old.hex()}")
    _keep(transaction, _PRESENT, secrets.token_hex(32))
    transaction.audit("webhook-key.rotate", "webhook key", 0, "webhook key", new={"old_key_signs_until": until})
    return RotatedKey(old_key_signs_until=until)


def signing_secrets(transaction: Transaction, user_id: int, target: str) -> tuple[str, ...]:
    """Return the keys with which messages to one user's webhook are signed now, the present one first."""
    keys = [installation_key(transaction)]
    row = transaction.session.get(InstallationValue, _BEFORE)
    until, _, old = row.value.partition(" ") if row is not None else ("", "", "")
    if until and transaction.now < int(until):
        keys.append(bytes.fromhex(old))
    return tuple(made_secret(key, user_id, target) for key in keys)


def made_secret(key: bytes, user_id: int, target: str) -> str:
    """Return the key of one user's webhook, made of the installation's key."""
    made = hmac.new(key, f"{user_id}\n{target}".encode(), hashlib.sha256).digest()
    return SECRET_PREFIX + base64.b64encode(made).decode("ascii")


def installation_key(transaction: Transaction) -> bytes:
    """Return the installation's key; the first call makes it."""
    row = transaction.session.get(InstallationValue, _PRESENT)
    return bytes.fromhex(row.value if row is not None else _keep(transaction, _PRESENT, secrets.token_hex(32)))


def _keep(transaction: Transaction, name: str, value: str) -> str:
    row = transaction.session.get(InstallationValue, name)
    if row is None:
        transaction.session.add(InstallationValue(name=name, value=value))
    else:
        row.value = value
    transaction.session.flush()
    return value
