"""The setting `browsers.engine` chooses the browser of the ghosts. No other module names an engine."""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from archive.settings import BrowserSettings
from browsers.engines.chromium.browser import ChromiumEngine
from browsers.engines.chromium.executable import find_chromium
from browsers.engines.chromium.flags import launch_flags
from browsers.engines.chromium.trust import trusted_keys
from browsers.engines.firefox.browser import FirefoxEngine
from browsers.engines.firefox.executable import check_version, find_firefox
from browsers.engines.firefox.trust import make_database
from browsers.engines.interface import Device, Engine
from browsers.engines.playwright.browser import PlaywrightEngine
from browsers.engines.playwright.launch import Launch
from browsers.proxying.authority import authority_of

log = logging.getLogger(__name__)

type EngineStart = Callable[[], Awaitable[Engine]]
"""A function that starts an engine. Raises BrowserDown."""


@dataclass(frozen=True, slots=True)
class ProxyTrust:
    """The facts by which browsers trust a recording proxy."""

    keys: tuple[str, ...]
    """Hashes of the keys in the proxy's certificates (`browsers.engines.chromium.trust.trusted_keys`)."""
    authority: bytes
    """Certificate of the proxy's authority as PEM."""


def proxy_trust(home: Path, proxy: str) -> ProxyTrust:
    """Return the facts from the home, else from the proxy (host:port). Raises FleetUnavailable."""
    return ProxyTrust(trusted_keys(home, proxy), authority_of(home, proxy))


def engine_start(
    settings: BrowserSettings,
    trust: ProxyTrust,
    proxy_hosts: Iterable[str],
    device: Device,
    *,
    has_display: bool = False,
    answers_401: bool = False,
) -> EngineStart:
    """Return the function that starts the chosen browser for windows that look like `device`.

    With `has_display`, people see the windows, and the browser is Chromium, whose login any browser can use. With
    `answers_401`, each window has an HTTP login.

    `proxy_hosts` are the hosts on which sessions listen. Raises BrowserMissing when there is no such browser, or when
    it is too old, and FleetUnavailable when the browser can't be told to trust the proxy.
    """
    sandbox = _may_sandbox(settings)
    if settings.engine == "firefox" and not has_display:
        return _firefox(settings.model_copy(update={"sandbox": sandbox}), trust, device, answers_401=answers_401)
    executable = find_chromium(settings.executable)
    command = launch_flags(
        trust.keys,
        proxy_hosts,
        settings.lang,
        sandbox=sandbox,
        webdriver=settings.webdriver,
        has_display=has_display,
        keeps_caches=settings.cache == "site",
    )
    if settings.engine == "playwright:chromium" and not has_display:
        launch = Launch(executable, tuple(command))
        return lambda: PlaywrightEngine.start(launch, settings, answers_401=answers_401)
    return lambda: ChromiumEngine.start(executable, command, settings, answers_401=answers_401)


def _firefox(settings: BrowserSettings, trust: ProxyTrust, device: Device, *, answers_401: bool) -> EngineStart:
    executable = find_firefox(settings.firefox_executable)
    check_version(executable)
    database = make_database(executable, trust.authority)
    device = replace(device, lang=device.lang or settings.lang)

    async def start() -> Engine:
        return await FirefoxEngine.start(executable, database, settings, device, answers_401=answers_401)

    return start


def _may_sandbox(settings: BrowserSettings) -> bool:
    if not settings.sandbox:
        log.warning("the browser runs without its sandbox, since browsers.sandbox is false")
        return False
    if settings.engine != "firefox" and hasattr(os, "geteuid") and os.geteuid() == 0:
        log.warning("Chromium runs without its sandbox, since root can't use it; run ghostfleet as another user")
        return False
    return True
