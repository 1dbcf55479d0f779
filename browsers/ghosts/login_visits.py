"""A login is made and checked in a window of its own. All requests pass a proxy that archives nothing of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from archive.settings.load import Settings
from browsers.engine import BrowserWindow, EngineError, NavigationFailed
from browsers.engine_choice import proxy_trust
from browsers.ghosts.ghost import ChromiumVisitor
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.form_login import Credentials, LoginFailed, is_logged_in, log_in, state_of
from browsers.proxy_client import Control, SessionRequest, read_token

_COLLECTION: Final = "logins"
"""Name of the sessions' collection, which stays empty."""
_LOAD_SECONDS: Final = 45.0
_LAST_SECONDS: Final = 5.0


def profile_by_form(
    settings: Settings, proxy: str, controls: Sequence[str], profile: BrowserProfile, credentials: Credentials
) -> BrowserProfile:
    """Log in at the URL of `profile`, and return the profile with its cookies and storage.

    `proxy` and `controls` are addresses of a running fleet. Raises LoginFailed, BrowserMissing and FleetUnavailable.
    """

    async def work(window: BrowserWindow) -> BrowserProfile:
        await log_in(window, profile.url, credentials, profile.check)
        return await state_of(window, profile)

    return _in_window(settings, proxy, controls, None, work)


def has_login(settings: Settings, proxy: str, controls: Sequence[str], profile: BrowserProfile) -> bool:
    """Open the URL of the profile with its cookies and storage, and return whether the page shows the login.

    Raises LoginFailed when the page can't be opened, BrowserMissing and FleetUnavailable.
    """

    async def work(window: BrowserWindow) -> bool:
        try:
            async with asyncio.timeout(_LOAD_SECONDS):
                await window.navigate(profile.url)
                await window.loaded()
        except NavigationFailed as error:
            raise LoginFailed(f"{profile.url} can't be opened: {error.reason}") from error
        except TimeoutError as error:
            raise LoginFailed(f"{profile.url} did not load") from error
        await window.traffic.settled(1.0, 15.0)
        return await is_logged_in(window, profile.check)

    return _in_window(settings, proxy, controls, profile, work)


def _in_window[T](
    settings: Settings,
    proxy: str,
    controls: Sequence[str],
    profile: BrowserProfile | None,
    work: Callable[[BrowserWindow], Coroutine[Any, Any, T]],
) -> T:
    with Control(controls[0], read_token(settings.home)) as control:
        visitor = ChromiumVisitor(settings, [control], proxy_trust(settings.home, proxy), profile=profile)
        try:
            visitor.open()
            session = control.open(SessionRequest(_COLLECTION, mode="live", listen=True))
            try:
                return visitor.in_window(session.address, work)
            except EngineError as error:
                raise LoginFailed("the browser ended before the login did") from error
            finally:
                control.finish(session, wait_seconds=_LAST_SECONDS)
        finally:
            visitor.close()
