"""A browser profile has the cookies and the local storage of a login, and the sign by which a page shows the login."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Self
from urllib.parse import urlsplit

from archive.dates import Micros
from browsers.engines.interface import BrowserCookie, HttpCredentials, InitScript, World
from browsers.logins.cookie_header import cookie_header

MAX_COOKIES: Final = 2000
MAX_STORAGE: Final = 5_000_000
"""Largest number of characters of the local storage of all sites."""

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
class LoginRecipe:
    """A recipe says how to log in again: with a user and a password in a form, or by a recorded flow."""

    user: str = ""
    password: str = field(default="", repr=False)
    flow: str = field(default="", repr=False)
    """Text of a flow that was recorded in Chrome's DevTools."""


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
    http: HttpCredentials | None = None
    """Credentials for a site that asks for some by HTTP."""
    recipe: LoginRecipe | None = None
    """How to log in again when the login has expired; None when nothing was stored for that."""

    @property
    def can_be_renewed(self) -> bool:
        """Return whether the profile has all that a new login needs."""
        return self.recipe is not None

    def headers_for(self, url: str, now: float) -> dict[str, str]:
        """Return the headers Cookie and Authorization that a browser with this login sends to the URL.

        `now` is in seconds since 1970. The cookies are chosen as RFC 6265 section 5.4 says. A login by Digest has no
        header, since the site must ask first.
        """
        cookies = cookie_header(self.cookies, url, now)
        found = {"Cookie": cookies} if cookies else {}
        if self.http is not None and self.http.is_sent_at_once and self.http.is_of(url):
            found["Authorization"] = self.http.basic
        return found

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
            HttpCredentials(**value["http"]) if value.get("http") else None,
            LoginRecipe(**value["recipe"]) if value.get("recipe") else None,
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
