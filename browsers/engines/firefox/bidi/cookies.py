"""This module converts cookies from and to the form of WebDriver BiDi (module storage). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from browsers.engines.interface import BrowserCookie


def cookie_of(told: Mapping[str, Any]) -> BrowserCookie:
    """Return the cookie that `storage.getCookies` names."""
    same_site = told.get("sameSite", "")
    return BrowserCookie(
        told["name"],
        str(told["value"].get("value", "")),
        told["domain"],
        told["path"],
        float(told.get("expiry", -1)),
        told["httpOnly"],
        told["secure"],
        same_site.capitalize() if same_site in {"strict", "lax", "none"} else "",
    )


def parameter_of(cookie: BrowserCookie) -> dict[str, Any]:
    """Return the cookie as `storage.setCookie` takes it."""
    found: dict[str, Any] = {
        "name": cookie.name,
        "value": {"type": "string", "value": cookie.value},
        "domain": cookie.domain,
        "path": cookie.path,
        "httpOnly": cookie.http_only,
        "secure": cookie.secure,
    }
    if cookie.expires >= 0:
        found["expiry"] = int(cookie.expires)
    return found | ({"sameSite": cookie.same_site.lower()} if cookie.same_site else {})
