"""This script photographs the admin site of a real `ghostfleet up --demo`: `.venv/bin/python docs/site_pictures.py`.

It starts the demo in a temporary home, becomes its first administrator, waits until the demo's jobs have ended, judges
some pages by QA, and writes pictures/site-*.png. With `--home FOLDER` it uses, and keeps, the demo's home of an earlier
call.
"""

from __future__ import annotations

import argparse
import io
import json
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from admin.up.demo_home import SECOND_HARVEST
from browsers.engines.chromium.executable import find_chromium

TOP: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = TOP / "docs" / "pictures"
WIDTH, HEIGHT = 1180, 760
MOST_BYTES: Final = 150_000
JOBS: Final = 2
JOBS_SECONDS: Final = 300
JUDGED: Final = 20
_SHOWN_IMAGES: Final = (
    "[...document.images].every(each => each.complete || each.getBoundingClientRect().top > innerHeight)"
)
SHOTS: Final = {
    "overview": "/",
    "job": "/jobs/1",
    "domain": "/domains/garden.test",
    "harvest": f"/harvests/{SECOND_HARVEST}",
    "fleet": "/fleet",
}


def main() -> int:
    """Write all pictures."""
    parser = argparse.ArgumentParser(description="Photograph the admin site of a demo.")
    parser.add_argument("--home", type=Path, help="home of the demo, which is kept  [a temporary folder]")
    chosen = parser.parse_args().home
    with (
        tempfile.TemporaryDirectory(prefix="ghostfleet-pictures-") as folder,
        running_demo(chosen or Path(folder) / "home") as ready,
        opened_page() as page,
    ):
        become_administrator(page, ready["first_administrator"])
        await_jobs(page, ready["admin"])
        for name, path in SHOTS.items():
            write_picture(page, f"{ready['admin']}{path}", PICTURES / f"site-{name}.png")
        write_picture(page, viewer_link(page, ready["admin"]), PICTURES / "site-view.png")
        write_picture(page, judged_page(page, ready["admin"]), PICTURES / "site-qa.png")
        write_picture(page, captured_by_hand(page, ready["admin"]), PICTURES / "site-capture.png")
    return 0


@contextmanager
def running_demo(home: Path) -> Iterator[dict[str, Any]]:
    """Run the demo on free ports until the end of the block; yield what its JSON line says."""
    command = [sys.executable, "-m", "admin.cli", "up", "--demo", "--json", "--home", str(home)]
    command += [part for option in ("--port", "--proxy-port", "--replay-port", "--view-port") for part in (option, "0")]
    with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGINT)


@contextmanager
def opened_page() -> Iterator[Page]:
    """Open a page of the size of the pictures."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(find_chromium()))
        # The policy of the viewer refuses the evaluation of the condition that `write_picture` waits for.
        yield browser.new_page(bypass_csp=True, viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        browser.close()


def become_administrator(page: Page, link: str | None) -> None:
    """Make the first user by the link."""
    if link is None:
        raise SystemExit("the home has an administrator already; leave --home out, or name a new folder")
    password = secrets.token_urlsafe(20)
    page.goto(link)
    page.fill("[name=name]", "curator")
    page.fill("[name=full_name]", "Ada Curator")
    page.fill("[name=password]", password)
    page.fill("[name=repeated]", password)
    page.click("main form button[type=submit]")
    page.wait_for_url(lambda url: "/welcome/" not in url)


def await_jobs(page: Page, site: str) -> None:
    """Return when the demo's jobs are done."""
    deadline = time.monotonic() + JOBS_SECONDS
    while len(page.request.get(f"{site}/api/v1/jobs?status=DONE").json()["items"]) < JOBS:
        if time.monotonic() > deadline:
            raise SystemExit(f"the demo's jobs were not done after {JOBS_SECONDS} s; see logs/ in its home")
        page.wait_for_timeout(1000)


def viewer_link(page: Page, site: str) -> str:
    """Return the link of the first collection to the viewer."""
    page.goto(f"{site}/collections")
    page.locator("main tbody a").first.click()
    return page.get_by_role("link", name="Open in the viewer").get_attribute("href") or ""


def judged_page(page: Page, site: str) -> str:
    """Judge some pages of the first collection by QA. Return the link to the review of one that a browser captured."""
    page.goto(f"{site}/collections")
    name = page.locator("main tbody a").first.inner_text()
    page.goto(f"{site}/qa/start?collection={name}")
    page.fill("[name=sample]", str(JUDGED))
    page.click("main form button[type=submit]")
    page.wait_for_url("**/qa/*")
    number = page.url.rpartition("/")[2]
    deadline = time.monotonic() + JOBS_SECONDS
    while page.request.get(f"{site}/api/v1/qa-sessions/{number}").json()["state"] != "done":
        if time.monotonic() > deadline:
            raise SystemExit(f"the QA session was not done after {JOBS_SECONDS} s; see logs/qa.log in the home")
        page.wait_for_timeout(1000)
    pages = page.request.get(f"{site}/api/v1/qa-sessions/{number}/pages").json()["items"]
    chosen = next(each for each in pages if each["is_rendered"])
    return f"{site}/qa/{number}/pages/{chosen['id']}"


def captured_by_hand(page: Page, site: str) -> str:
    """Open the garden in a browser of the server; return the link of the page that shows it, with its first pages."""
    page.goto(f"{site}/capture/start?url=http://www.garden.test/plants/")
    page.fill("[name=collection]", "by-hand")
    page.fill("[name=title]", "Plants behind the fence")
    page.click("main form button[type=submit]")
    page.locator("#screen canvas[data-pictures]").wait_for(timeout=60_000)
    page.get_by_role("button", name="Plants").first.wait_for(timeout=60_000)
    page.get_by_role("button", name="Scroll to the end").click()
    page.get_by_role("button", name="Stop scrolling").wait_for()
    page.get_by_role("button", name="Scroll to the end").wait_for(timeout=90_000)
    return page.url


def write_picture(page: Page, url: str, path: Path) -> None:
    """Write the page as it is at the top of the window; fewer colours keep the file small."""
    page.goto(url)
    if page.locator("#screen").count():
        page.locator("#screen canvas[data-pictures]").wait_for(timeout=60_000)
    page.evaluate("document.fonts.ready")
    page.wait_for_function(_SHOWN_IMAGES)
    whole = page.evaluate("document.documentElement.scrollHeight")
    shown = page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": min(whole, HEIGHT)})
    with Image.open(io.BytesIO(shown)) as picture:
        picture.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.relative_to(TOP)}: {size:,} bytes")
    if size > MOST_BYTES:
        raise SystemExit(f"{path} has {size:,} bytes, more than {MOST_BYTES:,}; show less of the page")


if __name__ == "__main__":
    sys.exit(main())
