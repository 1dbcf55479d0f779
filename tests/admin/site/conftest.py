"""A site with the stock of a fresh installation, and a browser in which its administrator is logged in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright
from support.web.site_server import RunningSite, running_site

from admin.harvests.dispatch.channels import install_stock as install_channels
from admin.harvests.dispatch.harvesters import Registration, register
from admin.harvests.schedules.stock import install_stock as install_schedules
from admin.harvests.templates.stock import install_stock as install_templates
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from browsers.engines.chromium.executable import find_chromium

expect.set_options(timeout=60_000)  # a slow machine is no failure


@pytest.fixture
def stocked_site(sqlite_database: Database, tmp_path: Path) -> Iterator[RunningSite]:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        install_channels(transaction)
        install_templates(transaction)
        install_schedules(transaction)
        register(transaction, Registration("a-harvester", "FOCUSED", "here", 1, 1_000_000_000))
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield running


@pytest.fixture
def curator(stocked_site: RunningSite) -> Iterator[httpx.Client]:
    with stocked_site.client(Role.CURATOR) as client:
        yield client


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture
def open_context(
    chromium: Browser, stocked_site: RunningSite, curator: httpx.Client
) -> Iterator[Callable[[str, bool], BrowserContext]]:
    """Opens a browser's context in which the curator is logged in: with a colour scheme, with or without scripts."""

    contexts: list[BrowserContext] = []

    def opened(scheme: str, has_scripts: bool) -> BrowserContext:
        context = chromium.new_context(
            base_url=stocked_site.address,
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=has_scripts,
        )
        contexts.append(context)
        context.set_default_timeout(60_000)
        for name, value in curator.cookies.items():
            context.add_cookies([{"name": name, "value": value, "url": stocked_site.address}])
        return context

    yield opened
    for context in contexts:
        context.close()
