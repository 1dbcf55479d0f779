"""WARC files in subfolders: recorded, killed, repaired, indexed, replayed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy, credentials

from archive.names.warc_paths import growing
from archive.warc.upkeep.check import check

ADDRESS = "127.0.1.78"


def test_files_by_prefix_and_year_survive_a_kill_and_are_replayed(tmp_path: Path) -> None:
    with RawOrigin(ADDRESS) as origin:
        origin.otherwise(lambda asked: (Send(response(page(asked.split(b" ")[1], 5000))),))
        urls = {prefix: origin.url(f"/{prefix}") for prefix in ("daily", "extra")}
        proxy = RunningProxy(tmp_path / "home", {"archive.warc_folder": "{prefix}/{year}"})
        with proxy:
            for prefix, url in urls.items():
                session = proxy.control("POST", "/sessions", {"collection": "news", "prefix": prefix})
                assert proxy.get(url, credentials(session)).status == 200
            folder = proxy.home / "collections" / "news"
            assert {each.name.split("/")[0] for each in growing(folder)} == set(urls)
            proxy.kill9()
            proxy.start()
            until(lambda: not list(growing(folder)), what="the repair at the start")
            replay = credentials(proxy.control("POST", "/sessions", {"collection": "news", "mode": "replay"}))
            for prefix, url in urls.items():
                until(lambda url=url: proxy.get(url, replay).status == 200, what=f"{url} in the index")
                assert proxy.get(url, replay).body == page(f"/{prefix}".encode(), 5000)

    year = str(datetime.now(UTC).year)
    found = {each.relative_to(proxy.folder("news")).parts[:2] for each in proxy.folder("news").rglob("*.warc.gz")}
    assert {prefix for prefix, _ in found} == set(urls)
    assert {int(year) - int(each) for _, each in found} <= {0, 1}
    assert list(check(proxy.folder("news"))) == []
    done = proxy.command("reindex", "news")
    assert done.returncode == 0, done.stderr
    assert "news: 2 captures" in done.stdout
