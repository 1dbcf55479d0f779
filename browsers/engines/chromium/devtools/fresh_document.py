"""The first document of a window with a kept context comes from the site, although the cache may have it.

The request and its redirects say so, as when a person reloads a page. No other command of the protocol does this for a
document alone: commands that rule the cache reach the renderer of the document too late.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from browsers.engines.chromium.devtools.connection import DevToolsSession

_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_RELOAD: Final = {"name": "Cache-Control", "value": "no-cache"}


class FreshDocument:
    """A handler of the Fetch events of the page's session, until the document has an answer."""

    def __init__(self, *, is_awaited: bool) -> None:
        self.is_awaited = is_awaited

    def prepare(self, session: DevToolsSession) -> None:
        """Let the session report the requests for documents and their answers."""
        patterns = [
            {"urlPattern": "*", "resourceType": "Document", "requestStage": stage} for stage in ("Request", "Response")
        ]
        session.send("Fetch.enable", patterns=patterns)

    def handle(self, session: DevToolsSession, params: Mapping[str, Any]) -> None:
        """Take an event of the domain Fetch.

        The interception ends with the answer of the document, which goes on then. The requests of a document that
        begins meanwhile would be intercepted, too, which changes them.
        """
        if "responseStatusCode" not in params and "responseErrorReason" not in params:
            told = params["request"]["headers"]
            headers = [{"name": name, "value": value} for name, value in told.items() if name != _RELOAD["name"]]
            session.send("Fetch.continueRequest", requestId=params["requestId"], headers=[*headers, _RELOAD])
        elif _is_redirect(params):
            session.send("Fetch.continueRequest", requestId=params["requestId"])
        else:
            self.is_awaited = False
            session.send("Fetch.disable")


def _is_redirect(params: Mapping[str, Any]) -> bool:
    names = {header["name"].lower() for header in params.get("responseHeaders", ())}
    return params.get("responseStatusCode") in _REDIRECTS and "location" in names
