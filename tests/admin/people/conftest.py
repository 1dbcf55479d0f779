"""Fixtures of the tests of people: passwords are hashed quickly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from argon2 import PasswordHasher
from support.admin.site_users import CHEAP

from admin.people.passwords import PASSWORDS


@pytest.fixture(autouse=True)
def _cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Argon2 with the least memory: tests of logins need no strength."""
    """Argon2 with the least memory. `test_passwords.py` has tests of our parameters."""
    monkeypatch.setattr(PASSWORDS, "_hasher", PasswordHasher(**CHEAP))
    PASSWORDS.__dict__.pop("_nobodys", None)
    yield
    PASSWORDS.__dict__.pop("_nobodys", None)
