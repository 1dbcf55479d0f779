"""Fields of users are checked here: login names, full names, e-mail addresses and time zones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Final
from zoneinfo import available_timezones

import idna

from admin.models.errors import InvalidInput, Problem

_LOGIN_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
RESERVED_NAMES: Final = frozenset(("scheduler", "harvester", "system", "anonymous", "new"))
"""The audit names programs so, and a user of that name would read the changes of the program as the user's own.
`/users/new` is the page that makes a user.
"""
_LOCAL_PART: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}")
"""As browsers check `<input type="email">` (HTML, section 4.10.5.1.5)."""
_DOMAIN: Final = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_LONGEST_NAME: Final = 200
_LONGEST_EMAIL: Final = 254
_HIDDEN_KINDS: Final = frozenset(("Cc", "Cs", "Co", "Cn", "Zl", "Zp"))
_DIRECTIONS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of what follows, so that a text shows another than it is (CVE-2021-42574).

The marks U+200E and U+200F turn nothing else, and names in Arabic and Hebrew have them.
"""


class FieldChecks:
    """Field checks collect what is wrong with several fields, so that all problems are named at once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def checked[Given, Checked](self, field: str, check: Callable[[Given], Checked], value: Given) -> Checked | None:
        """Return what `check` makes of the value; None when it raises ValueError, whose text is the problem."""
        try:
            return check(value)
        except ValueError as error:
            self.problems.append(Problem(field, str(error)))
            return None

    def done(self) -> None:
        """Raise InvalidInput when there was any problem."""
        if self.problems:
            raise InvalidInput(*self.problems)


def login_name(text: str) -> str:
    """Return the name by which a user logs in, in lower case. Raises ValueError."""
    name = text.strip().lower()
    if not _LOGIN_NAME.fullmatch(name):
        raise ValueError(
            f"{cut(text)} is no login name; use 1 to 64 of the letters a to z, digits and . _ @ + -, and begin with a"
            " letter or a digit"
        )
    if name in RESERVED_NAMES:
        raise ValueError(f"{cut(text)} is a name that the site itself uses; choose another login name")
    return name


def full_name(text: str) -> str:
    """Return a person's name, or another short text of one line. Raises ValueError."""
    name = unicodedata.normalize("NFC", text).strip()
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"{cut(text)} has {len(name):,} characters; use at most {_LONGEST_NAME}")
    if any(unicodedata.category(each) in _HIDDEN_KINDS or each in _DIRECTIONS for each in name):
        raise ValueError(f"{cut(text)} has line ends or characters that nobody sees; remove them")
    return name


def label(text: str) -> str:
    """Return the name of a thing that a person named, such as a token. Raises ValueError."""
    name = full_name(text)
    if not name:
        raise ValueError("the name is empty; write what it is for")
    return name


def email(text: str) -> str:
    """Return an e-mail address with its domain in ASCII; the empty text stays. Raises ValueError."""
    address = text.strip(" ")
    if not address:
        return ""
    local, _, domain = address.rpartition("@")
    if len(address) <= _LONGEST_EMAIL and _LOCAL_PART.fullmatch(local):
        try:
            host = (domain if domain.isascii() else idna.encode(domain, uts46=True).decode("ascii")).lower()
        except idna.IDNAError:
            host = ""
        if _DOMAIN.fullmatch(host):
            return f"{local}@{host}"
    raise ValueError(f"{cut(text)} is no e-mail address; write it as name@example.org, without spaces and line ends")


def zone(text: str) -> str:
    """Return the name of a time zone. Raises ValueError."""
    if text not in _zones():
        raise ValueError(f"{cut(text)} is no time zone; use a name such as Europe/Copenhagen, or UTC")
    return text


def cut(text: str, characters: int = 60) -> str:
    """Return the text as a message may repeat it: quoted, on one line, and not too long."""
    return repr(text if len(text) <= characters else f"{text[:characters]}…")


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones() | {"UTC"})
