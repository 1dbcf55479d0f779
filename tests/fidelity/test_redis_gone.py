"""Redis killed or hanging: captures go on as full records, it is counted, and dedup comes back with Redis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy
from support.stores.redis_server import RedisServer

ADDRESS = "127.0.1.28"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path, append_only=True) as running:
        yield running


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(lambda _: (Send(response(page(b"always the same"))),))
        yield running


@pytest.fixture
def proxy(tmp_path: Path, server: RedisServer) -> Iterator[RunningProxy]:
    settings = {"redis.url": server.url, "redis.timeout_seconds": 0.5, "dedup.claim_seconds": 2}
    with RunningProxy(tmp_path / "home", settings) as running:
        yield running


@pytest.mark.parametrize("how", ["killed", "hanging"])
def test_records_are_full_while_redis_is_gone(
    proxy: RunningProxy, origin: RawOrigin, server: RedisServer, how: str
) -> None:
    for path in ("/before/1", "/before/2"):
        assert proxy.get(origin.url(path)).status == 200
    if how == "killed":
        server.kill()
    else:
        server.pause()

    for path in ("/without/1", "/without/2"):
        assert proxy.get(origin.url(path)).status == 200
    counted = proxy.metrics()
    indexed = {line["url"] for line in proxy.sidecar_lines()}
    if how == "killed":
        server.start()
    else:
        server.resume()

    until(lambda: _is_revisit(proxy, origin), what="dedup to come back")
    kinds = {path: [record.kind for record in proxy.records().of(origin.url(path))] for path in _paths()}
    assert kinds == {
        "/before/1": ["response", "request"],
        "/before/2": ["revisit", "request"],
        "/without/1": ["response", "request"],
        "/without/2": ["response", "request"],
    }
    assert {origin.url(path) for path in ("/without/1", "/without/2")} <= indexed, "the index would not get them"
    assert _value(counted, "dedup_unavailable") > 0


def test_buckets_and_health_come_back_with_redis(proxy: RunningProxy, origin: RawOrigin, server: RedisServer) -> None:
    bucket = 'Warcprox-Meta: {"dedup-buckets": {"job-7": "rw", "seeds": "ro"}}'

    def fetch(path: str) -> str:
        assert proxy.get(origin.url(path), bucket).status == 200
        return proxy.records(growing=True).of(origin.url(path), "response", "revisit")[-1].kind

    assert [fetch("/b/1"), fetch("/b/2")] == ["response", "revisit"]
    assert proxy.status()["dedup_unavailable_because"] == ""
    server.kill()
    assert [fetch("/b/3"), fetch("/b/4")] == ["response", "response"]
    trouble = proxy.status()["dedup_unavailable_because"]
    assert trouble.startswith("Redis at ")
    assert _value(proxy.metrics(), "ghostfleet_dedup_answers") == 0
    assert proxy.status()["accepting"]
    server.start()

    until(lambda: fetch("/b/5") == "revisit", what="dedup to come back")

    assert proxy.status()["dedup_unavailable_because"] == ""
    assert _value(proxy.metrics(), "ghostfleet_dedup_answers") == 1
    first = proxy.records(growing=True).of(origin.url("/b/1"), "response")[0]
    assert proxy.records(growing=True).of(origin.url("/b/5"), "revisit")[-1].field("WARC-Refers-To") == first.id


def _paths() -> tuple[str, ...]:
    return ("/before/1", "/before/2", "/without/1", "/without/2")


def _is_revisit(proxy: RunningProxy, origin: RawOrigin) -> bool:
    assert proxy.get(origin.url("/after")).status == 200
    return proxy.records().of(origin.url("/after"), "response", "revisit")[-1].kind == "revisit"


def _value(metrics: str, name: str) -> float:
    lines = [line for line in metrics.splitlines() if name in line and not line.startswith("#")]
    assert lines, f"no metric named like {name}"
    return sum(float(line.rpartition(" ")[2]) for line in lines)
