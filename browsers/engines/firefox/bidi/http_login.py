"""An origin that asks for credentials gets them, once for each request. Other origins that ask get none.

Firefox reports each answer with status 401 and waits for what to do. Basic credentials are sent before the origin asks,
once that is known: then the requests to this origin alone, and to no other one, wait for their further header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from browsers.engines.firefox.bidi.connection import BidiChannel
from browsers.engines.interface import HttpCredentials

_MOST_ASKED: Final = 1000
"""The number of requests that are remembered, so that wrong credentials are sent once for each."""
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_UNAUTHORIZED: Final = 401
_CANCEL: Final[Mapping[str, Any]] = {"action": "cancel"}


class BidiHttpLogin:
    """A handler that answers the questions for credentials of one window."""

    def __init__(self, login: HttpCredentials | None) -> None:
        self.scheme = ""
        """The scheme by which the origin asked for credentials."""
        self._login = login
        self._asked: dict[str, None] = {}
        self._intercept = ""

    async def prepare(self, channel: BidiChannel, context: str) -> None:
        """Let the requests of a page wait that get Basic credentials before their origin asks. Raises EngineError."""
        login = self._login
        if login is None or not login.is_sent_at_once:
            return
        scheme, host, port = _parts(login.origin)
        pattern = {"type": "pattern", "protocol": scheme, "hostname": host, "port": str(port)}
        if port == _PORTS.get(scheme):
            pattern["port"] = ""
        answer = await channel.send(
            "network.addIntercept", phases=["beforeRequestSent"], contexts=[context], urlPatterns=[pattern]
        )
        self._intercept = answer["intercept"]

    def forget(self, root: BidiChannel) -> None:
        """Take back what `prepare` did."""
        if self._intercept:
            root.send("network.removeIntercept", intercept=self._intercept)

    def go_on(self, root: BidiChannel, params: Mapping[str, Any]) -> None:
        """Let a request go on that waits, with the credentials when it is for their origin."""
        told, login, changed = params["request"], self._login, {}
        has_own = any(header["name"].lower() == "authorization" for header in told["headers"])
        if login is not None and login.is_sent_at_once and _parts(told["url"]) == _parts(login.origin) and not has_own:
            ours = {"name": "Authorization", "value": {"type": "string", "value": login.basic}}
            changed = {"headers": [*told["headers"], ours]}
        root.send("network.continueRequest", request=told["request"], **changed)

    def answer(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what Firefox does about an answer that asks for credentials."""
        told, response, login = params["request"], params["response"], self._login
        if login is None or response["status"] != _UNAUTHORIZED or _parts(told["url"]) != _parts(login.origin):
            return _CANCEL
        challenges = response.get("authChallenges") or ({"scheme": ""},)
        if not login.is_for_realm(str(challenges[0].get("realm", ""))):
            return _CANCEL
        self.scheme = str(challenges[0]["scheme"]).lower() or self.scheme
        if told["request"] in self._asked or len(self._asked) >= _MOST_ASKED:
            return _CANCEL
        self._asked[told["request"]] = None
        credentials = {"type": "password", "username": login.user, "password": login.password}
        return {"action": "provideCredentials", "credentials": credentials}


def cancelled(root: BidiChannel, params: Mapping[str, Any]) -> None:
    """Give no credentials, so that the answer with status 401 is shown and recorded."""
    root.send("network.continueWithAuth", request=params["request"]["request"], **_CANCEL)


def _parts(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL; the port is None when it can't be read."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return "", "", None
