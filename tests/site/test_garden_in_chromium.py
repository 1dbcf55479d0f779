"""The site does in a real browser what it was built for."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from support.browsers.watched_garden import WatchedGarden
from support.processes.machine_needs import chromium
from support.processes.waiting import until

from admin.demo.pages import MEDIA, WWW

pytestmark = pytest.mark.browser

FLAGS = ["--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-features=HttpsUpgrades"]


@pytest.fixture(scope="module")
def browser(_garden: WatchedGarden) -> Iterator[Browser]:
    rules = ",".join(f"MAP {name} {address}" for name, address in _garden.resolve.items())
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as playwright:
        arguments = [*FLAGS, *sandbox, f"--host-resolver-rules={rules}"]
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, garden: WatchedGarden) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 1024}, ignore_https_errors=True)
    yield context.new_page()
    context.close()


def asked(garden: WatchedGarden, path: str) -> bool:
    return any(request.path == path for request in garden.requests)


def test_the_font_is_really_used(page: Page) -> None:
    page.goto(f"http://{WWW}/")

    assert page.evaluate("document.fonts.ready.then(fonts => [...fonts].map(font => font.status))") == ["loaded"]


def test_a_wide_window_takes_the_wide_picture(page: Page, garden: WatchedGarden) -> None:
    page.goto(f"http://{WWW}/", wait_until="load")

    assert asked(garden, "/images/garden-1280.webp")
    assert not asked(garden, "/images/garden.jpg")


def test_imported_styles_apply(page: Page) -> None:
    page.goto(f"http://{WWW}/")

    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 250, 244)"


@pytest.mark.parametrize(
    "picture", ["/images/water-lily.jpg", pytest.param("/images/ginkgo.jpg", marks=pytest.mark.slow)]
)
def test_gallery_pictures_are_fetched_only_when_near(page: Page, garden: WatchedGarden, picture: str) -> None:
    page.goto(f"http://{WWW}/gallery.html", wait_until="networkidle")
    before = asked(garden, picture)

    page.locator("img").last.scroll_into_view_if_needed()
    page.locator(f'img[src="{picture}"]').scroll_into_view_if_needed()
    page.wait_for_function(f"document.querySelector('img[src=\"{picture}\"]').naturalWidth > 0")

    assert not before
    assert asked(garden, picture)


def test_the_journal_goes_on_for_three_batches(page: Page, garden: WatchedGarden) -> None:
    page.goto(f"http://{WWW}/journal.html")
    page.wait_for_selector("article")
    until(lambda: _scrolled_to_end(page), what="the journal's end")

    assert page.locator("article").count() == 12
    assert [request.query for request in garden.requests if request.path == "/api/journal"] == [
        "batch=1",
        "batch=2",
        "batch=3",
    ]


def test_the_visit_page_shows_what_scripts_fetched(page: Page) -> None:
    page.goto(f"http://{WWW}/visit.html", wait_until="networkidle")

    assert page.inner_text("#greeting") == "Good morning, visitor. The gate is open."
    assert page.inner_text("#ticket") == "Your ticket: spring, one person"
    assert page.locator("#hours tr").count() == 4
    assert page.frames[1].url == f"http://{MEDIA}/map.html"


def test_the_film_plays_and_is_asked_for_by_range(page: Page, garden: WatchedGarden) -> None:
    page.goto(f"http://{WWW}/film.html")
    page.wait_for_function("document.querySelector('video').readyState == HTMLMediaElement.HAVE_ENOUGH_DATA")
    page.wait_for_function("document.querySelector('#head').textContent.startsWith('206')")

    ranges = {request.headers.get("range") for request in garden.requests if request.path.endswith(".mp4")}
    assert ranges >= {"bytes=0-", "bytes=0-1023"}
    assert page.evaluate("document.querySelector('video').duration") == pytest.approx(2.0, abs=0.1)


def test_pages_look_the_same_each_time(page: Page) -> None:
    looks = []
    for _ in range(2):
        page.goto(f"http://{WWW}/plants/", wait_until="networkidle")
        looks.append(page.screenshot())

    assert looks[0] == looks[1]


def _scrolled_to_end(page: Page) -> bool:
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    return page.inner_text("#end") == "That is all so far."
