"""The same bytes through two proxies in the same moment: one is written, the other points to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.archive.warc_reader import Stored
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.proxy.running_proxy import RunningProxy
from support.stores.redis_server import RedisServer

ADDRESS = "127.0.1.25"
TWINS = 40
# A writer that waits longer than these settings allow keeps its payload whole, as it has to.
PATIENT = {"dedup.wait_seconds": 100, "dedup.claim_seconds": 200, "redis.timeout_seconds": 100}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path) as running:
        yield running


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(lambda request: (Send(response(page(request.split(b" ", 2)[1].split(b"?")[0]))),))
        yield running


def test_twins_through_two_processes_give_one_response_each(tmp_path: Path, origin: RawOrigin) -> None:
    """The two processes share one port, so many connections are needed to reach both at once."""
    with RunningProxy(tmp_path / "home", {**PATIENT, "proxy.processes": 2}) as proxy, ThreadPoolExecutor(4) as pool:
        for number in range(TWINS):
            urls = [origin.url(f"/twin-{number}?{copy}") for copy in range(4)]
            replies = list(pool.map(proxy.get, urls))
            assert {reply.status for reply in replies} == {200}
        proxy.stop()

        _check_twins(_kept([proxy], "/twin-"), copies=4)
        assert len({record.path for record in proxy.records().kinds("response")}) == 2, "only one process was used"


def test_twins_through_two_fleets_of_one_redis_give_one_response_each_and_one_in_each_bucket(
    tmp_path: Path, origin: RawOrigin, server: RedisServer
) -> None:
    settings = {**PATIENT, "redis.url": server.url}
    metas = [f'Warcprox-Meta: {{"dedup-buckets": {{{names}}}}}' for names in ('"a": "rw", "b": "rw"', '"b": "rw"')]
    with (
        RunningProxy(tmp_path / "one", settings) as one,
        RunningProxy(tmp_path / "two", settings) as two,
        ThreadPoolExecutor(4) as pool,
    ):
        for number in range(TWINS):
            url = origin.url(f"/twin-{number}")
            assert [reply.status for reply in pool.map(RunningProxy.get, (one, two), (url, url))] == [200, 200]
        for number in range(TWINS // 2):
            asked = [
                pool.submit(proxy.get, origin.url(f"/crossing-{number}?{copy}"), metas[copy])
                for copy in range(2)
                for proxy in (one, two)
            ]
            assert {reply.result().status for reply in asked} == {200}
        one.stop()
        two.stop()

    _check_twins(_kept([one, two], "/twin-"), copies=2)
    records = _kept([one, two], "/crossing-")
    responses = {record.id: record for record in records if record.kind == "response"}
    filled = Counter(
        (record.payload_digest, bucket)
        for record in responses.values()
        for bucket in (record.field("WARC-Dedup-Buckets") or "").split()
    )
    assert set(filled.values()) == {1}, "bytes were written more than once in one bucket"
    assert {bucket for _, bucket in filled} == {"a", "b"}
    for revisit in (record for record in records if record.kind == "revisit"):
        assert responses[revisit.field("WARC-Refers-To") or ""].payload_digest == revisit.payload_digest


def _kept(proxies: list[RunningProxy], path: str) -> list[Stored]:
    found = [record for proxy in proxies for record in proxy.records().kinds("response", "revisit")]
    return [record for record in found if path in record.url]


def _check_twins(records: list[Stored], copies: int) -> None:
    responses = {record.id: record for record in records if record.kind == "response"}

    assert len(records) == TWINS * copies
    for revisit in (record for record in records if record.kind == "revisit"):
        assert responses[revisit.field("WARC-Refers-To") or ""].payload_digest == revisit.payload_digest
    written = Counter(record.payload_digest for record in responses.values())
    assert len(written) == TWINS
    assert set(written.values()) == {1}, f"{sum(written.values()) - TWINS} bodies were written more than once"
