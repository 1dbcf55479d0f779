"""A collection's folder or files are removed, and no later revisit refers to what was in them (T1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.removal import remove_in_use
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy, credentials

ADDRESS = "127.0.1.83"
PATHS = [f"/{number}" for number in range(8)]


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    """Four different pages, each at two paths."""
    with RawOrigin(ADDRESS) as running:
        running.otherwise(lambda asked: (Send(response(page(b"page %d" % (int(asked.split(b" ")[1][1:]) % 4)))),))
        yield running


def fetch(proxy: RunningProxy, origin: RawOrigin) -> None:
    for path in PATHS:
        assert proxy.get(origin.url(path)).status == 200


def replay_of(proxy: RunningProxy) -> str:
    return credentials(proxy.control("POST", "/sessions", {"collection": "default", "mode": "replay"}))


def remove_folder(proxy: RunningProxy) -> None:
    remove_in_use(proxy.folder().parent)


def remove_files(proxy: RunningProxy) -> None:
    for path in proxy.folder().iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("remove", "while_it_runs"),
    [
        pytest.param(remove_files, False, id="files between runs"),
        pytest.param(remove_folder, True, id="folder while it runs"),
        pytest.param(remove_folder, False, id="folder between runs", marks=pytest.mark.slow),
        pytest.param(remove_files, True, id="files while it runs", marks=pytest.mark.slow),
    ],
)
def test_a_crawl_after_files_were_removed_keeps_everything_again(
    tmp_path: Path, origin: RawOrigin, remove: Callable[[RunningProxy], None], while_it_runs: bool
) -> None:
    proxy = RunningProxy(tmp_path / "home", {"admin.cdx_port": 0})
    with proxy:
        fetch(proxy, origin)
        if while_it_runs:
            remove(proxy)
            fetch(proxy, origin)
    if not while_it_runs:
        remove(proxy)
    with proxy:
        replay = replay_of(proxy)
        if not while_it_runs:
            # Replay finds no file and answers 500 until the indexer has dropped the captures.
            until(lambda: proxy.get(origin.url("/1"), replay).status == 404, what="the index to drop what was removed")
            fetch(proxy, origin)
        until(
            lambda: all(proxy.get(origin.url(path), replay).status == 200 for path in PATHS),
            what="everything to be in the index",
        )
        bodies = [proxy.get(origin.url(path), replay).body for path in PATHS]
    assert bodies == [page(b"page %d" % (number % 4)) for number in range(8)]

    records = proxy.records()
    kept = {record.url: record for record in records.records if record.kind in ("response", "revisit")}
    assert set(kept) == set(map(origin.url, PATHS))
    originals = {record.id for record in kept.values() if record.kind == "response"}
    assert len(originals) == 4
    assert {record.field("WARC-Refers-To") for record in kept.values() if record.kind == "revisit"} <= originals


def test_a_conditional_request_asks_about_no_capture_whose_file_was_removed(tmp_path: Path) -> None:
    head = b'HTTP/1.1 200 OK\r\nETag: "one"\r\nContent-Length: 40\r\n\r\n'
    with RawOrigin(ADDRESS) as origin:
        origin.otherwise(lambda _: (Send(head + b"x" * 40),))
        url = origin.url("/page")
        with RunningProxy(tmp_path / "home", {"dedup.conditional": True}) as proxy:
            assert proxy.get(url).status == 200
            replay = replay_of(proxy)
            until(lambda: proxy.get(url, replay).status == 200, what="the page to be in the index")
            assert proxy.get(url).status == 200
            assert b"If-None-Match" in origin.asked("/page")[-1].received
        remove_files(proxy)
        with proxy:
            assert proxy.get(url).status == 200
            assert b"If-None-Match" not in origin.asked("/page")[-1].received
        assert [record.kind for record in proxy.records().of(url)] == ["response", "request"]
