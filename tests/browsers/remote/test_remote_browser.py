"""A person steers a browser with several tabs, whose pages ask at the same time and give any values."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browsers.visits import Fleet, document, page
from support.origins.raw_origin import RawOrigin, Wait
from support.processes import machine_needs as needs
from support.processes.waiting import until

from browsers.ghosts.loop_thread import LoopThread
from browsers.proxying.control_client import SessionRequest
from browsers.remote.browser import RemoteBrowser, RemoteNotes, RemoteOrder
from browsers.remote.framing import MessageKind, ScreenMessage

pytestmark = pytest.mark.browser


ASKS = """fetch('/wait-NAME').then(() => {
  fetch('/asks-NAME'); alert('NAME?'); document.title += ' heard';
})"""


class Person:
    """A person with a browser. `messages` is what the person was told."""

    def __init__(self, fleet: Fleet, profile: Path) -> None:
        self._control = fleet.control
        self._session = fleet.control.open(SessionRequest("by-hand", mode="live", listen=True))
        order = RemoteOrder(Path(needs.chromium()), self._session.address, fleet.trusted.keys, profile, sandbox=False)
        self._loop = LoopThread("person")
        self._messages: list[ScreenMessage] = []
        self._browser = self._loop.run(RemoteBrowser.start(order, RemoteNotes()))
        self._loop.run(self._look())

    async def _look(self) -> None:
        self._browser.show_to(self._messages.append)

    def close(self) -> None:
        self._loop.run(self._browser.close())
        self._loop.close()
        self._control.finish(self._session, wait_seconds=1)

    def do(self, **sent: Any) -> None:
        async def take() -> None:
            self._browser.take(sent)

        self._loop.run(take())

    def told(self, kind: str) -> list[dict[str, Any]]:
        """All messages of the kind, oldest first."""
        values = [message.json for message in list(self._messages) if message.kind is MessageKind.JSON]
        return [value for value in values if value["t"] == kind]

    def asked(self) -> list[str]:
        """The texts of the dialogs, oldest first."""
        return [dialog["text"] for dialog in self.told("dialog")]

    def tabs(self) -> list[dict[str, Any]]:
        """The tabs at present."""
        return [tab for told in self.told("tabs")[-1:] for tab in told["tabs"]]

    def sees(self, *titles: str) -> None:
        until(lambda: [tab["title"] for tab in self.tabs()] == list(titles), what=f"the titles {titles}")


@pytest.fixture
def person(fleet: Fleet, tmp_path: Path) -> Iterator[Person]:
    person = Person(fleet, tmp_path / "profile")
    yield person
    person.close()


@pytest.fixture
def asks(origin: RawOrigin, person: Person) -> Iterator[dict[str, threading.Event]]:
    """Two tabs whose pages ask when their event is set."""
    events = {"a": threading.Event(), "b": threading.Event()}
    for name, event in events.items():
        origin.script(f"/{name}", page(f"<script>{ASKS.replace('NAME', name)}</script>", head=f"<title>{name}</title>"))
        origin.script(f"/wait-{name}", Wait(event), document(b"", "text/plain"))
        origin.script(f"/asks-{name}", document(b"", "text/plain"))
    person.do(t="go", url=origin.url("/a"))
    person.sees("a")
    person.do(t="new-tab")
    until(lambda: [tab["on"] for tab in person.tabs()] == [False, True], what="the second tab")
    person.do(t="go", url=origin.url("/b"))
    person.sees("a", "b")
    yield events
    for event in events.values():
        event.set()


def test_dialogs_of_two_tabs_are_answered_one_after_the_other(
    person: Person, origin: RawOrigin, asks: dict[str, threading.Event]
) -> None:
    asks["a"].set()
    until(person.asked, what="the first dialog")
    asks["b"].set()
    until(lambda: origin.asked("/asks-b"), what="the second tab to ask")
    person.do(t="answer", ok=True)
    until(lambda: person.asked() == ["a?", "b?"], what="the second dialog")
    person.do(t="answer", ok=True)

    person.sees("a heard", "b heard")


def test_a_tab_that_is_closed_with_its_dialog_holds_no_other(
    person: Person, origin: RawOrigin, asks: dict[str, threading.Event]
) -> None:
    first = person.tabs()[0]["number"]
    asks["a"].set()
    until(person.asked, what="the first dialog")
    asks["b"].set()
    until(lambda: origin.asked("/asks-b"), what="the second tab to ask")
    person.do(t="close-tab", number=first)
    until(lambda: person.asked() == ["a?", "b?"], what="the second dialog")
    person.do(t="answer", ok=True)

    person.sees("b heard")


def test_titles_that_scripts_change_are_told_when_a_tab_with_a_dialog_was_closed(
    person: Person, origin: RawOrigin, asks: dict[str, threading.Event]
) -> None:
    first, wait = person.tabs()[0]["number"], "fetch('/wait-b').then(() => document.title = 'changed')"
    origin.script("/plain", page(f"<script>{wait}</script>", head="<title>plain</title>"))
    person.do(t="go", url=origin.url("/plain"))
    person.sees("a", "plain")
    asks["a"].set()
    until(person.asked, what="the dialog")
    person.do(t="close-tab", number=first)
    person.sees("plain")
    asks["b"].set()

    person.sees("changed")


ODD_FIELD = """document.elementFromPoint = () => ({closest: () => ({
  type: 'date', value: new Date(), getBoundingClientRect: () => ({left: 0, top: 0, width: 9, height: 9})})})"""


def test_an_input_that_fails_in_any_way_ends_no_other(person: Person, origin: RawOrigin) -> None:
    origin.script("/odd", page(f"<script>{ODD_FIELD}</script>", head="<title>odd</title>"))
    origin.script("/next", page("next", head="<title>next</title>"))
    person.do(t="go", url=origin.url("/odd"))
    person.sees("odd")
    person.do(t="mouse", kind="move", x=10**400, y=1)
    person.do(t="mouse", kind="down", x=1, y=1, button=0)
    person.do(t="go", url=origin.url("/next"))

    person.sees("next")


def test_a_wrong_password_is_sent_once_and_the_person_is_asked_again(person: Person, origin: RawOrigin) -> None:
    challenge = 'WWW-Authenticate: Basic realm="inside"\r\n'
    origin.script("/inside", page("no", status="401 Unauthorized", headers=challenge))
    person.do(t="go", url=origin.url("/inside"))
    until(
        lambda: [tab["url"] for tab in person.tabs()] == ["chrome-error://chromewebdata/"],
        what="the browser's own page",
    )
    person.do(t="login", user="newt", password="wrong")
    until(lambda: len(person.told("login")) == 2, what="the second question")

    wrong = b"Authorization: Basic " + base64.b64encode(b"newt:wrong")
    assert len([visit for visit in origin.asked("/inside") if wrong in visit.received]) == 1
