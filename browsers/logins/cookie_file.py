"""Cookies of other programs are read here: Netscape's cookies.txt, and the JSON of browser extensions and Playwright.

curl, wget, Heritrix and most browser extensions write cookies.txt. Playwright's storage state also has local storage.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.cookiejar import LoadError, MozillaCookieJar
from pathlib import Path
from typing import Any, Final

from browsers.engines.interface import BrowserCookie
from browsers.logins.browser_profile import MAX_COOKIES

MAX_BYTES: Final = 10_000_000
_SAME_SITES: Final = {"strict": "Strict", "lax": "Lax", "none": "None", "no_restriction": "None"}


class CookieFileError(ValueError):
    """The file can't be used. The message is one line without values of cookies."""


@dataclass(frozen=True, slots=True)
class CookieFile:
    """The content of a file of cookies. Its text form shows no secret."""

    cookies: tuple[BrowserCookie, ...] = field(default=(), repr=False)
    storage: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict, repr=False)
    """Names and values of the local storage, by origin."""
    left_out: int = 0
    """Number of cookies that can't be used, or that are too many."""


def read_cookie_file(path: Path) -> CookieFile:
    """Return the cookies of a file. Raises CookieFileError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise CookieFileError(f"{path} can't be read: {error.strerror}; correct the path") from error
    if len(data) > MAX_BYTES:
        raise CookieFileError(f"{path} has more than {MAX_BYTES:,} bytes; leave the cookies of other sites out")
    if data.lstrip()[:1] in (b"{", b"["):
        return _json(path, data)
    return _netscape(path)


def _netscape(path: Path) -> CookieFile:
    jar = MozillaCookieJar()
    try:
        jar.load(str(path), ignore_discard=True, ignore_expires=True)
    except (LoadError, OSError, UnicodeDecodeError) as error:
        raise CookieFileError(
            f"{path} is no file of cookies; export a cookies.txt, whose first line is `# Netscape HTTP Cookie File`"
        ) from error
    found = [
        BrowserCookie(
            each.name,
            each.value or "",
            each.domain,
            each.path or "/",
            float(each.expires) if each.expires else -1,
            each.has_nonstandard_attr("HTTPOnly"),
            each.secure,
        )
        for each in jar
    ]
    return _bounded(found, 0)


def _json(path: Path, data: bytes) -> CookieFile:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CookieFileError(f"{path} is no JSON; export the cookies again") from error
    listed = value.get("cookies") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise CookieFileError(f"{path} has no list of cookies; write an array, or an object with the key `cookies`")
    found = [_cookie(each) for each in listed]
    storage = _storage(value.get("origins")) if isinstance(value, dict) else {}
    usable = [each for each in found if each is not None]
    return _bounded(usable, len(found) - len(usable), storage)


def _cookie(value: Any) -> BrowserCookie | None:
    """Return a cookie as extensions and Playwright write it; None when name, value or domain is no text."""
    if not isinstance(value, dict):
        return None
    texts = [value.get(name) for name in ("name", "value", "domain")]
    if not all(isinstance(each, str) for each in texts) or not texts[2]:
        return None
    name, content, domain = map(str, texts)
    path, expires = value.get("path"), value.get("expires", value.get("expirationDate"))
    same_site = value.get("sameSite")
    return BrowserCookie(
        name,
        content,
        domain,
        path if isinstance(path, str) and path.startswith("/") else "/",
        float(expires) if isinstance(expires, int | float) and not isinstance(expires, bool) and expires > 0 else -1,
        value.get("httpOnly") is True,
        value.get("secure") is True,
        _SAME_SITES.get(same_site.lower(), "") if isinstance(same_site, str) else "",
    )


def _storage(origins: Any) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the local storage of Playwright's `origins`. What has another form is left out."""
    found = {}
    for each in origins if isinstance(origins, list) else ():
        pairs = each.get("localStorage") if isinstance(each, dict) else None
        if isinstance(pairs, list) and isinstance(each.get("origin"), str):
            found[each["origin"]] = tuple(
                (pair["name"], pair["value"])
                for pair in pairs
                if isinstance(pair, dict) and isinstance(pair.get("name"), str) and isinstance(pair.get("value"), str)
            )
    return found


def _bounded(
    cookies: Iterable[BrowserCookie], left_out: int, storage: Mapping[str, tuple[tuple[str, str], ...]] | None = None
) -> CookieFile:
    listed = tuple(cookies)
    return CookieFile(listed[:MAX_COOKIES], storage or {}, left_out + max(len(listed) - MAX_COOKIES, 0))
