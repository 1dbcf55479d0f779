"""Cookies as the DevTools protocol has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from browsers.engines.interface import BrowserCookie


def cookie_of(told: Mapping[str, Any]) -> BrowserCookie:
    """Return a cookie that the browser told of."""
    return BrowserCookie(
        told["name"],
        told["value"],
        told["domain"],
        told["path"],
        -1 if told["session"] else told["expires"],
        told["httpOnly"],
        told["secure"],
        told.get("sameSite", ""),
    )


def parameter_of(cookie: BrowserCookie) -> dict[str, Any]:
    """Return the cookie as `Storage.setCookies` takes it."""
    found: dict[str, Any] = {
        "name": cookie.name,
        "value": cookie.value,
        "domain": cookie.domain,
        "path": cookie.path,
        "httpOnly": cookie.http_only,
        "secure": cookie.secure,
    }
    if cookie.expires >= 0:
        found["expires"] = cookie.expires
    return found | ({"sameSite": cookie.same_site} if cookie.same_site else {})
