"""Which bytes meet which, as warcprox's clients expect it: buckets, sizes, the blackout, what else is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.archive.warc_reader import Archive
from support.clients.brozzler_client import MetaClient
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy
from support.proxy.warcprox_stage import ADDRESS, Stage, payload
from support.stores.redis_server import RedisServer

BUCKETS = 20


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A proxy with the options of warcprox that have no place in a request."""
    settings = {"dedup.min_text_bytes": 4, "dedup.min_binary_bytes": 6, "dedup.blackout_seconds": 3600}
    with staged(tmp_path_factory.mktemp("sized"), settings) as stage:
        yield stage


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[tuple[Stage, RedisServer]]:
    """A proxy that looks every new payload up in its index, and its Redis."""
    with (
        RedisServer(tmp_path) as server,
        staged(tmp_path / "stage", {"redis.url": server.url, "dedup.recall": "always"}) as stage,
    ):
        yield stage, server


@contextmanager
def staged(folder: Path, settings: Mapping[str, Any]) -> Iterator[Stage]:
    folder.mkdir(exist_ok=True)
    names = {"proxy.resolve": f"localhost={ADDRESS}", **settings}
    with RawOrigin(ADDRESS) as origin, RunningProxy(folder / "home", names) as proxy:
        origin.otherwise(payload)
        yield Stage(proxy, MetaClient(proxy), origin, origin, folder)


def kinds(stage: Stage, *paths: str) -> list[str]:
    """What was kept of these paths, each fetched once."""
    archive = stage.proxy.records(growing=True)
    return [record.kind for path in paths for record in archive.of(stage.url(path), "response", "revisit")]


def fetch(stage: Stage, path: str, buckets: Mapping[str, str] | None, **further: Any) -> None:
    meta = further if buckets is None else {"dedup-buckets": dict(buckets), **further}
    assert stage.client.get(stage.url(path), meta).status_code == 200


