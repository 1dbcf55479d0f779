"""Each browser of Playwright, and each of its contexts, is started with these options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from browsers.engines.interface import HttpCredentials, WindowOptions

_NOBODY: Final = HttpCredentials("http://login.invalid", "", "")
"""Credentials of a window that has none: no site has this origin, so that each question is refused."""


class BrowserKind(StrEnum):
    """Playwright drives these browsers."""

    CHROMIUM = "chromium"
    FIREFOX = "firefox"
    WEBKIT = "webkit"

    @property
    def product(self) -> str:
        """Return the name of the browser as in a product token."""
        return {"chromium": "Chromium", "firefox": "Firefox", "webkit": "WebKit"}[self]


@dataclass(frozen=True, slots=True)
class Launch:
    """A browser of Playwright is started with these facts."""

    kind: BrowserKind
    executable: Path | None = None
    """The browser to start; None for Playwright's own download."""
    flags: tuple[str, ...] = ()
    """The whole command line of Chromium, but for its profile."""
    preferences: Mapping[str, bool | int | str] = field(default_factory=dict)
    """Preferences of Firefox."""
    authority: bytes = b""
    """Certificate of the proxy's authority as PEM, for Firefox."""


def context_options(launch: Launch, options: WindowOptions, user_agent: str) -> dict[str, Any]:
    """Return the options of `Browser.new_context` for a window."""
    device = options.device
    size = {"width": device.width, "height": device.height}
    headers = dict(options.headers)
    found: dict[str, Any] = {
        "proxy": {"server": f"http://{options.proxy}"},
        "viewport": size,
        "screen": size,
        "device_scale_factor": device.scale,
        "has_touch": device.has_touch,
        "color_scheme": "dark" if device.dark else "null",
        "reduced_motion": "null",
        "forced_colors": "null",
        "contrast": "null",
        "accept_downloads": False,
        "permissions": [],
        "service_workers": "allow",
    }
    if launch.kind is not BrowserKind.FIREFOX:  # Playwright refuses the option with Firefox
        found["is_mobile"] = device.is_mobile
    if launch.kind is BrowserKind.WEBKIT:  # no way to name an authority is known
        found["ignore_https_errors"] = True
    if launch.kind is not BrowserKind.CHROMIUM:
        found.pop("permissions")
    if user_agent:
        found["user_agent"] = user_agent
    if device.timezone:
        found["timezone_id"] = device.timezone
    if device.lang:
        found["locale"] = device.lang.partition(",")[0].partition(";")[0].strip()
        headers = {"Accept-Language": device.lang, **headers}
    if headers:
        found["extra_http_headers"] = headers
    if options.http_login is not None:
        login = options.http_login if options.http_login.origin else _NOBODY
        found["http_credentials"] = {
            "username": login.user,
            "password": login.password,
            "origin": login.origin,
            "send": "always" if login.is_sent_at_once else "unauthorized",
        }
    return found
