"""Pages of the admin site for tests: forms as a person fills them, and what axe finds."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Final

import httpx
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page as BrowserPage
from playwright.sync_api import sync_playwright

from browsers.engines.chromium.executable import find_chromium
from support.web.site_server import send_form

HOSTILE: Final = '"><script>alert(1)</script>\u202e'
LONG: Final = "x" * 10_000
NUL: Final = "a\0b"


def shown_value(text: str, name: str) -> str:
    """Return the value of an input of a page, still escaped."""
    found = re.search(rf'<input[^>]*name="{re.escape(name)}"[^>]*value="([^"]*)"', text)
    assert found is not None, f"the page has no input {name}"
    return found[1]


def edition_of(client: httpx.Client, path: str) -> str:
    """Return the edition that the form of a page has."""
    return shown_value(client.get(path).text, "edition")


def csrf_of(client: httpx.Client) -> str:
    """Return the token of the session's forms; each page has one in the form for logging out."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', client.get("/").text)
    assert found is not None
    return found[1]


def refused(client: httpx.Client, path: str, *said: str, to: str = "", **values: str) -> httpx.Response:
    """Send a form that can't be used: the page is shown again, says why, and has no text that became a tag."""
    answer = send_form(client, path, to, **values)
    assert answer.status_code == 422, (path, answer.status_code, values)
    assert "<script>alert" not in answer.text, path
    assert 'role="alert"' in answer.text, path
    text = html.unescape(answer.text)
    for each in said:
        assert each in text, (path, each)
    return answer


def saved(client: httpx.Client, path: str, to: str = "", **values: str) -> str:
    """Send a form that is carried out, and return the address to which it leads."""
    answer = send_form(client, path, to, **values)
    assert answer.status_code == 303, (path, answer.status_code, re.findall(r'class="problem">[^<]+', answer.text))
    return str(answer.headers["Location"])


def serious_findings(address: str, client: httpx.Client, paths: Iterable[str]) -> str:
    """Return what axe finds serious on these pages, in light and in dark, and what the browser refused; empty is good.

    The browser has the session of the client.
    """
    found: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        try:
            for scheme in ("light", "dark"):
                context = browser.new_context(base_url=address, color_scheme=scheme)
                context.add_cookies([{"name": n, "value": v, "url": address} for n, v in client.cookies.items()])
                tab = context.new_page()
                said: list[str] = []
                tab.on("console", lambda message, said=said: said.append(message.text))
                tab.on("pageerror", lambda error, said=said: said.append(f"error: {error}"))
                found += [line for path in paths for line in _serious(tab, path, scheme)]
                found += [f"{scheme}: {text}" for text in said if "Content Security Policy" in text or "error" in text]
                context.close()
        finally:
            browser.close()
    return "\n".join(found)


def _serious(tab: BrowserPage, path: str, scheme: str) -> list[str]:
    answer = tab.goto(path)
    assert answer is not None
    assert answer.status == 200, path
    if tab.locator("#api-browser").count():
        tab.wait_for_selector("#api-browser .opblock-tag")
    return [
        f"{scheme} {path}: {each['id']}: {node['html'][:160]}"
        for each in Axe().run(tab).response["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