class TestBuckets:
    @pytest.mark.parametrize("key", ["dedup-buckets", "dedup-bucket", "captures-bucket"])
    def test_each_has_its_own_first_copy_whatever_its_url(self, stage: Stage, key: str) -> None:
        def name(bucket: str) -> dict[str, Any]:
            return {key: {bucket: "rw"} if key == "dedup-buckets" else bucket}

        one, two = stage.url(f"/one/{key}"), stage.url(f"/two/{key}")
        for url, bucket in [(one, "bucket-a"), (two, "bucket-b"), (two, "bucket-a"), (one, "bucket-b")]:
            assert stage.client.get(url, name(f"{key} {bucket}")).status_code == 200

        archive = stage.proxy.records(growing=True)
        for url, other in ((one, two), (two, one)):
            first, again = archive.of(url, "response", "revisit")
            (original,) = archive.of(other, "response")
            assert (first.kind, again.kind) == ("response", "revisit")
            assert again.field("WARC-Refers-To") == original.id
            assert again.field("WARC-Refers-To-Target-URI") == other
            assert again.field("WARC-Refers-To-Date") == original.field("WARC-Date")
            assert first.block.startswith(again.block)
        _check_pairs(archive, one, two)

    def test_that_are_read_only_are_searched_and_not_filled(self, stage: Stage) -> None:
        fetch(stage, "/a/readonly", {"read-only": "ro"})
        fetch(stage, "/b/readonly", {"read-only": "ro"})
        fetch(stage, "/c/readonly", {"read-only": "rw", "another": "ro"})
        fetch(stage, "/d/readonly", {"read-only": "ro", "third": "rw"})
        fetch(stage, "/e/readonly", {"third": "rw"})

        found = kinds(stage, *(f"/{name}/readonly" for name in "abcde"))
        assert found == ["response", "response", "response", "revisit", "response"]

    def test_are_not_mixed_up_when_many_are_used_at_once(self, stage: Stage) -> None:
        """Three rounds: a copy for each bucket, other URLs, and the first URLs again."""

        def fetch_all(round_number: int) -> None:
            def one(number: int) -> None:
                path = f"/{round_number % 2}-{number}/{round_number % 2}mixed"
                fetch(stage, path, {f"mixed {number}": "rw"})

            with ThreadPoolExecutor(8) as pool:
                list(pool.map(one, range(BUCKETS)))

        def counted() -> list[int]:
            records = stage.proxy.records(growing=True).kinds("response", "revisit")
            mixed = [record.kind for record in records if record.url.endswith("mixed")]
            return [mixed.count("response"), mixed.count("revisit")]

        fetch_all(0)
        assert counted() == [BUCKETS, 0]
        fetch_all(1)
        assert counted() == [2 * BUCKETS, 0]
        fetch_all(2)
        assert counted() == [2 * BUCKETS, BUCKETS]

    def test_of_a_session_hold_for_all_of_its_requests(self, stage: Stage) -> None:
        wishes = {"collection": "default", "dedup_buckets": {"of a session": "rw"}, "listen": True}
        session = stage.proxy.control("POST", "/sessions", wishes)
        fetch(stage, "/a/session", None)
        for path in ("/b/session", "/c/session"):
            with stage.proxy.connect((session["host"], session["port"])) as client:
                url = stage.url(path)
                assert client.ask(f"GET {url} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).status == 200

        assert kinds(stage, "/a/session", "/b/session", "/c/session") == ["response", "response", "revisit"]

    def test_that_make_no_sense_are_refused_by_name(self, stage: Stage) -> None:
        answer = stage.client.get(stage.url("/x/y"), {"dedup-buckets": {"a": "wo"}})

        assert answer.status_code == 400
        assert "must be rw or ro" in answer.text


def test_what_declined_dedup_is_no_original_for_later_ones(stage: Stage) -> None:
    fetch(stage, "/a/flag", {"flag": "rw"}, **{"dedup-ok": False})
    fetch(stage, "/b/flag", {"flag": "rw"})
    fetch(stage, "/c/flag", {"flag": "rw"}, **{"dedup-ok": False})
    fetch(stage, "/d/flag", {"flag": "rw"})

    assert kinds(stage, "/a/flag", "/b/flag", "/c/flag", "/d/flag") == ["response", "response", "response", "revisit"]


class TestSettings:
    """What warcprox takes as options."""

    @pytest.mark.parametrize(
        ("content_type", "body", "again"),
        [
            (b"text/plain", b"txt", "response"),
            (b"text/plain;charset=utf-8", b"text", "revisit"),
            (b"application/json", b"{ab}", "revisit"),
            (b"image/png", b"image", "response"),
            (b"image/png", b"images", "revisit"),
            (b"", b"untyp", "response"),
        ],
    )
    def test_small_payloads_are_kept_whole(self, sized: Stage, content_type: bytes, body: bytes, again: str) -> None:
        paths = [f"/size/{name}/{content_type.hex()}{len(body)}" for name in ("a", "b", "c")]
        for path in paths:
            fields = (b"Content-Type: " + content_type,) if content_type else ()
            sized.plain.script(path, Send(response(body, *fields)))
            fetch(sized, path, None)

        assert kinds(sized, *paths) == ["response", again, again]

    def test_a_copy_of_the_same_url_in_the_blackout_is_not_written(self, sized: Stage) -> None:
        for path in ("/a/blackout", "/a/blackout", "/b/blackout"):
            fetch(sized, path, None)

        assert kinds(sized, "/a/blackout", "/b/blackout") == ["response", "revisit"]
        until(lambda: sized.proxy.status()["active_requests"] == 0, what="the answers")
        assert sized.proxy.status()["lost"] == 0


class TestIndex:
    """Where warcprox asks a CDX server we ask our own index: found, not found, broken; nothing breaks a capture."""

    def test_only_what_is_found_is_a_revisit(self, asking: tuple[Stage, RedisServer]) -> None:
        stage, server = asking
        fetch(stage, "/a/found", None)
        until(lambda: _is_indexed(stage, stage.url("/a/found")), what="the index")
        with server.client() as client:
            client.flushall()
        for path in ("/b/found", "/c/found", "/d/elsewhere"):
            fetch(stage, path, None)

        found = kinds(stage, "/a/found", "/b/found", "/c/found", "/d/elsewhere")
        assert found == ["response", "revisit", "revisit", "response"]
        assert stage.proxy.status()["recalled"] == 1, "what was found was not told to Redis"

    def test_a_broken_index_costs_only_a_revisit(self, asking: tuple[Stage, RedisServer]) -> None:
        stage, server = asking
        fetch(stage, "/a/broken", None)
        for path in stage.proxy.home.glob("ghostfleet.db*"):
            path.write_bytes(b"no database " * 100)
        with server.client() as client:
            client.flushall()
        fetch(stage, "/b/broken", None)

        assert kinds(stage, "/a/broken", "/b/broken") == ["response", "response"]
        stage.proxy.kill9()  # stopped in peace it would end with 1, and say that its index is broken


def _is_indexed(stage: Stage, url: str) -> bool:
    with stage.proxy.connect(_address(stage.proxy.ready["cdx"])) as client:
        reply = client.ask(f"GET /default/cdx?url={url} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return reply.status == 200 and reply.body != b""


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _check_pairs(archive: Archive, *urls: str) -> None:
    """A request follows each record, and no header is there twice."""
    for place, record in enumerate(archive.records):
        if record.url in urls and record.kind in ("response", "revisit"):
            behind = archive.records[place + 1]
            assert (behind.kind, behind.field("WARC-Concurrent-To")) == ("request", record.id)
            names = [name.lower() for name, _ in record.fields]
            assert len(names) - len(set(names)) == names.count("warc-protocol") - 1
