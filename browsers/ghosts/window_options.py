"""The options of a ghost's window come from the settings, the job's headers, and the login of the visit. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from archive.settings import BrowserSettings
from browsers.behaviors.page_tools import observer
from browsers.behaviors.user_files.hosted import HostedBehavior
from browsers.engines.interface import (
    Device,
    DialogAnswer,
    HttpCredentials,
    InitScript,
    KeptContext,
    WindowOptions,
)
from browsers.ghosts.page_errors import errors_script
from browsers.logins.browser_profile import BrowserProfile
from browsers.visit import OwnHeaders

_NO_CREDENTIALS: Final = HttpCredentials("", "", "")
"""A browser that may be asked for credentials asks each window, also one that has none for any site."""
_NO_SERVICE_WORKERS: Final = InitScript("delete Navigator.prototype.serviceWorker")


def window_options(
    settings: BrowserSettings,
    headers: OwnHeaders,
    proxy: str,
    profile: BrowserProfile | None,
    *,
    answers_401: bool,
    site_data: BrowserProfile | None = None,
    hosted: Sequence[HostedBehavior] = (),
    context: KeptContext | None = None,
) -> WindowOptions:
    """Return the options of a window that fetches through `proxy` with the login of `profile`.

    With `answers_401`, the browser asks each window for credentials. `site_data` is what earlier visits of the site
    left. `hosted` are behaviours of the user. The window is opened in `context`, or in a fresh one.
    """
    http_login = profile.http if profile is not None else None
    if http_login is None and answers_401:
        http_login = _NO_CREDENTIALS
    login = (profile,) if profile is not None else ()
    left = (site_data,) if site_data is not None else ()
    return WindowOptions(
        proxy,
        device_of(settings),
        headers.values,
        dialogs=DialogAnswer(settings.dialogs),
        popup_seconds=settings.popup_seconds,
        init_scripts=(
            observer(),
            errors_script(),
            *((_NO_SERVICE_WORKERS,) if settings.service_workers == "off" else ()),
            *(script for each in (*login, *hosted, *left) for script in each.init_scripts),
        ),
        cookies=tuple(cookie for each in (*login, *left) for cookie in each.cookies),
        http_login=http_login,
        passes_by_service_workers=settings.service_workers == "refetched",
        bindings=[binding for each in hosted for binding in each.bindings],
        context=context,
    )


def device_of(settings: BrowserSettings) -> Device:
    """Return the device that the settings describe."""
    return Device(
        settings.width,
        settings.height,
        scale=settings.scale,
        has_touch=settings.touch,
        is_mobile=settings.mobile,
        user_agent=settings.user_agent,
        timezone=settings.timezone,
        dark=settings.dark,
    )
