"""A person plays captured feature pages in `ghostfleet view`, while their site is gone.

The player shows the archived document in a frame within a frame. The person does there what the page needs, and the
page tells whether it works, as in a replay through the proxy.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

from demo_replay import tripwire
from playwright.async_api import Frame, Page

from admin.viewing.player import PlayerRefused, fetch_player, find_player
from archive.settings.load import load
from bench.process import our_command, source_environment
from support.pages.feature import Feature
from support.pages.person import WINDOW, PageResult, browser, visit_all

_START_SECONDS: Final = 30.0
_STEP_SECONDS: Final = 0.05


@contextmanager
def viewing(home: Path, collection: str) -> Iterator[str]:
    """Run the viewer of the home, with the player that npm gives, and yield its address without a slash at the end."""
    settings = load({"home": str(home)}, environment={})
    try:
        find_player(settings)
    except PlayerRefused:
        fetch_player(settings)
    command = our_command("view", "--home", str(home), "--port", "0", "--collection", collection, "--json")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=source_environment()) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"the viewer ended with exit code {process.wait()} before it was ready")
            yield str(json.loads(line)["view"]).rstrip("/")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)


def view(
    ports: Sequence[int],
    resolve: Mapping[str, str],
    address: str,
    collection: str,
    features: Sequence[Feature],
    dates: Mapping[str, str],
) -> tuple[dict[str, PageResult], int]:
    """Play the features of the collection in the viewer at the address, each at the timestamp of its URL.

    Return the results, and how many connections reached the ports of the site.
    """

    async def none(_: Feature) -> str:
        return ""

    async def nothing(_: Feature) -> None:
        return

    async def in_the_player(page: Page, feature: Feature) -> Frame:
        query = f"url={quote(feature.url, safe='')}&ts={dates.get(feature.url, '')}"
        return await _open(page, f"{address}/c/{collection}/play?{query}")

    with tripwire(ports) as wire:
        # The browser may reach the site: so a request that the player lets through is counted.
        opened = partial(browser, (), resolve)
        return asyncio.run(visit_all(features, opened, none, nothing, 2, in_the_player)), wire.touched()


async def _open(page: Page, url: str) -> Frame:
    """Open a page of the viewer, and return the frame of the archived document in the size of a person's window."""
    await page.goto(url, wait_until="commit")
    async with asyncio.timeout(_START_SECONDS):
        while (frame := _archived(page)) is None:
            await page.evaluate("0")  # Playwright hears of new frames while it is called
            await asyncio.sleep(_STEP_SECONDS)
    box = await (await frame.frame_element()).bounding_box()
    if box is not None:
        await page.set_viewport_size({"width": WINDOW[0], "height": WINDOW[1] + round(box["y"])})
    return frame


def _archived(page: Page) -> Frame | None:
    return next((frame for frame in page.frames if "mp_/" in frame.url), None)
