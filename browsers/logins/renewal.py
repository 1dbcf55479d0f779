"""A profile that has a recipe, or credentials for HTTP, can log in again without a person."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from archive.dates import now_micros
from browsers.engines.interface import BrowserWindow, EngineError
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.flow_login import log_in_by_flow
from browsers.logins.form_login import (
    Credentials,
    LoginFailed,
    LoginNotTried,
    check_login,
    is_logged_in,
    log_in,
    open_page,
    state_of,
)
from browsers.logins.login_book import LoginBook
from browsers.logins.profile_store import ProfileStore, ProfileUnusable

log = logging.getLogger(__name__)
_MOST_RENEWALS: Final = 20
"""The number of times that a visitor logs in again with one profile."""


async def logged_in(window: BrowserWindow, profile: BrowserProfile) -> BrowserProfile:
    """Log in as the profile's recipe says, and return the profile with the new cookies and storage.

    The window must have been opened with the profile's HTTP login. Raises LoginFailed and EngineError.
    """
    recipe = profile.recipe
    if recipe is not None and recipe.flow:
        await log_in_by_flow(window, recipe.flow, profile.check)
    elif recipe is not None:
        await log_in(window, profile.url, Credentials(recipe.user, recipe.password), profile.check)
    else:
        await open_page(window, profile.url)
        await check_login(window, profile.check)
    found = await state_of(window, replace(profile, created=now_micros()))
    if found.http is not None and window.http_scheme:
        found = replace(found, http=replace(found.http, scheme=window.http_scheme))
    return found


class LoginRenewal:
    """A renewal that logs in again when a page no longer shows its login. It is safe to use from several threads."""

    def __init__(self, home: Path, logins: LoginBook, forget: Callable[[], None]) -> None:
        """`home` has the stored profiles. `forget` drops what visits with the former login have left."""
        self._store = ProfileStore(home)
        self._logins = logins
        self._forget = forget
        self._lock = threading.Lock()
        self._renewals: Counter[str] = Counter()
        """The number of renewals by the name of the profile."""
        self._unproved: set[str] = set()
        """Names of the profiles whose login was tried again and no page has shown since; it is not tried once more."""

    async def is_logged_out(self, window: BrowserWindow, url: str, profile: BrowserProfile | None) -> bool:
        """Return whether the page at this URL must show the login of the profile, and does not. Raises EngineError."""
        if profile is None or not profile.check.applies_to(url):
            return False
        is_shown = await is_logged_in(window, profile.check)
        if is_shown:
            self._unproved.discard(profile.name)
        return not is_shown

    def renew_login(
        self, url: str, used: BrowserProfile | None, log_in_again: Callable[[BrowserProfile], BrowserProfile]
    ) -> bool:
        """Log in again when a visit of the URL with the profile `used` showed no login.

        `log_in_again` returns the profile with a new login. Return whether there is a new login.
        """
        if used is None or not used.can_be_renewed:
            return False
        with self._lock:
            if self._logins.for_url(url) is not used:
                return True  # another visit has renewed the login meanwhile
            try:
                stored = self._store.load(used.name)
                if stored.created > used.created:
                    self._logins.replace(used, stored)  # another worker has renewed the login
                    self._forget()
                    return True
                if self._renewals[used.name] >= _MOST_RENEWALS or used.name in self._unproved:
                    return False
                self._renewals[used.name] += 1
                renewed = self._tried(used, log_in_again)
                self._logins.replace(used, renewed)
                self._forget()
                self._store.save(renewed)
            except (LoginFailed, ProfileUnusable, EngineError) as error:
                log.warning("the login of browser profile %s can't be renewed: %s", used.name, error)
                return False
        log.info("the login of browser profile %s was renewed", used.name)
        return True

    def _tried(self, used: BrowserProfile, log_in_again: Callable[[BrowserProfile], BrowserProfile]) -> BrowserProfile:
        """Return the profile with a new login, which is unproved until a page shows it.

        A login that the site did not take is unproved, too. One that the site was not asked for may be tried again.
        """
        try:
            renewed = log_in_again(used)
        except LoginNotTried:
            raise
        except LoginFailed:
            self._unproved.add(used.name)
            raise
        self._unproved.add(used.name)
        return renewed
