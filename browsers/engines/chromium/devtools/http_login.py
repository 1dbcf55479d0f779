"""An origin that asks for credentials gets them. Basic credentials are sent before the origin asks, once that is known.

Other origins that ask get none, so that their page with status 401 is shown. A browser whose windows have no HTTP login
shows such a page without asking anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from browsers.engines.chromium.devtools.connection import DevToolsSession
from browsers.engines.interface import HttpCredentials

_MOST_ASKED: Final = 1000
"""The number of requests that are remembered, so that wrong credentials are sent once for each."""


class AskedRequests:
    """The requests that got the credentials of one login. A request that asks again has wrong ones."""

    def __init__(self) -> None:
        self._ids: set[str] = set()

    def answer(self, request: str, user: str, password: str) -> dict[str, str]:
        """Return the answer for the request: the credentials once, and none after that."""
        if request in self._ids or len(self._ids) >= _MOST_ASKED:
            return {"response": "CancelAuth"}
        self._ids.add(request)
        return {"response": "ProvideCredentials", "username": user, "password": password}


class HttpLoginAnswers:
    """A handler of the Fetch events of all sessions of one window."""

    def __init__(self, login: HttpCredentials | None) -> None:
        self.scheme = ""
        """The scheme by which the origin asked for credentials."""
        self._login = login
        self._asked = AskedRequests()

    def prepare(self, session: DevToolsSession) -> None:
        """Let the session report the requests that may need an answer."""
        login = self._login
        if login is not None and login.is_sent_at_once:
            session.send("Fetch.enable", patterns=[{"urlPattern": f"{login.origin}/*"}])
        elif login is not None:
            session.send("Fetch.enable", patterns=[{"urlPattern": "*"}], handleAuthRequests=True)

    def handle(self, session: DevToolsSession, method: str, params: Mapping[str, Any]) -> None:
        """Take an event of the domain Fetch."""
        if method == "Fetch.requestPaused":
            session.send("Fetch.continueRequest", requestId=params["requestId"], **self._changed(params["request"]))
        elif method == "Fetch.authRequired":
            session.send(
                "Fetch.continueWithAuth",
                requestId=params["requestId"],
                authChallengeResponse=self._answer(params["requestId"], params["authChallenge"]),
            )

    def _changed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        login = self._login
        is_ours = login is not None and login.is_sent_at_once and request["url"].startswith(f"{login.origin}/")
        if login is None or not is_ours or any(name.lower() == "authorization" for name in request["headers"]):
            return {}
        headers = [{"name": name, "value": value} for name, value in request["headers"].items()]
        return {"headers": [*headers, {"name": "Authorization", "value": login.basic}]}

    def _answer(self, request: str, challenge: Mapping[str, Any]) -> dict[str, str]:
        login = self._login
        if login is None or challenge.get("source") == "Proxy" or challenge["origin"] != login.origin:
            return {"response": "CancelAuth"}
        if not login.is_for_realm(str(challenge.get("realm", ""))):
            return {"response": "CancelAuth"}
        self.scheme = challenge["scheme"].lower()
        return self._asked.answer(request, login.user, login.password)
