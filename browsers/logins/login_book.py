"""The login book has the stored logins of a job, and says which of them a visit to a URL has.

One login may be for all sites (profile key `browser_profile`). Each of the others (profile key `logins`) is for its own
site alone: its host, and the hosts to which its cookies are sent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from urllib.parse import urlsplit

from browsers.logins.browser_profile import BrowserProfile, LoginCheck


class LoginBook:
    """The book has the logins of one visitor. Several threads may use the book."""

    def __init__(self, everywhere: BrowserProfile | None = None, sites: Iterable[BrowserProfile] = ()) -> None:
        """`everywhere` is the login of all visits; each of `sites` is for the visits of its own site."""
        self._everywhere = everywhere
        self._by_host: dict[str, list[BrowserProfile]] = {}
        self._joined: dict[tuple[int, ...], BrowserProfile] = {}
        self._lock = threading.Lock()
        for profile in sites:
            for host in _hosts(profile):
                self._by_host.setdefault(host, []).append(profile)

    def __bool__(self) -> bool:
        """Return whether there is any login."""
        return self._everywhere is not None or bool(self._by_host)

    @property
    def waits_for_question(self) -> bool:
        """Return whether a site must ask by HTTP before it gets the credentials of one of the logins."""
        https = [each.http for each in self._all()]
        return any(http is not None and not http.is_sent_at_once for http in https)

    def for_url(self, url: str) -> BrowserProfile | None:
        """Return the login of a visit to the URL; None without one. Several logins of a site are joined."""
        found = self._of_site(url)
        if self._everywhere is not None:
            found = [*found, self._everywhere]
        if len(found) < 2:
            return found[0] if found else None
        key = tuple(id(each) for each in found)
        with self._lock:
            if key not in self._joined:
                self._joined[key] = _joined(found)
            return self._joined[key]

    def replace(self, old: BrowserProfile, new: BrowserProfile) -> None:
        """Put a login in the place of an older one."""
        with self._lock:
            self._joined.clear()
            if self._everywhere is old:
                self._everywhere = new
            for profiles in self._by_host.values():
                profiles[:] = [new if each is old else each for each in profiles]

    def _of_site(self, url: str) -> list[BrowserProfile]:
        """Return the logins of the URL's site, the one whose page is nearest to the URL first."""
        if not self._by_host:
            return []
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:  # no URL
            return []
        found = [*self._by_host.get(host, ())]
        while "." in host:
            host = host.partition(".")[2]
            found += self._by_host.get(f".{host}", ())
        found = list({id(each): each for each in found}.values())
        return sorted(
            found, key=lambda each: (each.http is None or not each.http.is_of(url), -_nearness(each.url, url))
        )

    def _all(self) -> Iterator[BrowserProfile]:
        if self._everywhere is not None:
            yield self._everywhere
        for profiles in self._by_host.values():
            yield from profiles


def _hosts(profile: BrowserProfile) -> set[str]:
    """Return the hosts that a login is for; a leading dot stands for all hosts below."""
    urls = (profile.url, *profile.storage, *((profile.http.origin,) if profile.http is not None else ()))
    names = {urlsplit(url).hostname or "" for url in urls} | {cookie.domain.lower() for cookie in profile.cookies}
    return (names | {name.removeprefix(".") for name in names}) - {""}


def _nearness(page: str, url: str) -> int:
    """Return how many characters the URL shares with the folder of a login's page, when the URL is below; else 0."""
    folder = page.partition("?")[0].rpartition("/")[0] + "/"
    return len(folder) if url.startswith(folder) else 0


def _joined(profiles: list[BrowserProfile]) -> BrowserProfile:
    """Return one login with the cookies, the storage and the first credentials of all; it can't be renewed."""
    storage = {origin: pairs for each in reversed(profiles) for origin, pairs in each.storage.items()}
    return replace(
        profiles[0],
        cookies=tuple(dict.fromkeys(cookie for each in profiles for cookie in each.cookies)),
        storage=storage,
        check=next((each.check for each in profiles if each.check.selector or each.check.text), LoginCheck()),
        http=next((each.http for each in profiles if each.http is not None), None),
        recipe=None,
    )
