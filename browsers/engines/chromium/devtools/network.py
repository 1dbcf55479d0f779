"""The network events of all sessions of one window become its account of requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from browsers.engines.chromium.devtools.connection import DevToolsSession
from browsers.engines.traffic import MAX_BODY, MAX_INITIATOR, BrowserRequest, Traffic
from browsers.links.kinds import is_xml

_UNAWAITED: Final = frozenset(("ping", "cspviolationreport", "prefetch", "eventsource", "websocket"))
"""Kinds whose end the browser does not report in all cases, or that stay open on purpose."""
_ABORTED: Final = "net::ERR_ABORTED"
_MOST_STACKS: Final = 8
"""Stacks that are looked through for the script of a request: a stack, and the earlier ones that led to it."""
_MOST_CALLS: Final = 50
"""Calls of each stack that are looked at."""
_MOST_GONE: Final = 5000
"""The number of ids of gone frames and documents, and of XML documents, that are remembered."""


@dataclass(slots=True)
class _Asked:
    """A request is in flight."""

    key: str
    request: BrowserRequest
    session: DevToolsSession
    frame: str
    loader: str
    number: int
    """Requests are counted from 1. A redirect does not change the number."""


class RequestEvents:
    """An observer that follows each request from its sending to its end. Ids of requests are unique in a browser.

    The browser does not report the end of each request whose frame or document has gone, and the events of different
    processes come in any order. So no such request is awaited, whether its own events come before or after the end of
    its frame. Nor does the browser report the end of the style sheet by which it transforms an XML document: it reports
    the end of the document twice.
    """

    def __init__(self, traffic: Traffic) -> None:
        self.main_frame = ""
        """Id of the frame whose navigations are the main ones."""
        self._traffic = traffic
        self._asked: dict[str, _Asked] = {}
        self._number = 0
        self._documents: dict[str, str] = {}
        """Present document of each frame, by the browser's ids."""
        self._gone: dict[str, None] = {}
        """Ids of frames and documents that have gone, the oldest first."""
        self._xml: dict[str, None] = {}
        """Ids of XML documents that have ended once, the oldest first."""

    def handle(self, session: DevToolsSession, method: str, params: Mapping[str, Any], *, is_popup: bool) -> None:
        """Take an event of the domain Network. `is_popup` says whether a window that the page opened sent it."""
        match method:
            case "Network.requestWillBeSent":
                self._sent(session, params, is_popup=is_popup)
            case "Network.responseReceived":
                if asked := self._asked.get(params["requestId"]):
                    self._answered(asked, params["response"])
            case "Network.requestServedFromCache":
                if asked := self._asked.get(params["requestId"]):
                    self._traffic.cached(asked.request)
            case "Network.loadingFinished":
                if asked := self._asked.pop(params["requestId"], None):
                    self._traffic.finished(asked.key, asked.request, int(params.get("encodedDataLength", 0)))
                    answer = self._traffic.asked.get(asked.request.url)
                    if asked.loader == params["requestId"] and answer is not None and is_xml(answer.mime):
                        _note(self._xml, asked.loader)
                elif params["requestId"] in self._xml:
                    self._document_ended_again(params["requestId"])
            case "Network.loadingFailed":
                if asked := self._asked.pop(params["requestId"], None):
                    self._traffic.failed(asked.key, asked.request, params.get("errorText") or "failed")

    def session_ended(self, session: DevToolsSession) -> None:
        """End the requests of a session, since no event of them will come."""
        self._abandon([asked for asked in self._asked.values() if asked.session is session])

    def document_began(self, frame_id: str, loader: str) -> None:
        """End the requests of the earlier documents of a frame. `loader` is the id of the new document."""
        self._gone.pop(frame_id, None)  # a frame comes back when its document gets another process
        before = self._documents.get(frame_id, "")
        self._documents[frame_id] = loader
        if before and before != loader:
            _note(self._gone, before)
        of_frame = [asked for asked in self._asked.values() if asked.frame == frame_id and asked.loader != loader]
        self._abandon([asked for asked in of_frame if asked.request.kind != "document"])
        number = next((asked.number for asked in self._asked.values() if asked.loader == loader), 0)
        for asked in of_frame:
            # A frame goes to one document at a time, so that what was asked for earlier will not be shown.
            if asked.request.kind == "document" and (asked.loader == before or asked.number < number):
                _note(self._gone, asked.loader)
                self._traffic.release(asked.key)

    def frame_gone(self, frame_id: str) -> None:
        """End the requests of a frame that was removed.

        The request for its document is only released: it may have been answered whole.
        """
        _note(self._gone, frame_id)
        self._documents.pop(frame_id, None)
        of_frame = [asked for asked in self._asked.values() if asked.frame == frame_id]
        self._abandon([asked for asked in of_frame if asked.request.kind != "document"])
        for asked in of_frame:
            self._traffic.release(asked.key)

    def _document_ended_again(self, loader: str) -> None:
        """Await no style sheet any more that an XML document asked for."""
        for asked in self._asked.values():
            if asked.loader == loader and asked.request.kind == "stylesheet":
                self._traffic.release(asked.key)

    def _sent(self, session: DevToolsSession, params: Mapping[str, Any], *, is_popup: bool) -> None:
        request_id, told = params["requestId"], params["request"]
        before = self._asked.pop(request_id, None)
        if before is not None:
            if "redirectResponse" not in params:
                self._asked[request_id] = before  # two sessions reported the same request
                return
            self._answered(before, params["redirectResponse"])
            self._traffic.finished(before.key, before.request)
        if not told["url"].startswith("http"):
            return
        kind = params.get("type", "Other").lower()
        if is_popup and kind == "document":
            kind = "popup"
        loader, frame = params.get("loaderId", ""), params.get("frameId", "")
        self._number += 1
        is_gone = frame in self._gone or loader in self._gone
        asked = _Asked(
            f"{request_id} {self._number}",
            BrowserRequest(
                url=told["url"],
                method=told["method"],
                kind=kind,
                is_main=kind == "document" and frame == self.main_frame and request_id == loader,
                is_awaited=not is_popup and not is_gone and kind not in _UNAWAITED,
                headers=_lower(told["headers"]),
                body=told["postData"][:MAX_BODY] if "postData" in told else None,
                initiator=initiator_of(params.get("initiator", {}), params.get("documentURL", "")),
            ),
            session,
            frame,
            loader,
            before.number if before is not None else self._number,
        )
        self._asked[request_id] = asked
        self._traffic.began(asked.key, asked.request)

    def _answered(self, asked: _Asked, response: Mapping[str, Any]) -> None:
        self._traffic.answered(asked.request, int(response["status"]), _lower(response["headers"]))
        if response.get("fromDiskCache"):
            self._traffic.cached(asked.request)

    def _abandon(self, given_up: list[_Asked]) -> None:
        for asked in given_up:
            self._asked.pop(asked.key.partition(" ")[0], None)
            self._traffic.failed(asked.key, asked.request, _ABORTED)


