"""Passwords are hashed by argon2 (RFC 9106): 64 MiB and about a fifth of a second each, so at most two at once."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError

from admin.people.secret_tokens import new_token

AT_ONCE: Final = 2
LONGEST: Final = 1000
"""Characters of a password; a longer one is refused before anything is computed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict says whether a password is right."""

    is_right: bool
    new_hash: str | None = None
    """The hash to store from now on, when the stored hash has parameters that are no longer ours."""


class Passwords:
    """Passwords are hashed and verified, a few at a time."""

    def __init__(self, hasher: PasswordHasher | None = None, at_once: int = AT_ONCE) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turn = threading.BoundedSemaphore(at_once)

    def hash(self, password: str) -> str:
        """Return the hash of a password, with its salt and its parameters."""
        with self._turn:
            return self._hasher.hash(_bytes(password))

    def verify(self, stored: str | None, password: str) -> Verdict:
        """Return whether `stored` is the hash of the password.

        None stands for a user who is not there or has no password: the same work is done, so that the time of a login
        does not tell which users there are.
        """
        against = stored or self._nobodys
        text = _bytes(password[:LONGEST])
        with self._turn:
            try:
                self._hasher.verify(against, text)
            except (VerificationError, ValueError):  # a broken hash is a ValueError
                return Verdict(False)
        if stored is None or len(password) > LONGEST:
            return Verdict(False)
        return Verdict(True, self.hash(password) if self._hasher.check_needs_rehash(stored) else None)

    def warm_up(self) -> None:
        """Compute what the first `verify` would compute besides its own work."""
        _ = self._nobodys

    @cached_property
    def _nobodys(self) -> str:
        return self.hash(new_token())


PASSWORDS: Final = Passwords()


def password_problem(password: str, least: int, names: Sequence[str] = ()) -> str | None:
    """Return what is wrong with a new password, with the remedy; None when it can be used.

    `names` are texts that others know of the user, which are no passwords.
    """
    length = len(_normalized(password))
    if length < least:
        return f"the password has {length} characters; use at least {least}, such as four words that don't go together"
    if length > LONGEST:
        return f"the password has {length:,} characters; use at most {LONGEST}"
    plain = _normalized(password).casefold()
    if any(plain == name.casefold() for name in names if name):
        return "the password is the user's name or address; choose another"
    if len(set(plain)) < 4:
        return f"the password repeats {len(set(plain))} characters; use more different ones"
    return None


def _normalized(password: str) -> str:
    """Return the password as every keyboard gives it: composed letters are one character (NIST SP 800-63B)."""
    return unicodedata.normalize("NFKC", password)


def _bytes(password: str) -> bytes:
    return _normalized(password).encode("utf-8", "surrogatepass")
