"""Pages as axe-core sees them in a real browser, in light and dark, with the charts drawn by their script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import httpx
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from browsers.engines.chromium.executable import find_chromium
from support.web.site_server import RunningSite

_SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")


def serious_in_both_schemes(site: RunningSite, client: httpx.Client, paths: Sequence[str]) -> list[str]:
    """What axe finds that is serious or critical, what the policy refuses, errors of scripts, and charts not drawn."""
    found: list[str] = []
    noted: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        try:
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    base_url=site.address, color_scheme="dark" if scheme == "dark" else "light"
                )
                context.add_cookies(
                    [{"name": name, "value": value, "url": site.address} for name, value in client.cookies.items()]
                )
                tab = context.new_page()
                tab.on("pageerror", lambda error: noted.append(f"script: {error}"))
                tab.on("console", lambda message: noted.append(message.text))
                for path in paths:
                    tab.goto(path)
                    charts = tab.locator("[data-chart]").count()
                    drawn = tab.locator("[data-chart] canvas").count()
                    found += [f"{path}: {drawn} of {charts} charts are drawn"] if charts != drawn else []
                    violations = Axe().run(tab).response["violations"]
                    found += [
                        f"{scheme} {path}: {each['id']}: {node['html'][:160]}"
                        for each in violations
                        if each["impact"] in ("serious", "critical")
                        for node in each["nodes"][:3]
                    ]
                context.close()
        finally:
            browser.close()
    return found + [text for text in noted if "Content Security Policy" in text or text.startswith("script: ")]
