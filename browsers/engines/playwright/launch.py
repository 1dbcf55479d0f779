"""Playwright starts Chromium, and each of its contexts, with these options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from browsers.engines.interface import HttpCredentials, WindowOptions

_NOBODY: Final = HttpCredentials("http://login.invalid", "", "")
"""Credentials of a window that has none: no site has this origin, so that each question is refused."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A Chromium is started with these facts."""

    executable: Path
    flags: tuple[str, ...] = ()
    """The whole command line, but for the profile."""


def context_options(options: WindowOptions, user_agent: str) -> dict[str, Any]:
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
        "is_mobile": device.is_mobile,
        "color_scheme": "dark" if device.dark else "null",
        "reduced_motion": "null",
        "forced_colors": "null",
        "contrast": "null",
        "accept_downloads": False,
        "permissions": [],
        "service_workers": "allow",
    }
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
