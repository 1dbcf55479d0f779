"""The plain crawler sends the cookies and the credentials of stored logins, and answers a site that asks by HTTP.

Basic credentials are sent before the site asks, once that is known. Digest credentials (RFC 7616) need the site's
question first; later requests use the same question again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Final

import httpx

from browsers.engines.interface import HttpCredentials
from browsers.logins.http_challenge import challenges
from browsers.logins.login_book import LoginBook

_SCHEMES: Final = ("digest", "basic")
"""The schemes that are answered, the safer one first."""
_MOST_DIGESTS: Final = 1_000
"""The number of sites whose questions are remembered."""
_UNAUTHORIZED: Final = 401


class PlainLogin:
    """The logins of one plain crawler. It is safe to use from several threads."""

    def __init__(self, book: LoginBook) -> None:
        self._book = book
        self._digests: dict[HttpCredentials, httpx.DigestAuth] = {}
        self._schemes: dict[str, str] = {}
        self._lock = threading.Lock()

    def is_for(self, url: str) -> bool:
        """Return whether requests to the URL have a login, so that its secrets must not be recorded."""
        return self._book.for_url(url) is not None

    def headers(self, url: str) -> dict[str, str]:
        """Return the headers Cookie and Authorization of a request to the URL, as far as they are known."""
        profile = self._book.for_url(url)
        if profile is None:
            return {}
        found = profile.headers_for(url, time.time())
        http = profile.http
        if http is not None and http.is_of(url) and (sent := self._digest(http, url, "")):
            found["Authorization"] = sent
        return found

    def answer(self, url: str, asked: Mapping[str, str], sent: str) -> str:
        """Return the value of Authorization for the same request once more; empty when there is no better one.

        `asked` are the headers of the site's answer with status 401, by lower-case name. `sent` is the value of
        Authorization that the request had.
        """
        profile = self._book.for_url(url)
        http = profile.http if profile is not None else None
        if http is None or not http.is_of(url):
            return ""
        found = {each.scheme: each for each in reversed(challenges(asked.get("www-authenticate", "")))}
        for scheme in _SCHEMES:
            challenge = found.get(scheme)
            if challenge is None or not http.is_for_realm(challenge.realm):
                continue
            value = http.basic if scheme == "basic" else self._digest(http, url, challenge.text)
            if not value or value == sent:
                return ""
            self._schemes[http.origin] = scheme
            return value
        return ""

    def scheme_of(self, url: str) -> str:
        """Return the scheme by which the URL's site asked and was answered; empty when it has not asked."""
        return next((scheme for origin, scheme in self._schemes.items() if url.startswith(f"{origin}/")), "")

    def _digest(self, http: HttpCredentials, url: str, challenge: str) -> str:
        """Return the value for the scheme Digest; without a challenge, one for the last challenge of the site.

        The value is empty when the site has not asked, or has asked for what no client knows.
        """
        with self._lock:
            auth = self._digests.get(http)
            if auth is None and not challenge:
                return ""
            if auth is None or challenge:
                if len(self._digests) >= _MOST_DIGESTS:
                    self._digests.clear()
                auth = self._digests[http] = httpx.DigestAuth(http.user.encode(), http.password.encode())
            request = httpx.Request("GET", url)
            flow = auth.sync_auth_flow(request)
            try:
                next(flow)
                if challenge:
                    flow.send(httpx.Response(_UNAUTHORIZED, headers={"WWW-Authenticate": challenge}, request=request))
                return str(request.headers.get("Authorization", ""))
            except (StopIteration, ValueError, LookupError, NotImplementedError, httpx.ProtocolError):
                del self._digests[http]
                return ""
            finally:
                flow.close()
