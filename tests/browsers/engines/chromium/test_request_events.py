"""Requests of frames and documents that have gone are not awaited, in whatever order the browser tells of both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import Any

import pytest

from browsers.engines.chromium.devtools.connection import Connection, DevToolsSession
from browsers.engines.chromium.devtools.frames import FrameTree
from browsers.engines.chromium.devtools.network import RequestEvents, initiator_of
from browsers.engines.traffic import MAX_INITIATOR, Traffic

MAIN, INNER = "main", "inner"
URL = "http://a.test/"

type Step = Callable[[], None]


class Account:
    """The account of a window with a main document, and the events that a browser sends."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.requests = RequestEvents(self.traffic)
        self.requests.main_frame = MAIN
        self.frames = FrameTree(self.requests)
        connection = Connection()
        self.page = DevToolsSession(connection, "1", "page")
        self.other = DevToolsSession(connection, "2", "iframe")
        self.frames.attach(MAIN, "", self.page)
        self.frames.navigated({"id": MAIN, "url": URL, "loaderId": "m"}, self.page)

    def attached(self, frame: str = INNER) -> None:
        self.frames.attach(frame, MAIN, self.page)

    def asked(self, request: str, frame: str = INNER, kind: str = "Document", loader: str = "") -> None:
        """A request; that of a document has the name of the document."""
        self._tell("requestWillBeSent", request, frameId=frame, loaderId=loader or request, type=kind)

    def redirected(self, request: str) -> None:
        answer = {"status": 302, "headers": {"location": "/on"}}
        told = {"frameId": INNER, "loaderId": request, "type": "Document"}
        self._tell("requestWillBeSent", request, redirectResponse=answer, **told)

    def answered(self, request: str, mime: str = "") -> None:
        self._tell("responseReceived", request, response={"status": 200, "headers": {"Content-Type": mime}})

    def ended(self, request: str) -> None:
        self._tell("loadingFinished", request)

    def navigated(self, loader: str, frame: str = INNER, session: DevToolsSession | None = None) -> None:
        parent = {} if frame == MAIN else {"parentId": MAIN}
        self.frames.navigated({"id": frame, "url": URL, "loaderId": loader, **parent}, session or self.page)

    def removed(self, frame: str = INNER) -> None:
        self.frames.remove(frame)

    def holds(self) -> bool:
        """Whether the page counts as unsettled."""
        return not asyncio.run(self.traffic.settled(0, 0))

    def _tell(self, name: str, request: str, **params: Any) -> None:
        told = {"requestId": request, "request": {"url": f"{URL}{request}", "method": "GET", "headers": {}}, **params}
        self.requests.handle(self.page, f"Network.{name}", told, is_popup=False)


@pytest.fixture
def account() -> Account:
    return Account()


def test_a_frame_that_was_removed_holds_no_visit() -> None:
    """The browser does not say that the loading of the document or of its parts ended."""
    for order in permutations(("asked", "answered", "navigated", "part", "removed")):
        account = Account()
        steps: dict[str, Step] = {
            "asked": partial(account.asked, "d"),
            "answered": partial(account.answered, "d"),
            "navigated": partial(account.navigated, "d"),
            "part": partial(account.asked, "p", kind="Image", loader="d"),
            "removed": account.removed,
        }
        account.attached()
        for name in order:
            steps[name]()
        if order.index("navigated") > order.index("removed"):
            account.removed()  # a process that shows the frame late tells of its end, too

        assert not account.holds(), order


def test_a_document_that_another_one_replaced_holds_no_visit() -> None:
    for order in permutations(("part", "asked", "answered", "navigated")):
        account = Account()
        account.attached()
        account.asked("d")
        account.navigated("d")
        steps: dict[str, Step] = {
            "part": partial(account.asked, "p", kind="Fetch", loader="d"),
            "asked": partial(account.asked, "e"),
            "answered": partial(account.answered, "e"),
            "navigated": partial(account.navigated, "e"),
        }
        for name in order:
            steps[name]()
        account.ended("e")

        assert not account.holds(), order


def test_a_navigation_that_a_later_one_replaced_holds_no_visit(account: Account) -> None:
    account.attached()
    for name in ("d", "e", "f"):
        account.asked(name)
    account.redirected("d")
    account.navigated("f")
    account.ended("f")

    assert not account.holds()


