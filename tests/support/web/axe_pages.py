"""Pages as axe-core sees them in a real browser, in light and dark, with the charts drawn by their script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

from browsers.engines.chromium.executable import find_chromium

_CONTRASTS: Final = {"runOnly": ["color-contrast"]}
"""The schemes differ in colours alone, so that in dark no other rule has something new to find."""
_NO_DETAILS: Final = {"resultTypes": ["violations"]}


def serious(tab: Page, name: str) -> list[str]:
    """Return what axe finds serious or critical on the page in a tab, in light and in dark. `name` begins each line."""
    tab.emulate_media(color_scheme="light", reduced_motion="reduce")  # colours change at once
    violations = Axe().run(tab, options={**_NO_DETAILS, "preload": False}).response["violations"]
    tab.emulate_media(color_scheme="dark")
    dark = tab.evaluate("options => axe.run(options)", {**_CONTRASTS, **_NO_DETAILS})["violations"]
    tab.emulate_media(color_scheme="light")
    return [*_lines(f"light {name}", violations), *_lines(f"dark {name}", dark)]


def serious_on_pages(
    address: str, client: httpx.Client, paths: Iterable[str], refused: Iterable[str] = ()
) -> list[str]:
    """Return what axe finds serious on pages of a site, what is blocked, errors of scripts, and charts not drawn.

    The browser has the session of the client. The site refuses the last paths, and shows why.
    """
    with opened_tab(address, client) as tab:
        return serious_in_tab(tab, paths, refused)


@contextmanager
def opened_tab(address: str, client: httpx.Client) -> Iterator[Page]:
    """A tab of a browser of its own, which has the session of the client."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        try:
            context = browser.new_context(base_url=address)
            context.set_default_timeout(120_000)  # a slow machine is no failure
            context.add_cookies([{"name": n, "value": v, "url": address} for n, v in client.cookies.items()])
            yield context.new_page()
        finally:
            browser.close()


def serious_in_tab(tab: Page, paths: Iterable[str], refused: Iterable[str] = ()) -> list[str]:
    """Return what `serious_on_pages` does, for the pages that a tab opens one after the other."""
    found: list[str] = []
    said: list[str] = []
    tab.on("pageerror", lambda error: said.append(f"script: {error}"))
    tab.on("dialog", lambda dialog: (said.append(f"script: {dialog.message}"), dialog.dismiss()))
    tab.on("console", lambda message: said.append(message.text) if "Security Policy" in message.text else None)
    for path, is_good in [*((path, True) for path in paths), *((path, False) for path in refused)]:
        answer = tab.goto(path)
        assert answer is not None
        assert answer.ok is is_good, path
        if tab.locator("#api-browser").count():
            tab.wait_for_selector("#api-browser .opblock-tag")
        charts, drawn = tab.locator("[data-chart]").count(), tab.locator("[data-chart] canvas").count()
        found += [f"{path}: {drawn} of {charts} charts are drawn"] if charts != drawn else []
        found += serious(tab, path)
    return found + said


def _lines(name: str, violations: Iterable[dict[str, Any]]) -> list[str]:
    return [
        f"{name}: {each['id']}: {node['html'][:160]}"
        for each in violations
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
