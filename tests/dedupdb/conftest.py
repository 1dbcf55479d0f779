"""An empty Redis for each test, and claims in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.stores.redis_cluster import RedisCluster
from support.stores.redis_server import RedisServer

from dedupdb.claims.claims import Claims


@pytest.fixture
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that the test may stop and change; with `--redis cluster`, the cluster of the run."""
    if request.config.getoption("--redis") == "cluster":
        request.getfixturevalue("redis_url")
        yield request.getfixturevalue("_redis")
        return
    with RedisServer(tmp_path) as running:
        yield running


@pytest.fixture
def server(request: pytest.FixtureRequest) -> RedisServer:
    """The Redis of the run, empty; in a test that asks for `own_server`, that one."""
    if "own_server" in request.fixturenames:
        own: RedisServer = request.getfixturevalue("own_server")
        return own
    request.getfixturevalue("redis_url")
    shared: RedisServer = request.getfixturevalue("_redis")
    return shared


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    """Three servers that stay; each test has collections of its own."""
    with RedisCluster(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture
def claims(server: RedisServer) -> Iterator[Claims]:
    """One writer's claims."""
    with _writer(server) as writer:
        yield writer


@pytest.fixture
def writers(server: RedisServer) -> Iterator[tuple[Claims, Claims]]:
    """Two writers' claims in the same store."""
    with _writer(server) as one, _writer(server) as two:
        yield one, two


def _writer(server: RedisServer) -> Claims:
    return Claims(server.url, claim_seconds=60, timeout_seconds=10)
