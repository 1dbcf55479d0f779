"""admin/web/pages/qa: sessions, reviews with keys only, repairs and reports as a browser sees them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect
from sqlalchemy import select
from support.admin.qa_rows import CAPTURED, add_files, add_page, add_session, finding
from support.archive.browsed_collection import HOSTILE, NAME, Shelf, png
from support.archive.browsed_collection import PAGE as CAPTURED_PAGE
from support.web.axe_pages import serious_in_tab
from support.web.site_pages import refused, saved
from support.web.site_server import RunningSite, running_site, send_form

from admin.collections.reader_misses import MissCollector
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.qa_tables import PageDecision, QaRepair, QaSession, QaState, RepairPart
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import Settings

type OpenContext = Callable[[str, bool], BrowserContext]
IMAGE = "http://example.org/lost.png"


@pytest.fixture
def site(sqlite_database: Database, settings: Settings) -> Iterator[RunningSite]:
    with running_site(sqlite_database, settings.home) as running:
        yield running


@pytest.fixture
def client(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.CURATOR) as client:
        yield client


def fill(database: Database, pages: int = 3, collection: str = NAME) -> tuple[int, list[int]]:
    """Make a session with pages, the first of them the worst."""
    with database.transaction(COMMAND_LINE) as transaction:
        session = add_session(transaction, collection)
        found = []
        for number in range(pages):
            url = CAPTURED_PAGE if number == 0 else f"http://example.org/{number}"
            reasons = [finding("missing-image", 20, IMAGE), finding("text", 12.5, words=f"Lost: {HOSTILE}")]
            page = add_page(
                transaction, session, url, 10 + number, reasons, title=f"Page {number}",
                measures={"view": {"similarity": 0.5}, "text": {"similarity": 0.4}},
            )  # fmt: skip
            add_files(transaction, session, page, "the same\nnow this")
            found.append(page.id)
        return session.id, found


def rulings(database: Database) -> list[tuple[str, str]]:
    """Return the decisions by URL, oldest first."""
    with database.reading(COMMAND_LINE) as transaction:
        rows = transaction.session.scalars(select(PageDecision).order_by(PageDecision.id))
        return [(row.url.rpartition("/")[2], str(row.ruling)) for row in rows]


def test_a_person_repairs_with_one_click_what_readers_missed(
    client: httpx.Client, sqlite_database: Database, settings: Settings
) -> None:
    shelf = Shelf(settings)
    shelf.page()
    shelf.close()
    assert "view.collect_misses" in client.get(f"/qa?collection={NAME}").text
    assert client.get("/qa?collection=never-made").status_code == 200
    view = settings.view.model_copy(update={"collect_misses": True})
    collector = MissCollector(settings.model_copy(update={"view": view}))
    collector.note(NAME, IMAGE, CAPTURED_PAGE)
    collector.flush()
    assert IMAGE in client.get(f"/qa?collection={NAME}").text
    to = saved(client, "/qa/missed", collection=NAME, url=IMAGE)
    assert CAPTURED_PAGE in client.get(to).text
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        (part,) = transaction.session.scalars(select(RepairPart)).all()
        assert (part.url, part.resources) == (CAPTURED_PAGE, [IMAGE])


def test_a_person_starts_a_session_and_sees_its_progress(
    client: httpx.Client, sqlite_database: Database, settings: Settings
) -> None:
    shelf = Shelf(settings)
    shelf.page()
    shelf.close()
    assert "There are no QA sessions." in client.get("/qa").text
    refused(client, "/qa/start", "is no sample", collection=NAME, sample="many", choice="spread")
    refused(client, "/qa/start", "line 1", collection=NAME, urls="no url", choice="spread")
    to = saved(client, "/qa/start", collection=NAME, sample="10%", choice="size", urls="", jobs="")
    shown = client.get(to).text
    assert "waits for the QA process" in shown
    assert f'hx-get="{to}/live"' in shown
    assert client.get(f"{to}/live").status_code == 200
    assert saved(client, to, f"{to}/stop") == to
    assert "hx-get" not in client.get(f"{to}/live").text
    saved(client, to, f"{to}/resume")
    saved(client, to, f"{to}/stop")
    assert saved(client, to, f"{to}/delete") == "/qa"
    assert saved(client, "/qa/start", collection=NAME, jobs="one\ntwo\n", choice="spread", follows="on") == "/qa"
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        rows = transaction.session.scalars(select(QaSession).order_by(QaSession.id)).all()
        assert [(row.job, row.follows) for row in rows] == [("one", True), ("two", True)]


def test_the_review_and_the_report_say_what_asked_for_a_resource_and_which_links_are_lost(
    client: httpx.Client, sqlite_database: Database
) -> None:
    asked_by, lost = f"script http://example.org/app.js:{HOSTILE}", f"http://example.org/{HOSTILE}"
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        session = add_session(transaction, NAME)
        missing = finding("missing-image", 20, IMAGE) | {"initiator": asked_by, "size": "320 × 200", "weight": 0.125}
        links = finding("links", 9, words="2 of 9 links are lost") | {"examples": [lost, "http://example.org/b"]}
        skews = {"skews": [{"url": lost, "seconds": -7200.5}]}
        page = add_page(transaction, session, CAPTURED_PAGE, 40, [missing, links], measures={"resources": skews})
        address, report = f"/qa/{session.id}/pages/{page.id}", f"/qa/{session.id}/report"
    shown = client.get(address).text
    for text in ("script http://example.org/app.js:", "320 × 200", "12.5 %", "2 of them", "-7200"):
        assert text in shown
    handed_over = client.get(report).text
    assert "asked for by script http://example.org/app.js:" in handed_over
    assert "320 × 200 pixels" in handed_over
    assert "<script>alert" not in shown + handed_over


def test_a_review_without_scripts_goes_from_page_to_page(client: httpx.Client, sqlite_database: Database) -> None:
    session, pages = fill(sqlite_database)
    listed = client.get(f"/qa/{session}/pages?kind=missing-image").text
    assert [int(each) for each in re.findall(rf'<td class="wide"><a href="/qa/{session}/pages/(\d+)', listed)] == pages
    path = f"/qa/{session}/pages/{pages[0]}"
    shown = client.get(path).text
    assert "<script>alert" not in shown
    assert IMAGE in shown
    for address in re.findall(rf'src="({path}/replay/[^"]+)"', shown):
        answer = client.get(html.unescape(address))
        assert answer.headers["Content-Type"] == "image/png"
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert client.get(f"{path}/replay/..%2fview.png").status_code == 404
    to = saved(client, path, f"{path}/decide?kind=missing-image", ruling="accepted", note="fine", assigned_to="")
    assert to == f"/qa/{session}/pages/{pages[1]}?last={pages[0]}&kind=missing-image"
    refused(client, path, "is no user", to=f"{path}/decide", ruling="note", assigned_to="nobody", note="x")
    to = saved(client, to, f"/qa/{session}/pages/{pages[0]}/undo")
    assert to == path
    last = f"/qa/{session}/pages/{pages[2]}"
    assert saved(client, last, f"{last}/decide", ruling="rejected") == f"/qa/{session}/pages"
    assert rulings(sqlite_database) == [("page", "accepted"), ("page", "nothing"), ("2", "rejected")]


def test_a_reader_sees_pages_and_decides_nothing(site: RunningSite, sqlite_database: Database) -> None:
    session, pages = fill(sqlite_database)
    with site.client(Role.READER) as reader:
        path = f"/qa/{session}/pages/{pages[0]}"
        shown = reader.get(path).text
        assert 'name="ruling"' not in shown
        assert send_form(reader, path, f"{path}/decide", ruling="accepted").status_code == 403
        assert reader.get(f"/qa/{session}/report").status_code == 200


def test_pictures_and_text_of_the_capture_come_from_the_archive(
    client: httpx.Client, sqlite_database: Database, settings: Settings
) -> None:
    shelf = Shelf(settings)
    shelf.page()
    shelf.kept("urn:view:", png())
    shelf.kept("urn:text:", b"the same\nonce that", "text/plain; charset=utf-8")
    shelf.close()
    session, pages = fill(sqlite_database, 1)
    path = f"/qa/{session}/pages/{pages[0]}"
    answer = client.get(f"{path}/capture/view")
    assert (answer.headers["Content-Type"], answer.content[:2]) == ("image/jpeg", b"\xff\xd8")
    assert f"{path}/capture/view?v={CAPTURED}" in client.get(path).text
    assert client.get(f"{path}/capture/full-page").status_code == 404
    texts = client.get(f"{path}/texts").text
    assert "once that" in texts
    assert "now this" in texts


def test_the_replay_is_framed_only_where_the_viewer_lets_it(
    client: httpx.Client, site: RunningSite, sqlite_database: Database
) -> None:
    session, pages = fill(sqlite_database, 1)
    path = f"/qa/{session}/pages/{pages[0]}"
    assert "frame-src 'none'" in client.get(path).headers["Content-Security-Policy"]
    assert "No viewer runs" in client.get(path).text


def test_a_framed_viewer_is_the_only_source_of_frames(sqlite_database: Database, settings: Settings) -> None:
    origin = "https://view.example.org"
    more = {"view": {"origin": origin, "frame_ancestors": ["http://127.0.0.1:1"]}}
    with running_site(sqlite_database, settings.home, more) as site, site.client(Role.CURATOR) as client:
        session, pages = fill(sqlite_database, 1)
        client.headers["Host"] = "127.0.0.1:1"
        answer = client.get(f"/qa/{session}/pages/{pages[0]}")
        assert f"frame-src {origin}\n" in answer.headers["Content-Security-Policy"] + "\n"
        assert f'href="{origin}/s/' in answer.text
        assert "frame-src 'none'" in client.get("/qa").headers["Content-Security-Policy"]


def test_repairs_are_started_for_pages_hosts_kinds_and_choices(client: httpx.Client, sqlite_database: Database) -> None:
    session, pages = fill(sqlite_database)
    path = f"/qa/{session}"
    to = saved(client, path, f"{path}/repairs", page=str(pages[1]))
    shown = client.get(to).text
    assert "1 resource" in shown
    assert "/live" in shown
    saved(client, path, f"{path}/repairs", host="example.org", whole="yes")
    saved(client, path, f"{path}/repairs", kind="text")
    assert send_form(client, path, f"{path}/repairs", chosen="yes").status_code == 409
    one = f"{path}/pages/{pages[2]}"
    saved(client, one, f"{one}/decide", ruling="repair")
    to = saved(client, path, f"{path}/repairs", chosen="yes")
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        found = transaction.session.scalars(select(QaRepair).order_by(QaRepair.id)).all()
        assert [len(each.parts) for each in found] == [1, 3, 3, 1]
        assert [part.resources for part in found[1].parts] == [[], [], []]
        part = transaction.session.scalars(select(RepairPart).order_by(RepairPart.id.desc()).limit(1)).one()
        part.is_done = True
        part.outcomes = [{"url": IMAGE, "status": 404, "why": f"the server says 404 {HOSTILE}"}]
        found[3].state = QaState.DONE
        found[3].after_id = session
    shown = client.get(to).text
    assert "the server says 404" in shown
    assert "<script>alert" not in shown
    assert "0 captured, 1 not" in re.sub("<[^>]+>", "", shown)
    assert "every 3s" not in shown
    first = "/qa/repairs/1"
    assert saved(client, first, f"{first}/stop") == first


def test_a_page_is_captured_by_hand_in_a_session_that_leads_back(
    client: httpx.Client, sqlite_database: Database
) -> None:
    session, pages = fill(sqlite_database)
    page = f"/qa/{session}/pages/{pages[1]}"
    assert "Capture by hand" in client.get(page).text
    to = saved(client, page, f"{page}/capture-by-hand")
    assert to.startswith("/capture/1/screen?url=")
    assert f'href="{page}"' in client.get("/capture/1").text
    assert "to be captured again by hand in session manual-1" in client.get(page).text
    repair = "/qa/repairs/1"
    assert "judged again when that session has ended" in client.get(repair).text
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        part = transaction.session.scalars(select(RepairPart)).one()
        part.is_done, part.score_after = True, 100
        part.outcomes = [{"url": part.url, "status": 200, "why": "", "captured": transaction.now}]
        part.repair.state, part.repair.after_id = QaState.DONE, session
    shown = re.sub("<[^>]+>", "", client.get(page).text)
    assert "captured again by hand in session manual-1 at" in shown
    assert "11 points before, 11 after" in shown, "the session that judges again is the same here"
    cells = client.get(f"/qa/{session}/report.csv").text.splitlines()
    assert cells[0].endswith("repair,score_after")
    assert "captured again by hand in session manual-1,11" in cells[2]


def test_reports_are_one_page_without_scripts_a_csv_of_all_pages_and_json(
    client: httpx.Client, sqlite_database: Database
) -> None:
    session, pages = fill(sqlite_database)
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.get_one(QaSession, session)
        add_page(transaction, row, "http://example.org/good", 100, title="=1+1")
        add_page(transaction, row, "http://example.org/away", -1)
    path = f"/qa/{session}/pages/{pages[0]}"
    saved(client, path, f"{path}/decide", ruling="rejected", note="lost")
    answer = client.get(f"/qa/{session}/report")
    assert "<script" not in answer.text
    assert re.findall(r'(?:src|href)="(?!data:image/jpeg)[^"]*"', answer.text) == []
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "rejected by the-curator" in answer.text
    lines = client.get(f"/qa/{session}/report.csv").text.splitlines()
    assert lines[0].startswith("url,host,title")
    assert len(lines) == 6
    assert "'=1+1" in "".join(lines)
    report = json.loads(client.get(f"/qa/{session}/report.json").text)
    assert [each["url"] for each in report["pages"]] == [
        "http://example.org/away", CAPTURED_PAGE, "http://example.org/1", "http://example.org/2"
    ]  # fmt: skip
    assert report["rulings"] == {"open": 4, "rejected": 1}


@pytest.mark.timeout(300)
@pytest.mark.browser
def test_axe_finds_nothing_serious(open_context: OpenContext, curator: httpx.Client, sqlite_database: Database) -> None:
    session, pages = fill(sqlite_database)
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        waiting = add_session(transaction, state=QaState.WAITING, follows=True)
    saved(curator, f"/qa/{session}", f"/qa/{session}/repairs", page=str(pages[0]))
    paths = [  # the report takes no scripts, so that axe can not run in it
        *("/qa/start", f"/qa/{session}", f"/qa/{waiting.id}", f"/qa/{session}/pages", "/qa/repairs/1"),
        *(f"/qa/{session}/pages/{pages[0]}{query}" for query in ("", "/texts")),
    ]
    assert serious_in_tab(open_context("light", True).new_page(), paths) == []


@pytest.mark.timeout(300)
@pytest.mark.browser
@pytest.mark.parametrize(("count", "rejected"), [(10, 2), pytest.param(30, 5, marks=pytest.mark.slow)])
def test_pages_are_reviewed_with_keys_only(
    open_context: OpenContext, sqlite_database: Database, count: int, rejected: int
) -> None:
    session, pages = fill(sqlite_database, count)
    tab = open_context("light", True).new_page()
    refusals: list[str] = []
    tab.on("console", lambda message: refusals.append(message.text) if "Content Security" in message.text else None)
    tab.goto(f"/qa/{session}/pages/{pages[0]}")
    for mode, key in (("slider", "2"), ("overlay", "3"), ("difference", "4"), ("side", "1")):
        tab.keyboard.press(key)
        expect(tab.locator("[data-stage]")).to_have_attribute("data-stage", mode)
    tab.keyboard.press("n")
    expect(tab.locator("#note")).to_be_focused()
    tab.keyboard.type("a paragraph is lost")
    tab.keyboard.press("Escape")
    for number in range(count):
        _press(tab, "p" if number < 5 else "r" if number < 5 + rejected else "a", number)
        if number == 4:
            tab.keyboard.press("u")
            expect(tab.get_by_text("The decision was taken back.")).to_be_visible()
            expect(tab.locator("h1")).to_have_text("Page 4")
            tab.keyboard.press("j")
            expect(tab.locator("h1")).to_have_text("Page 5")
    expect(tab.get_by_text("It was the last page of the list.")).to_be_visible()
    with sqlite_database.reading(COMMAND_LINE) as transaction:
        notes = [row.note for row in transaction.session.scalars(select(PageDecision)) if row.note]
    assert notes == ["a paragraph is lost"]
    newest = dict(rulings(sqlite_database))
    assert [list(newest.values()).count(each) for each in ("repair", "nothing", "rejected", "accepted")] == [
        4, 1, rejected, count - 5 - rejected
    ]  # fmt: skip
    assert refusals == []
    tab.goto(f"/qa/{session}")
    tab.get_by_role("button", name="Repair what was sent to repair").click()
    expect(tab.get_by_role("heading", level=1)).to_contain_text("Repair 1")
    expect(tab.locator("tbody tr")).to_have_count(4)
    assert [each["id"] for each in Axe().run(tab).response["violations"] if each["impact"] == "critical"] == []


def _press(tab: Page, key: str, number: int) -> None:
    """Press a key on the page with this number, and wait for the next one."""
    expect(tab.locator("h1")).to_have_text(f"Page {number}")
    tab.keyboard.press(key)
    expect(tab.locator("h1")).not_to_have_text(f"Page {number}")