def _note(ids: dict[str, None], new: str) -> None:
    ids[new] = None
    if len(ids) > _MOST_GONE:
        del ids[next(iter(ids))]


def initiator_of(told: Mapping[str, Any], document: str) -> str:
    """Return the kind and the place of what made a page send a request; empty when the browser does not say.

    `told` is an Initiator of the DevTools protocol, and `document` the URL of the document of the request's frame. A
    script that the page made up has no URL. Then the nearest caller with one is named.
    """
    place, kind = _place(told), told.get("type", "")
    if kind == "script":
        stack: Mapping[str, Any] | None = told.get("stack")
        for _ in range(_MOST_STACKS):
            if stack is None:
                break
            calls = stack.get("callFrames", ())[:_MOST_CALLS]
            if found := next((_place(call) for call in calls if call.get("url", "").startswith("http")), ""):
                place = found
                break
            stack = stack.get("parent")
    elif kind == "parser":
        kind = "document" if told.get("url", "").partition("#")[0] == document.partition("#")[0] else "stylesheet"
    elif kind != "preload":
        return ""
    return f"{kind} {place}"[:MAX_INITIATOR] if place else ""


def _place(told: Mapping[str, Any]) -> str:
    """Return URL and line of a place in a document, a style sheet or a script; empty without a URL."""
    url = str(told.get("url") or "")
    if not url.startswith("http"):
        return ""
    line = told.get("lineNumber")
    return f"{url}:{round(line) + 1}" if isinstance(line, int | float) and line >= 0 else url


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with names in lower case. The protocol separates repeated values by line ends."""
    return {name.lower(): value.replace("\n", ", ") for name, value in headers.items()}
