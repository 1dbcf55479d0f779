"""The cookies and the local storage that visits left are kept in memory, by host, for a bounded number of hosts."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from browsers.engines.interface import BrowserCookie, InitScript
from browsers.logins.browser_profile import BrowserProfile

MOST_HOSTS: Final = 100
"""The host that was visited longest ago is forgotten first."""


class SiteData:
    """The object belongs to one visitor. It is used on one event loop."""

    def __init__(self) -> None:
        self._states: OrderedDict[str, BrowserProfile] = OrderedDict()

    def keep(self, host: str, state: BrowserProfile) -> None:
        """Keep what the last visit of a host left."""
        self._states[host] = state.bounded()
        self._states.move_to_end(host)
        while len(self._states) > MOST_HOSTS:
            self._states.popitem(last=False)

    def cookies(self, host: str) -> tuple[BrowserCookie, ...]:
        """Return the cookies for the next visit of the host."""
        return self._states[host].cookies if host in self._states else ()

    def init_scripts(self, host: str) -> tuple[InitScript, ...]:
        """Return the scripts that restore the local storage."""
        return self._states[host].init_scripts if host in self._states else ()

    def forget(self) -> None:
        """Forget all hosts, since their data belong to a login that has ended."""
        self._states.clear()
