"""Parts of pages ask for themselves again and again: they outlive a failure, and the end of the session is said."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect
from support.admin.harvest_database import DAY, MovableClock
from support.web.site_server import PASSWORD

ASKED = {"HX-Request": "true"}


@pytest.fixture
def overview(open_context: Callable[[str, bool], BrowserContext]) -> Page:
    """The overview in a browser, where its script has taken up the part."""
    tab = open_context("light", True).new_page()
    tab.goto("/")
    expect(tab.locator("#live[data-htmx-powered]")).to_be_attached()
    return tab


def ask(tab: Page) -> None:
    """Let the part ask, as it does when the stream says that something has changed."""
    tab.evaluate("document.body.dispatchEvent(new Event('changed'))")


def test_a_part_of_a_page_whose_session_is_over_lets_the_page_be_loaded_again(
    curator: httpx.Client, clock: MovableClock
) -> None:
    clock.move(DAY)
    for path in ("/overview/live", "/tray/count"):
        answer = curator.get(path, headers=ASKED)
        assert (answer.status_code, answer.headers["HX-Refresh"], len(answer.text) < 100) == (401, "true", True), path
    sent = curator.post("/schedules/preview", headers=ASKED)
    assert sent.status_code == 401
    assert "HX-Refresh" not in sent.headers, "what a person has typed on the page would be lost"
    assert curator.get("/overview/live").headers["Location"] == "/login?next=/overview/live"


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_the_end_of_the_session_leads_the_whole_page_to_the_login(overview: Page, clock: MovableClock) -> None:
    clock.move(DAY)
    ask(overview)
    overview.wait_for_url("**/login")
    expect(overview.locator("#live")).to_have_count(0)
    overview.get_by_label("User name").fill("the-curator")
    overview.get_by_label("Password").fill(PASSWORD)
    overview.get_by_role("button", name="Log in").click()
    expect(overview.locator("#live")).to_be_attached()


@pytest.mark.browser
@pytest.mark.timeout(300)
@pytest.mark.parametrize("status", [404, 503])
def test_a_part_that_gets_no_answer_once_stays_and_asks_again(overview: Page, status: int) -> None:
    before = overview.locator("#live").inner_html()
    overview.route("**/overview/live", lambda route: route.fulfill(status=status, body="<h1>Away</h1>"))
    with overview.expect_event("requestfinished", lambda request: request.url.endswith("/overview/live")):
        ask(overview)
    with overview.expect_event("requestfinished", lambda request: request.url.endswith("/overview/live")):
        ask(overview)
    assert overview.locator("#live").inner_html() == before
    overview.unroute("**/overview/live")
    with overview.expect_response("**/overview/live") as answered:
        ask(overview)
    assert answered.value.status == 200
