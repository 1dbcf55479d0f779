"""The logins of a job are made before its first visit, by what each site asks for: by HTTP, or in a form.

A site that answers with status 401 gets the credentials by Basic or Digest, and no browser is needed. Any other page is
opened in a browser, which enters user and password in the form. All requests pass a proxy that archives nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Final, Self
from urllib.parse import urljoin, urlsplit

from archive.settings.load import Settings
from archive.url import UrlError, canonical
from browsers.engines.choice import proxy_trust
from browsers.engines.interface import EngineError, HttpCredentials
from browsers.ghosts.ghost import Ghost
from browsers.ghosts.login_visits import COLLECTION
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.form_login import LoginFailed
from browsers.logins.http_challenge import challenges
from browsers.logins.login_book import LoginBook
from browsers.logins.plain_login import PlainLogin
from browsers.logins.renewal import logged_in
from browsers.plain.visitor import PlainAnswer, PlainVisitor, SiteFailure
from browsers.proxying.control_client import Control, SessionRequest, read_token
from browsers.visit import VisitOrder

_MOST_REDIRECTS: Final = 5
_SCHEMES: Final = ("basic", "digest")
_UNAUTHORIZED: Final = 401
_LAST_SECONDS: Final = 5.0


class SiteLogins:
    """A maker of logins through one running fleet. It is safe to use from several threads."""

    def __init__(self, settings: Settings, proxy: str, controls: Sequence[str]) -> None:
        """Start nothing yet. `proxy` and `controls` are addresses of a running fleet."""
        self._settings = settings
        self._proxy = proxy
        self._control = Control(controls[0], read_token(settings.home))
        self._browser: Ghost | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._browser is not None:
            self._browser.close()
        self._control.close()

    def made(self, profile: BrowserProfile) -> BrowserProfile:
        """Return the profile with what its site gave for its recipe: a scheme, or cookies and storage.

        The recipe must have a user and a password. `http` of the profile, if any, names the realm that counts. Raises
        LoginFailed, BrowserMissing and FleetUnavailable.
        """
        assert profile.recipe is not None
        realm = profile.http.realm if profile.http is not None else ""
        user, password = profile.recipe.user, profile.recipe.password
        url = profile.url
        for _ in range(_MOST_REDIRECTS):
            http = HttpCredentials(_origin(url), user, password, realm=realm)
            sent, answer = self._asked(replace(profile, url=url, http=http))
            if answer.status == _UNAUTHORIZED:
                raise LoginFailed(_refusal(url, http, answer))
            if sent:
                return replace(profile, http=replace(http, scheme=sent), recipe=None)
            onward = _redirect(url, answer)
            if not onward:
                break
            url = onward
        return self._by_form(replace(profile, http=None))

    def _asked(self, profile: BrowserProfile) -> tuple[str, PlainAnswer]:
        """Ask for the page. Return the scheme by which the site took the credentials, if it asked, and its answer."""
        login = PlainLogin(LoginBook(profile))
        visitor = PlainVisitor(self._settings, [self._control], login=login, connections=1, mode="live")
        try:
            answer = visitor.fetch(VisitOrder(profile.url, COLLECTION), keep=0)
        except SiteFailure as error:
            raise LoginFailed(f"{profile.url} can't be opened: {error.reason}") from error
        finally:
            visitor.close()
        return login.scheme_of(profile.url), answer

    def _by_form(self, profile: BrowserProfile) -> BrowserProfile:
        browser = self._opened()
        session = self._control.open(SessionRequest(COLLECTION, mode="live", listen=True))
        try:
            return browser.in_window(session.address, lambda window: logged_in(window, profile))
        except EngineError as error:
            raise LoginFailed(f"the browser ended before the login at {profile.url} did") from error
        finally:
            self._control.finish(session, wait_seconds=_LAST_SECONDS)

    def _opened(self) -> Ghost:
        with self._lock:
            if self._browser is None:
                trust = proxy_trust(self._settings.home, self._proxy)
                browser = Ghost(self._settings, [self._control], trust)
                try:
                    browser.open()
                except BaseException:
                    browser.close()
                    raise
                self._browser = browser
            return self._browser


def _refusal(url: str, http: HttpCredentials, answer: PlainAnswer) -> str:
    found = [each for each in challenges(answer.headers.get("www-authenticate", "")) if each.scheme in _SCHEMES]
    if not found:
        return f"{url} answers 401 and asks neither by Basic nor by Digest"
    if not any(http.is_for_realm(each.realm) for each in found):
        asked = ", ".join(repr(each.realm[:100]) for each in found)
        return f"{url} asks for the realm {asked}, and the password is for the realm {http.realm!r}"
    return f"{url} does not take the user and the password"


def _redirect(url: str, answer: PlainAnswer) -> str:
    """Return where the answer leads on the same host, never from https to http; empty when it leads nowhere else."""
    to = answer.headers.get("location", "") if 300 <= answer.status < 400 else ""
    try:
        onward = canonical(urljoin(url, to)) if to else ""
    except (UrlError, ValueError):
        return ""
    before, after = urlsplit(url), urlsplit(onward)
    is_weaker = before.scheme == "https" and after.scheme != "https"
    return onward if onward != url and after.hostname == before.hostname and not is_weaker else ""


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
