"""A Redis of each test's own, and claims in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.stores.redis_server import RedisServer

from dedupdb.claims.claims import Claims


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer]:
    """A private Redis, empty; with `--redis cluster`, the cluster of the run."""
    if request.config.getoption("--redis") == "cluster":
        request.getfixturevalue("redis_url")
        yield request.getfixturevalue("_redis")
        return
    with RedisServer(tmp_path) as running:
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
