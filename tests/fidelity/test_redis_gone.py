"""Redis killed or hanging: captures go on as full records, it is counted, and dedup comes back with Redis."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
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
    settings = {"redis.url": server.url, "redis.timeout_seconds": 2}
    with RunningProxy(tmp_path / "home", settings) as running:
        yield running


@pytest.mark.parametrize("how", ["killed", "hanging"])
def test_records_are_full_while_redis_is_gone(
    proxy: RunningProxy, origin: RawOrigin, server: RedisServer, how: str
) -> None:
    before = (origin.url(f"/before/{number}") for number in count(1))
    until(lambda: kind_of(proxy, next(before)) == "revisit", what="dedup before the outage", within=90)
    if how == "killed":
        server.kill()
    else:
        server.pause()

    without = [origin.url("/without/1"), origin.url("/without/2")]
    for url in without:
        assert proxy.get(url).status == 200
    counted = proxy.metrics()
    indexed = {line["url"] for line in proxy.sidecar_lines()}
    if how == "killed":
        server.start()
    else:
        server.resume()

    until(lambda: kind_of(proxy, origin.url("/after")) == "revisit", what="dedup to come back", within=90)
    kinds = [[record.kind for record in proxy.records(growing=True).of(url)] for url in without]
    assert kinds == [["response", "request"]] * 2
    assert set(without) <= indexed, "the index would not get them"
    assert _value(counted, "dedup_unavailable") > 0


def test_buckets_and_health_come_back_with_redis(proxy: RunningProxy, origin: RawOrigin, server: RedisServer) -> None:
    bucket = 'Warcprox-Meta: {"dedup-buckets": {"job-7": "rw", "seeds": "ro"}}'

    def fetch(path: str) -> str:
        return kind_of(proxy, origin.url(path), bucket)

    def is_well(path: str) -> bool:
        return fetch(path) == "revisit" and proxy.status()["dedup_unavailable_because"] == ""

    assert fetch("/b/1") == "response"
    until(lambda: is_well("/b/2"), what="dedup before the outage", within=90)
    kept = {record.id for record in proxy.records(growing=True).kinds("response")}
    server.kill()
    assert [fetch("/b/3"), fetch("/b/4")] == ["response", "response"]
    trouble = proxy.status()["dedup_unavailable_because"]
    assert trouble.startswith("Redis at ")
    assert _value(proxy.metrics(), "ghostfleet_dedup_answers") == 0
    assert proxy.status()["accepting"]
    server.start()

    until(lambda: is_well("/b/5"), what="dedup to come back", within=90)

    assert _value(proxy.metrics(), "ghostfleet_dedup_answers") == 1
    assert proxy.records(growing=True).of(origin.url("/b/5"), "revisit")[-1].field("WARC-Refers-To") in kept


def kind_of(proxy: RunningProxy, url: str, *headers: str) -> str:
    """Fetch a URL; return the kind of its last record."""
    assert proxy.get(url, *headers).status == 200
    return proxy.records(growing=True).of(url, "response", "revisit")[-1].kind


def _value(metrics: str, name: str) -> float:
    lines = [line for line in metrics.splitlines() if name in line and not line.startswith("#")]
    assert lines, f"no metric named like {name}"
    return sum(float(line.rpartition(" ")[2]) for line in lines)
