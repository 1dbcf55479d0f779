"""Both kinds of browsers, driven alike by tests that look into the frames of a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, sync_playwright

from support.processes.machine_needs import chromium
from support.processes.waiting import until

WITHIN = 60.0


class Driven(Protocol):
    """A browser as both kinds are driven here."""

    def go(self, url: str) -> None: ...
    def frames(self) -> dict[str, Any]: ...
    def evaluate(self, frame: Any, expression: str) -> Any: ...


class Chromium:
    """Chromium by Playwright. `asked` has the requests that its pages made."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.asked: list[str] = []
        page.context.on("request", lambda request: self.asked.append(request.url))

    def go(self, url: str) -> None:
        self.page.goto(url)

    def frames(self) -> dict[str, Any]:
        with suppress(PlaywrightError):  # the page is on its way to another
            self.page.evaluate("0")  # Playwright hears of new frames while it is called
        return {frame.url: frame for frame in self.page.frames}

    def evaluate(self, frame: Any, expression: str) -> Any:
        try:
            return json.loads(frame.evaluate(f"(async () => JSON.stringify(await ({expression})))()") or "null")
        except PlaywrightError:
            return None  # the frame went on to another page


@contextmanager
def running_chromium(flags: Sequence[str] = ()) -> Iterator[Chromium]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", *flags])
        try:
            yield Chromium(browser.new_page())
        finally:
            browser.close()


def played(browser: Driven, url: str, expression: str, expected: Any) -> None:
    """Wait until a script in the archived page of this URL has this value."""
    seen: list[Any] = []

    def has_it() -> bool:
        frame = archived(browser, url)
        seen[:] = [browser.evaluate(frame, expression) if frame is not None else sorted(browser.frames())]
        return bool(seen[0] == expected)

    try:
        until(has_it, what=f"{expression} in {url}", within=WITHIN)
    except AssertionError:
        raise AssertionError(f"{expression} in {url}: {seen[0]!r} instead of {expected!r}") from None


def archived(browser: Driven, url: str) -> Any:
    """The frame that shows the archived page of this URL."""
    ends = (f"mp_/{url}", f"if_/{url}")
    return next((frame for address, frame in browser.frames().items() if address.endswith(ends)), None)
