"""The cookies and the local storage that visits left are kept in memory, by host, for a bounded number of hosts."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from browsers.logins.browser_profile import BrowserProfile

MOST_HOSTS: Final = 100
"""The host that was visited longest ago is forgotten first."""


class SiteData:
    """The cookies and storage that one visitor keeps for each site. It is used on one event loop."""

    def __init__(self) -> None:
        self._states: OrderedDict[str, BrowserProfile] = OrderedDict()

    def keep(self, host: str, state: BrowserProfile) -> None:
        """Keep what the last visit of a host left."""
        self._states[host] = state.bounded()
        self._states.move_to_end(host)
        while len(self._states) > MOST_HOSTS:
            self._states.popitem(last=False)

    def left_by(self, host: str) -> BrowserProfile | None:
        """Return what the last visit of the host left; None without one."""
        return self._states.get(host)

    def forget(self) -> None:
        """Forget all hosts, since their data belong to a login that has ended."""
        self._states.clear()
