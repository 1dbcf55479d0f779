"""A login is made and checked in a window of its own. All requests pass a proxy that archives nothing of them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Final

from archive.settings.load import Settings
from browsers.engines.choice import proxy_trust
from browsers.engines.interface import BrowserWindow, EngineError
from browsers.ghosts.ghost import Ghost
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.form_login import LoginFailed, check_login, is_logged_in, open_page, state_of
from browsers.logins.renewal import logged_in
from browsers.proxying.control_client import Control, SessionRequest, read_token

COLLECTION: Final = "logins"
"""Name of the sessions' collection, which stays empty."""
_UNAUTHORIZED: Final = 401
_BY_HAND_SECONDS: Final = 600.0
"""A window that a page opens during a login by hand, such as that of an identity provider, may stay open so long."""
_LAST_SECONDS: Final = 5.0


def made_profile(settings: Settings, proxy: str, controls: Sequence[str], profile: BrowserProfile) -> BrowserProfile:
    """Log in as the recipe of `profile` says, and return the profile with its cookies and storage.

    Without a recipe, the URL is opened with the HTTP login. `proxy` and `controls` are addresses of a running fleet.
    Raises LoginFailed, BrowserMissing and FleetUnavailable.
    """

    async def work(window: BrowserWindow) -> BrowserProfile:
        return await logged_in(window, profile)

    return _in_window(settings, proxy, controls, replace(profile, cookies=(), storage={}), work)


def profile_by_hand(
    settings: Settings,
    proxy: str,
    controls: Sequence[str],
    profile: BrowserProfile,
    wait: Callable[[], None],
    *,
    has_display: bool = True,
) -> BrowserProfile:
    """Open the URL of `profile` in a window that a person sees, and return the profile after `wait` has returned.

    Raises LoginFailed, BrowserMissing and FleetUnavailable.
    """

    async def work(window: BrowserWindow) -> BrowserProfile:
        await open_page(window, profile.url)
        await asyncio.to_thread(wait)
        if window.lost.is_set():
            raise LoginFailed("the window was closed before the login was stored")
        await check_login(window, profile.check)
        return await state_of(window, profile)

    patient = settings.browsers.model_copy(update={"popup_seconds": _BY_HAND_SECONDS})
    settings = settings.model_copy(update={"browsers": patient})
    return _in_window(settings, proxy, controls, profile, work, has_display=has_display)


def has_display() -> bool:
    """Return whether windows of programs can be seen on this machine."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def has_login(settings: Settings, proxy: str, controls: Sequence[str], profile: BrowserProfile) -> bool:
    """Open the URL of the profile with its cookies and storage, and return whether the page shows the login.

    Raises LoginFailed when the page can't be opened, BrowserMissing and FleetUnavailable.
    """

    async def work(window: BrowserWindow) -> bool:
        try:
            await open_page(window, profile.url)
        except LoginFailed:
            if window.traffic.main is not None and window.traffic.main.status == _UNAUTHORIZED:
                return False
            raise
        await window.traffic.settled(1.0, 15.0)
        return await is_logged_in(window, profile.check)

    return _in_window(settings, proxy, controls, profile, work)


def _in_window[T](
    settings: Settings,
    proxy: str,
    controls: Sequence[str],
    profile: BrowserProfile | None,
    work: Callable[[BrowserWindow], Coroutine[Any, Any, T]],
    *,
    has_display: bool = False,
) -> T:
    with Control(controls[0], read_token(settings.home)) as control:
        trust = proxy_trust(settings.home, proxy)
        visitor = Ghost(settings, [control], trust, profile=profile, has_display=has_display)
        try:
            visitor.open()
            session = control.open(SessionRequest(COLLECTION, mode="live", listen=True))
            try:
                return visitor.in_window(session.address, work, profile)
            except EngineError as error:
                raise LoginFailed("the browser ended before the login did") from error
            finally:
                control.finish(session, wait_seconds=_LAST_SECONDS)
        finally:
            visitor.close()
