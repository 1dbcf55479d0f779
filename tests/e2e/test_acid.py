"""The eighteen boxes of the acid test are blue at the site, and in a replay that asks the network for nothing.

No ordinary test looks at the boxes. tests/site/test_feature_pages.py captures and replays some pages of their kinds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from demo_replay import replaying, tripwire
from feature_table import COLLECTION, TOP, captures, crawl, missing_proofs
from support.pages.acid import ACID, CHECKS, blue_boxes
from support.pages.person import browser
from support.pages.site import FeatureSite
from support.processes.machine_needs import redis_server

from bench.process import our_command
from browsers.engines.chromium.trust import trusted_keys

pytestmark = pytest.mark.browser

PATIENCE_SECONDS = 40.0


async def blue(trusted: Sequence[str], proxy: str = "", resolve: dict[str, str] | None = None) -> set[str]:
    """Visit the page, scroll, and wait until all boxes are blue or the patience ends; returns the blue ones."""
    async with browser(trusted, resolve) as new_context:
        context = await new_context(proxy)
        page = await context.new_page()
        await page.goto(ACID.url)
        await page.mouse.move(300, 300)
        await page.mouse.wheel(0, 700)
        found: set[str] = set()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while len(found) < len(CHECKS):
                    found = await blue_boxes(page)
        except TimeoutError:
            pass  # the caller compares what was found
        await context.close()
        return found


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_all_boxes_are_blue_live_and_in_the_replay(tmp_path: Path) -> None:
    redis_server()
    home = tmp_path / "home"
    with FeatureSite([ACID]) as site:
        live = asyncio.run(blue([site.trusted], resolve=site.resolve))
        said = crawl(site, home, [ACID], workers=1)
        ports, resolve = [site.http_port, site.https_port], site.resolve

    assert live == set(CHECKS)
    assert missing_proofs(ACID, captures(home)) == (), said.stdout[-2000:]

    command = our_command("replay", COLLECTION, "--home", str(home), "--port", "0")
    with tripwire(ports) as wire, replaying(command, TOP, resolve) as proxy:
        replayed = asyncio.run(blue(trusted_keys(home, proxy), proxy))
        escaped = wire.touched()

    assert replayed == set(CHECKS)
    assert escaped == 0
