"""The plain crawler sends the cookies of a stored browser profile as a browser would (RFC 6265 section 5.4). Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from browsers.engines.interface import BrowserCookie


def cookie_header(cookies: Iterable[BrowserCookie], url: str, now: float) -> str:
    """Return the value of the field Cookie for a URL; empty without a cookie. `now` is in seconds since 1970.

    Cookies with longer paths come first. The order of the others is kept. A cookie that is not printable ASCII is left
    out.
    """
    try:
        parts = urlsplit(url)
    except ValueError:  # no URL
        return ""
    host, path, is_secure = parts.hostname or "", parts.path or "/", parts.scheme == "https"
    sent = [
        cookie
        for cookie in cookies
        if _is_of_host(cookie.domain, host)
        and _is_of_path(cookie.path, path)
        and (is_secure or not cookie.secure)
        and (cookie.expires < 0 or cookie.expires > now)
    ]
    sent.sort(key=lambda cookie: -len(cookie.path))
    pairs = [f"{cookie.name}={cookie.value}" if cookie.name else cookie.value for cookie in sent]
    return "; ".join(pair for pair in pairs if pair.isascii() and pair.isprintable())


def _is_of_host(domain: str, host: str) -> bool:
    """Return whether a cookie with this domain is sent to the host. A leading dot includes the hosts below."""
    bare = domain.removeprefix(".").lower()
    return host == bare or (domain.startswith(".") and host.endswith(f".{bare}"))


def _is_of_path(cookie_path: str, path: str) -> bool:
    """Return whether the path is that of the cookie or below it (section 5.1.4)."""
    if path == cookie_path:
        return True
    return path.startswith(cookie_path) and (cookie_path.endswith("/") or path[len(cookie_path)] == "/")
