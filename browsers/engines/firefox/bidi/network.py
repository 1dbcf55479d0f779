"""The network events of the frames of one window become its account of requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from browsers.engines.firefox.bidi.errors import reason_of
from browsers.engines.traffic import BrowserRequest, Traffic

_UNAWAITED: Final = frozenset(("ping", "cspviolationreport", "prefetch", "eventsource", "websocket"))
"""Kinds that stay open on purpose, or that no page waits for."""
_KINDS: Final[Mapping[str, str]] = {
    "audio": "media",
    "audioworklet": "script",
    "document": "document",
    "font": "font",
    "frame": "document",
    "iframe": "document",
    "image": "image",
    "json": "script",
    "manifest": "manifest",
    "paintworklet": "script",
    "report": "cspviolationreport",
    "script": "script",
    "serviceworker": "script",
    "sharedworker": "script",
    "style": "stylesheet",
    "track": "texttrack",
    "video": "media",
    "worker": "script",
}
"""Kinds by the destinations of the Fetch standard. The names are those of all engines."""
_FRAME_ELEMENTS: Final = frozenset(("object", "embed"))
_EMPTY_KINDS: Final[Mapping[str, str]] = {"beacon": "ping", "xmlhttprequest": "xhr", "fetch": "fetch", "link": "other"}
"""Kinds of requests without a destination, by the initiator types of the Resource Timing standard."""


@dataclass(slots=True)
class _Asked:
    """A request is in flight."""

    key: str
    request: BrowserRequest
    frame: str
    may_be_frame: bool = False
    """True if an element asks that becomes a frame when its answer is a document."""


class BidiRequests:
    """An observer that follows each request from its sending to its end.

    Each redirect is a request of the same id, with a redirect count of its own.
    """

    def __init__(self, traffic: Traffic, main_frame: str) -> None:
        self._traffic = traffic
        self._main_frame = main_frame
        self._asked: dict[str, _Asked] = {}

    def handle(self, method: str, params: Mapping[str, Any], *, is_popup: bool) -> None:
        """Take an event of the module network. `is_popup` says whether it is of a window that the page opened."""
        key = f"{params['request']['request']} {params['redirectCount']}"
        if method == "network.beforeRequestSent":
            self._sent(key, params, is_popup=is_popup)
            return
        asked = self._asked.get(key)
        if asked is None:
            return
        match method:
            case "network.responseStarted":
                self._traffic.answered(asked.request, params["response"]["status"], _headers(params["response"]))
            case "network.responseCompleted":
                del self._asked[key]
                self._traffic.finished(asked.key, asked.request)
            case "network.fetchError":
                del self._asked[key]
                self._traffic.failed(asked.key, asked.request, reason_of(params.get("errorText") or ""))

    def frame_loaded(self, url: str) -> None:
        """End the request of an `object` or `embed` that became a frame, since no other event tells of its answer.

        Such an element becomes a frame only when the answer has a status of success.
        """
        for key, asked in self._asked.items():
            if asked.may_be_frame and asked.request.url == url.partition("#")[0]:
                del self._asked[key]
                self._traffic.answered(asked.request, 200, {})
                self._traffic.finished(asked.key, asked.request)
                return

    def frames_ended(self, frames: Iterable[str]) -> None:
        """End the requests of frames, since no event of them will come."""
        ended = frozenset(frames)
        for key, asked in [(key, asked) for key, asked in self._asked.items() if asked.frame in ended]:
            del self._asked[key]
            self._traffic.failed(asked.key, asked.request, "ERR_ABORTED")

    def _sent(self, key: str, params: Mapping[str, Any], *, is_popup: bool) -> None:
        told = params["request"]
        if not told["url"].startswith("http") or key in self._asked:
            return
        headers = _headers(told)
        kind = _kind(told, headers)
        if is_popup and kind == "document":
            kind = "popup"
        is_main = params["context"] == self._main_frame and kind == "document" and params["navigation"] is not None
        request = BrowserRequest(
            url=told["url"],
            method=told["method"],
            kind=kind,
            is_main=is_main,
            is_awaited=kind not in _UNAWAITED,
            headers=headers,
        )
        self._asked[key] = _Asked(key, request, params["context"], told.get("destination") in _FRAME_ELEMENTS)
        self._traffic.began(key, request)


def _kind(told: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    if headers.get("upgrade", "").lower() == "websocket":
        return "websocket"
    if headers.get("accept") == "text/event-stream":
        return "eventsource"
    if "prefetch" in headers.get("sec-purpose", ""):
        return "prefetch"
    destination = told.get("destination") or ""
    return _KINDS.get(destination) or _EMPTY_KINDS.get(told.get("initiatorType") or "", "other")


def _headers(told: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers with names in lower case. Repeated values are joined."""
    found: dict[str, str] = {}
    for header in told["headers"]:
        name, value = header["name"].lower(), str(header["value"].get("value", ""))
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
