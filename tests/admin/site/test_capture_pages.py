"""admin/web/pages/capture: sessions are made, shown with what the browser needs, paused, ended and harvested."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import BrowserContext, expect
from support.admin.harvest_database import DAY, MovableClock
from support.web.axe_pages import serious_in_tab
from support.web.site_server import PASSWORD, RunningSite, send_form

from admin.models.capture_tables import CaptureSession, CaptureState, SessionPage
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from archive.crawl_log import FILE_NAME
from archive.files import make_folder

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def number(stocked_site: RunningSite, curator: httpx.Client) -> int:
    """A session that the curator made, with two pages and a log."""
    (stocked_site.home / "control.token").write_text("the secret of the home", "ascii")
    answer = send_form(curator, "/capture/start", collection="hand", title=HOSTILE, hours="2", keeps_cookies="on")
    assert answer.status_code == 303, answer.text
    session = int(answer.headers["location"].rpartition("/")[2])
    with stocked_site.database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.get_one(CaptureSession, session)
        row.pages, row.urls, row.shown_secrets = 2, 3, [f"http://a.org/{HOSTILE}"]
        for at, (url, title) in enumerate((("http://a.org/", HOSTILE), ("http://a.org/two", "")), 1):
            transaction.session.add(
                SessionPage(session_id=session, number=at, url=url, title=title, mime="text/html", captured=10**15)
            )
    folder = stocked_site.home / "collections" / "hand" / "sessions" / f"manual-{session}"
    make_folder(folder)
    line = f"2026-11-27T07:44:26.974Z   200        175 http://a.org/{HOSTILE} - - text/html #000 - - - navigation\n"
    (folder / FILE_NAME).write_text(line.replace("<", "%3C"), "utf-8")
    return session


def test_the_owner_sees_what_the_browser_needs_and_nobody_else(
    number: int, stocked_site: RunningSite, curator: httpx.Client
) -> None:
    shown = curator.get(f"/capture/{number}").text
    assert "127.0.0.1:8100" in shown
    assert "http://recording.ghostfleet.invalid/" in shown
    assert "Trusted Root Certification Authorities" in shown
    assert "Responses show a secret that was typed." in shown
    assert HOSTILE not in shown
    with stocked_site.client(Role.OPERATOR) as other:
        theirs = other.get(f"/capture/{number}")
        assert theirs.status_code == 200
        assert "alone sees its password" in theirs.text
        assert "<code>127.0.0.1:8100</code>" not in theirs.text
        assert send_form(other, f"/capture/{number}/end").status_code == 403
    with stocked_site.client(Role.READER) as reader:
        assert reader.get("/capture/start").status_code == 403
        assert send_form(reader, f"/capture/{number}/pause").status_code == 403
    assert curator.get("/capture/999").status_code == 404
    for path in ("/capture", f"/capture/{number}/live", f"/capture/{number}/pages"):
        assert HOSTILE not in curator.get(path).text
    assert "http://a.org/%3Cscript" in curator.get(f"/capture/{number}/live").text


def test_a_session_is_paused_resumed_and_ended(number: int, stocked_site: RunningSite, curator: httpx.Client) -> None:
    states = []
    for action in ("pause", "resume", "end"):
        assert send_form(curator, f"/capture/{number}/{action}").status_code == 303
        with stocked_site.database.reading(COMMAND_LINE) as reading:
            states.append(reading.session.get_one(CaptureSession, number).state)
    assert states == [CaptureState.PAUSED, CaptureState.OPEN, CaptureState.ENDING]
    assert send_form(curator, f"/capture/{number}/pause").status_code == 409


def test_the_pages_of_a_session_become_seeds(number: int, curator: httpx.Client) -> None:
    listed = curator.get(f"/capture/{number}/seeds.txt")
    assert listed.text == "http://a.org/\nhttp://a.org/two\n"
    made = send_form(curator, f"/capture/{number}/harvest", name="From hand", template="")
    assert made.status_code == 303, made.text
    assert "a.org" in curator.get("/harvests/From%20hand").text
    again = send_form(curator, f"/capture/{number}/harvest", name="From hand", template="")
    assert again.status_code == 422


def test_bad_input_is_named(curator: httpx.Client) -> None:
    for given, words in (({"collection": "a b"}, "collection"), ({"collection": "a", "hours": "0"}, "hours")):
        answer = send_form(curator, "/capture/start", **given)
        assert answer.status_code == 422
        assert words in answer.text


def test_a_link_of_another_site_opens_no_page_in_the_browser(number: int, curator: httpx.Client) -> None:
    made = send_form(curator, "/capture/start", collection="hand", screen="on")
    path = made.headers["location"].partition("?")[0]
    for sent, shown in ((None, True), ("same-origin", True), ("none", True), ("cross-site", False)):
        headers = {"Sec-Fetch-Site": sent} if sent else {}
        answer = curator.get(path, params={"url": "http://chosen.example/"}, headers=headers)
        assert answer.status_code == 200
        assert ('data-url="http://chosen.example/"' in answer.text) is shown, sent


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_a_note_that_is_being_typed_outlives_the_session(
    number: int, clock: MovableClock, open_context: Callable[[str, bool], BrowserContext]
) -> None:
    tab = open_context("light", True).new_page()
    tab.goto(f"/capture/{number}")
    tab.get_by_label("Note").fill("half a sentence")
    clock.move(DAY)
    for _ in range(2):  # the part goes on asking
        with tab.expect_response(f"**/capture/{number}/live") as asked:
            pass
    assert asked.value.status == 401
    tab.get_by_role("button", name="Keep the note").click()
    tab.get_by_label("User name").fill("the-curator")
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Log in").click()
    expect(tab.get_by_label("Note")).to_have_value("half a sentence")


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_axe_finds_nothing_serious(number: int, curator: httpx.Client, open_context: object) -> None:
    made = send_form(curator, "/capture/start", collection="hand", screen="on")
    screen = made.headers["location"]
    assert screen.partition("?")[0].endswith("/screen")
    tab = open_context("light", True).new_page()  # type: ignore[operator]
    paths = ("/capture", "/capture/start", f"/capture/{number}", f"/capture/{number}/pages", screen)
    assert serious_in_tab(tab, paths) == []


def test_notes_stand_with_their_pages(number: int, stocked_site: RunningSite, curator: httpx.Client) -> None:
    show = f"/capture/{number}"
    assert send_form(curator, show, f"{show}/notes", note=HOSTILE).status_code == 303
    sent = {"note": "<b>menu</b> is cut", "url": "http://a.org/?password=geheim#x"}
    assert send_form(curator, show, f"{show}/notes", **sent).status_code == 303
    shown = curator.get(show).text
    assert HOSTILE not in shown
    assert "&lt;b&gt;menu&lt;/b&gt; is cut" in shown
    assert "geheim" not in shown, "the address of a note has no secret that the records have not"
    assert "(page 2)" in shown, "without an address, the note belongs to the page that was opened last"
    pages = curator.get(f"{show}/pages").text
    assert pages.index("http://a.org/two") < pages.index("&lt;script&gt;alert(1)&lt;/script&gt; <small>")
    assert "is cut" not in pages, "the session has not opened that address"
    assert curator.get(f"{show}/notes").text.count("<li>") >= 2
    for bad, words in (
        ({"note": " "}, "write a text"),
        ({"note": "x" * 10_001}, "at most 10000"),
        ({"note": "x", "url": "no address"}, "no address"),
        ({"note": "x", "url": "http://a.org/" + "x" * 20_000}, "at most 20000"),
    ):
        answer = send_form(curator, show, f"{show}/notes", **bad)
        assert answer.status_code == 422
        assert words in answer.text
    token = curator.get(show).text.partition('name="csrf_token" value="')[2].partition('"')[0]
    headers = {"X-CSRFToken": token, "Accept": "text/plain"}
    answer = curator.post(f"{show}/notes", data={"note": ""}, headers=headers)
    assert (answer.status_code, answer.text) == (422, "note: is empty; write a text")
    assert curator.post(f"{show}/notes", data={"note": "by key"}, headers=headers).text == "The note was kept."
    with stocked_site.client(Role.READER) as reader:
        assert "by key" in reader.get(show).text
        assert "Write a note" not in reader.get(show).text
        assert send_form(reader, show, f"{show}/notes", note="x").status_code == 403
