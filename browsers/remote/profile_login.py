"""Read the login that a closed window has left in its profile folder, without a request to anybody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Error, Route, StorageState, async_playwright

from archive.dates import Micros
from browsers.engines.chromium.flags import recorded_window_flags
from browsers.engines.playwright.cookies import cookie_of
from browsers.logins.browser_profile import BrowserProfile

MOST_ORIGINS: Final = 50
"""Sites whose local storage is read; the cookies are those of all sites."""
_SECONDS: Final = 120.0
_PAGE_MS: Final = 10_000
_NOBODY: Final = "127.0.0.1:9"
"""The browser that reads the profile has no proxy that answers."""


class LoginUnreadable(Exception):
    """The browser that reads the profile could not be started. The message is one line."""


async def login_of_profile(
    executable: Path, profile: Path, name: str, urls: Iterable[str], created: Micros, *, sandbox: bool
) -> BrowserProfile:
    """Return the cookies of a profile folder, and the local storage of the sites of these URLs, as a login.

    No browser may use the folder. Raises LoginUnreadable.
    """
    listed = list(urls)
    flags = recorded_window_flags((), _NOBODY, str(profile), is_visible=False)
    try:
        async with asyncio.timeout(_SECONDS), async_playwright() as driver:
            context = await driver.chromium.launch_persistent_context(
                profile,
                executable_path=executable,
                args=[flag for flag in flags if not flag.startswith("--user-data-dir")],
                headless=True,
                chromium_sandbox=sandbox,
                service_workers="block",
            )
            try:
                await context.route("**/*", _answer)
                page = await context.new_page()
                for origin in _origins(listed):
                    with suppress(Error):  # the site can't be opened without its network
                        await page.goto(f"{origin}/", timeout=_PAGE_MS)
                state = await context.storage_state()
            finally:
                await context.close()
    except (Error, OSError, TimeoutError) as error:
        raise LoginUnreadable(
            f"the login could not be read: {(str(error) or 'no answer').splitlines()[0][:300]}"
        ) from error
    return login_of_state(state, name, listed[-1] if listed else "", created)


def login_of_state(state: StorageState, name: str, url: str, created: Micros) -> BrowserProfile:
    """Return what Playwright told of cookies and local storage as a login; `url` is the page of the login."""
    cookies = tuple(cookie_of(each) for each in state.get("cookies", []))
    storage = {
        each["origin"]: tuple((pair["name"], pair["value"]) for pair in each["localStorage"])
        for each in state.get("origins", [])
    }
    return BrowserProfile(name, url, created, cookies, storage)


def _origins(urls: Iterable[str]) -> list[str]:
    found: dict[str, Any] = {}
    for url in urls:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.netloc:
            found[f"{parts.scheme}://{parts.netloc}"] = None
    return list(islice(found, MOST_ORIGINS))


async def _answer(route: Route) -> None:
    """Answer each request by an empty page, so that the site learns nothing."""
    with suppress(Error):
        await route.fulfill(status=200, content_type="text/html", body="<!doctype html><title></title>")
