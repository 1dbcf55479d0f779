"""Cookies as Playwright has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from browsers.engines.interface import BrowserCookie


def cookie_of(told: Mapping[str, Any]) -> BrowserCookie:
    """Return a cookie that Playwright told of."""
    return BrowserCookie(
        told["name"],
        told["value"],
        told["domain"],
        told["path"],
        told["expires"],
        told["httpOnly"],
        told["secure"],
        told.get("sameSite", ""),
    )


def parameter_of(cookie: BrowserCookie) -> Any:
    """Return the cookie as `BrowserContext.add_cookies` takes it."""
    found: dict[str, Any] = {
        "name": cookie.name,
        "value": cookie.value,
        "domain": cookie.domain,
        "path": cookie.path,
        "expires": cookie.expires,
        "httpOnly": cookie.http_only,
        "secure": cookie.secure,
    }
    return found | ({"sameSite": cookie.same_site} if cookie.same_site else {})
