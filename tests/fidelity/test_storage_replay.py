"""Replay, patch mode and revisits go on when the local copies of the WARC files are gone to the storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy, credentials

ADDRESS = "127.0.1.79"
FILM = page(b"/film", 3_000_000)
TWIN = page(b"/twin", 20_000)


@dataclass(frozen=True)
class Stage:
    proxy: RunningProxy
    origin: RawOrigin
    target: Path

    def session(self, mode: str) -> str:
        return credentials(self.proxy.control("POST", "/sessions", {"collection": "default", "mode": mode}))


@pytest.fixture(scope="module", params=["gzip", pytest.param("zstd", marks=pytest.mark.slow)])
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Pages recorded, handed to a folder, removed from the home; the proxy started anew."""
    folder = tmp_path_factory.mktemp("storage")
    settings = {
        "archive.compression": request.param,
        "archive.warc_folder": "{prefix}/{year}",
        "storage.url": str(folder / "target"),
        "storage.keep_local_seconds": 0,
        "storage.look_seconds": 0.2,
    }
    with RawOrigin(ADDRESS) as origin:
        origin.otherwise(lambda asked: (Send(response(page(asked.split(b" ")[1], 5000))),))
        origin.script("/film", Send(response(FILM)))
        origin.script("/one", Send(response(TWIN)))
        origin.script("/two", Send(response(TWIN)))
        with RunningProxy(folder / "home", settings) as proxy:
            for path in ("/page", "/film", "/one", "/two"):
                assert proxy.get(origin.url(path)).status == 200
        with RunningProxy(folder / "home", settings) as proxy:
            until(lambda: not list(proxy.folder().rglob("*.warc.*")), what="the local copies to leave")
            yield Stage(proxy, origin, folder / "target")


def test_replay_reads_from_the_storage(stage: Stage) -> None:
    replay = stage.session("replay")

    assert stage.proxy.get(stage.origin.url("/page"), replay).body == page(b"/page", 5000)
    assert stage.proxy.get(stage.origin.url("/film"), replay).body == FILM
    part = stage.proxy.get(stage.origin.url("/film"), replay, "Range: bytes=2000000-2000099")
    assert (part.status, part.body) == (206, FILM[2_000_000:2_000_100])


def test_a_revisit_in_the_storage_finds_its_original_there(stage: Stage) -> None:
    kept = {line["url"]: line["mime"] for line in stage.proxy.sidecar_lines()}
    assert [kept[stage.origin.url(path)] for path in ("/one", "/two")] == ["unk", "warc/revisit"]

    assert stage.proxy.get(stage.origin.url("/two"), stage.session("replay")).body == TWIN


def test_patch_mode_does_not_fetch_what_the_storage_has(stage: Stage) -> None:
    before = len(stage.origin.asked("/page"))

    answer = stage.proxy.get(stage.origin.url("/page"), stage.session("patch"))

    assert answer.header("Memento-Datetime")
    assert len(stage.origin.asked("/page")) == before


def test_a_storage_that_is_away_is_a_503_with_its_reason_and_never_a_miss(stage: Stage) -> None:
    away = stage.target.with_name("away")
    stage.target.rename(away)
    try:
        before = len(stage.origin.asked("/page"))
        for mode in ("replay", "patch"):
            answer = stage.proxy.get(stage.origin.url("/page"), stage.session(mode))
            assert (answer.status, answer.header("Ghostfleet-Error")) == (503, "0 storage-away")
            assert f"{stage.target} does not exist, and should have default/archive/".encode() in answer.body
            assert answer.header("Retry-After")
        assert len(stage.origin.asked("/page")) == before, "what is held is not fetched anew"
        assert stage.proxy.get(stage.origin.url("/never"), stage.session("replay")).status == 404
    finally:
        away.rename(stage.target)
    assert stage.proxy.get(stage.origin.url("/page"), stage.session("replay")).status == 200
