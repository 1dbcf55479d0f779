"""A browser profile has the cookies and the local storage of a login, and the sign by which a page shows the login."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Self
from urllib.parse import urlsplit

from archive.dates import Micros
from browsers.engine import BrowserCookie, InitScript, World

MAX_COOKIES: Final = 2000
MAX_STORAGE: Final = 5_000_000
"""Largest number of characters of the local storage of all sites."""
UNRECORDED: Final = ("cookie", "authorization")
"""Request headers whose values are not recorded when a profile is used."""

_RESTORE: Final = """
(() => {
  const kept = %s[location.origin];
  if (!kept) return;
  try { for (const [name, value] of kept) if (localStorage.getItem(name) === null) localStorage.setItem(name, value); }
  catch { /* the frame has no storage */ }
})()
"""


@dataclass(frozen=True, slots=True)
class LoginCheck:
    """A page of the host shows by an element or a text that the visitor is logged in. An empty check says nothing."""

    host: str = ""
    selector: str = ""
    """CSS selector of an element that only logged-in visitors see."""
    text: str = ""
    """Text that only logged-in visitors see."""

    def applies_to(self, url: str) -> bool:
        """Return whether a page at this URL must show the login."""
        try:
            return bool(self.selector or self.text) and urlsplit(url).hostname == self.host
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class BrowserProfile:
    """A profile is a stored login. Its text form shows no secret."""

    name: str
    url: str
    """Page of the login."""
    created: Micros
    cookies: tuple[BrowserCookie, ...] = field(default=(), repr=False)
    storage: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict, repr=False)
    """Names and values of the local storage, by origin."""
    check: LoginCheck = field(default_factory=LoginCheck)

    @property
    def init_scripts(self) -> tuple[InitScript, ...]:
        """Return the scripts that restore the local storage. The page's own scripts can't read them."""
        if not self.storage:
            return ()
        return (InitScript(_RESTORE % json.dumps(self.storage), World.ISOLATED),)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the profile that `to_json` wrote. Raises ValueError, KeyError and TypeError for another text."""
        value: dict[str, Any] = json.loads(text)
        storage = {origin: tuple((name, kept) for name, kept in pairs) for origin, pairs in value["storage"].items()}
        return cls(
            value["name"],
            value["url"],
            value["created"],
            tuple(BrowserCookie(**cookie) for cookie in value["cookies"]),
            storage,
            LoginCheck(**value["check"]),
        )

    def to_json(self) -> str:
        """Return the profile with its secrets as JSON. Write it to no file that is not encrypted."""
        return json.dumps(asdict(self))

    def bounded(self) -> Self:
        """Return the profile with as many cookies and as much storage as a profile may have."""
        room, kept = MAX_STORAGE, dict[str, tuple[tuple[str, str], ...]]()
        for origin, pairs in self.storage.items():
            room -= sum(len(name) + len(value) for name, value in pairs)
            if room < 0:
                break
            kept[origin] = pairs
        return replace(self, cookies=self.cookies[:MAX_COOKIES], storage=kept)
