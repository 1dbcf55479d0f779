"""A profile that has a recipe, or credentials for HTTP, can log in again without a person."""

from __future__ import annotations

from dataclasses import replace

from archive.dates import now_micros
from browsers.engines.interface import BrowserWindow
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.flow_login import log_in_by_flow
from browsers.logins.form_login import Credentials, check_login, log_in, open_page, state_of


async def logged_in(window: BrowserWindow, profile: BrowserProfile) -> BrowserProfile:
    """Log in as the profile's recipe says, and return the profile with the new cookies and storage.

    The window must have been opened with the profile's HTTP login. Raises LoginFailed and EngineError.
    """
    recipe = profile.recipe
    if recipe is not None and recipe.flow:
        await log_in_by_flow(window, recipe.flow, profile.check)
    elif recipe is not None:
        await log_in(window, profile.url, Credentials(recipe.user, recipe.password), profile.check)
    else:
        await open_page(window, profile.url)
        await check_login(window, profile.check)
    found = await state_of(window, replace(profile, created=now_micros()))
    if found.http is not None and window.http_scheme:
        found = replace(found, http=replace(found.http, scheme=window.http_scheme))
    return found
