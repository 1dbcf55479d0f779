"""A job makes its logins before its first visit, so that its visitors have cookies and credentials from the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from admin.fleet.fleet import Addresses
from admin.fleet.process import StartInterrupted
from archive.settings.load import Settings
from browsers.engines.interface import BrowserMissing
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.form_login import LoginFailed
from browsers.logins.profile_store import ProfileStore, ProfileUnusable
from browsers.visit import FleetUnavailable

_AT_ONCE: Final = 4


def make_logins(
    settings: Settings, addresses: Addresses, names: Sequence[str], abandon: Callable[[], bool]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make the stored logins of these names that have a password and were not made yet, and store the result.

    Return the names of the logins that can be used, and a line for each of the others. Raises StartInterrupted when
    `abandon` returns True.
    """
    from browsers.ghosts.site_logins import SiteLogins  # the ghost's modules take long to load, and most jobs need none

    store = ProfileStore(settings.home)
    with SiteLogins(settings, addresses.proxy, addresses.controls) as sites, ThreadPoolExecutor(_AT_ONCE) as pool:

        def problem_of(name: str) -> str:
            """Make one login. Return what went wrong; empty when nothing did."""
            if abandon():
                return "interrupted"
            try:
                profile = store.load(name)
                if _is_to_be_made(profile):
                    store.save(sites.made(profile))
            except (LoginFailed, BrowserMissing, ProfileUnusable, FleetUnavailable) as error:
                return f"login {name} failed, so its pages are captured without it: {error}"
            return ""

        problems = list(pool.map(problem_of, names))
    if abandon():
        raise StartInterrupted
    good = tuple(name for name, problem in zip(names, problems, strict=True) if not problem)
    return good, tuple(filter(None, problems))


def _is_to_be_made(profile: BrowserProfile) -> bool:
    is_bare = not profile.cookies and not profile.storage and (profile.http is None or not profile.http.scheme)
    return is_bare and profile.recipe is not None and bool(profile.recipe.password)