def test_a_navigation_that_began_after_the_document_is_awaited(account: Account) -> None:
    account.attached()
    account.asked("d")
    account.asked("e")

    account.navigated("d")
    account.ended("d")

    assert account.holds()
    account.navigated("e")
    account.ended("e")
    assert not account.holds()


def test_frames_in_a_frame_go_with_it(account: Account) -> None:
    account.attached()
    account.frames.attach("innermost", INNER, account.page)
    account.asked("d", "innermost")
    account.asked("p", "innermost", kind="Image", loader="x")

    account.removed()
    account.asked("q", "innermost", kind="Image", loader="x")

    assert not account.holds()


def test_a_frame_that_got_another_process_is_awaited_again(account: Account) -> None:
    account.attached()
    account.asked("d")
    account.removed()  # as the former process tells it
    account.navigated("d", session=account.other)

    account.asked("p", kind="Image", loader="d")

    assert account.holds()


def test_a_whole_answer_is_noted_after_the_frame_went(account: Account) -> None:
    account.attached()
    account.asked("d")
    account.removed()
    account.answered("d")
    account.ended("d")

    assert account.traffic.asked[f"{URL}d"].is_whole


def test_few_of_the_gone_frames_are_remembered(account: Account) -> None:
    for number in range(20_000):
        account.attached(f"f{number}")
        account.removed(f"f{number}")

    assert len(vars(account.requests)["_gone"]) <= 5000
    assert vars(account.requests)["_documents"].keys() == {MAIN}


def call(url: str, line: int = 0) -> dict[str, Any]:
    return {"url": url, "lineNumber": line, "functionName": ""}


def test_the_nearest_script_with_a_url_is_the_initiator() -> None:
    earlier = {"callFrames": [call("http://a.test/app.js", 11)], "parent": {"callFrames": [call("http://a.test/b.js")]}}
    told = {"type": "script", "stack": {"callFrames": [call(""), call("blob:x")], "parent": earlier}}
    assert initiator_of(told, URL) == "script http://a.test/app.js:12"


def test_a_parser_is_that_of_the_document_or_of_a_style_sheet() -> None:
    assert initiator_of({"type": "parser", "url": f"{URL}#top", "lineNumber": 4}, URL) == f"document {URL}#top:5"
    assert initiator_of({"type": "parser", "url": "http://a.test/s.css"}, URL) == "stylesheet http://a.test/s.css"
    assert initiator_of({"type": "preload", "url": URL}, URL) == f"preload {URL}"


def test_initiators_of_any_form_are_bounded() -> None:
    endless: dict[str, Any] = {"callFrames": [call("data:,")] * 10_000}
    endless["parent"] = endless
    for told in ({}, {"type": "other"}, {"type": "script"}, {"type": "script", "stack": endless}, {"type": "parser"}):
        assert initiator_of(told, URL) == ""
    assert len(initiator_of({"type": "preload", "url": "http://a.test/" + "x" * 9_999}, URL)) == MAX_INITIATOR


@pytest.mark.parametrize(
    ("is_transformed", "mime"), [(True, "application/xml"), (False, "application/xml"), (False, "text/html")]
)
def test_the_style_sheet_of_a_transformed_document_is_not_awaited(
    account: Account, is_transformed: bool, mime: str
) -> None:
    """Chromium reports no end of the style sheet, and the end of the document twice."""
    account.asked("d", MAIN)
    account.answered("d", mime)
    account.navigated("d", MAIN)
    account.asked("style.xsl", MAIN, "Stylesheet", loader="d")
    account.ended("d")
    account.answered("style.xsl")
    account.asked("more.xsl", MAIN, "Stylesheet", loader="d")
    account.ended("more.xsl")
    if is_transformed or mime == "text/html":  # two processes may report the end of a frame's document
        account.ended("d")
    assert account.holds() is not is_transformed


def test_a_picture_of_a_transformed_document_is_awaited(account: Account) -> None:
    account.asked("d", MAIN)
    account.answered("d", "text/xml")
    account.navigated("d", MAIN)
    account.ended("d")
    account.asked("picture.png", MAIN, "Image", loader="d")
    account.ended("d")
    assert account.holds()
