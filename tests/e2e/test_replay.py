"""What was on the screen in the crawl is on the screen in the replay, and nothing is asked of the network for it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from demo_looks import compare, read_views
from demo_replay import browsing, replaying, visit_page
from support.browsers.finished_crawl import Harvest
from support.browsers.garden_crawl import COLLECTION, archive_dir

from bench.process import our_command

pytestmark = pytest.mark.browser

TOP = Path(__file__).resolve().parents[2]
WINDOW = (1280, 1024)


KINDS = ("/", "/gallery.html", "/visit.html", "/film.html", "/notes/chunked.html", "/members")
"""Pages whose parts come in different ways."""


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kinds", [KINDS, pytest.param((), marks=pytest.mark.slow)], ids=["kinds", "all"])
def test_pages_look_in_the_replay_as_they_did_in_the_crawl(harvest: Harvest, kinds: tuple[str, ...]) -> None:
    found = read_views(archive_dir(harvest.home))
    views = {url: view for url, view in found.items() if not kinds or urlsplit(url).path in kinds}
    asked = len(harvest.site.requests)
    command = our_command("replay", COLLECTION, "--home", str(harvest.home), "--port", "0")

    with (
        replaying(command, TOP, harvest.site.resolve) as proxy,
        browsing(proxy, harvest.home, WINDOW) as new_context,
    ):
        looks = {url: compare(view, visit_page(new_context, url)) for url, view in views.items()}

    assert len(looks) >= len(kinds or harvest.site.urls())
    assert {url: look.share for url, look in looks.items() if not look.is_match} == {}
    assert len(harvest.site.requests) == asked
