"""A crawl of one large host keeps the end of its queue in files, also when the command is killed in the middle."""

from __future__ import annotations

import re
import signal
from collections import Counter
from pathlib import Path

from support.origins.chain_site import ChainSite
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until

from frontier.segments.registry import SEGMENT_FOLDER

PAGES = 120


class WideSite(ChainSite):
    """A site whose first page has links to all others."""

    def _answer(self, path: str) -> tuple[bytes, str]:
        if path == "/":
            return "".join(f"<a href='/{number}'>page</a>" for number in range(1, PAGES)).encode(), "text/html"
        return (b"<p>a page</p>", "text/html") if re.fullmatch(r"/\d+", path) else (b"", "text/plain")


def _crawl(home: Path, *seeds: str) -> Command:
    flags = ("--collection", "garden", "--allow-private", "--delay", "0", "--robots", "ignore", "--json")
    return Command("crawl", *seeds, *flags, "--workers", "1", home=home, GHOSTFLEET_FRONTIER__QUEUE_MEMORY="20")


def test_a_limit_of_pages_ends_a_crawl_of_many_seeds(home: Path, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    with WideSite(PAGES) as site:
        seeds.write_text("".join(f"{site.url}{number}\n" for number in range(3_000)), "utf-8")
        for pages in (5, 8):
            with _crawl(home, "--seeds-file", str(seeds), "--limit-pages", str(pages)) as crawl:
                assert crawl.ended() == 4
            summary = crawl.line(event="summary")
            found = (summary["reason"], summary["pages"], summary["left"])
            assert found == (f"{pages} pages", pages, 3_000 - pages)
        assert Counter(site.asked) == Counter(f"/{number}" for number in range(8))


def test_a_killed_crawl_with_a_queue_in_files_is_resumed(home: Path) -> None:
    with WideSite(PAGES) as site:
        site.hold("/5")
        with _crawl(home, site.url) as crawl:
            until(lambda: "/5" in site.asked, what="a request for /5", within=90)
            pattern = f"collections/garden/jobs/*/{SEGMENT_FOLDER}/*.gz"
            until(lambda: list(home.glob(pattern)), what="a file with the end of the queue", within=60)
            crawl.signal(signal.SIGKILL)
            crawl.ended()
            site.let_go("/5")
        with _crawl(home, site.url) as again:
            assert again.ended() == 0
        assert again.line(event="summary")["status"] == "finished"
        asked = Counter(site.asked)
    pages = ["/", *(f"/{number}" for number in range(1, PAGES))]
    assert [path for path in pages if not asked[path]] == []
    assert [path for path in pages if asked[path] > 1] in ([], ["/5"]), "only a visit that was cut off is made again"
    assert not list(home.glob(f"collections/garden/jobs/*/{SEGMENT_FOLDER}")), "nothing is left of a job that is over"
