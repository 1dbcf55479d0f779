"""One recording process for all tests of the room that need no settings of their own, and origins for it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import trustme
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, Step, certificate_authority, response, server_tls
from support.proxy.proxy_process import ADDRESS, ProxyProcess
from support.proxy.upstream_pool import MakePool
from support.stores.redis_server import RedisServer

from archive.settings import ProxySettings
from archive.settings.load import Settings
from dedupdb.claims.claims import Claims
from proxy.origins.opener import Opener, resolver_of
from proxy.origins.upstream import Pool
from proxy.recording.keep import Keeper


@pytest.fixture(scope="session")
def proxy_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """The Redis of the tests' proxies; nobody empties it."""
    with RedisServer(tmp_path_factory.mktemp("proxy-redis")) as server:
        yield server


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """Who signed the certificates of the tests' origins."""
    return certificate_authority()


@pytest.fixture(scope="session")
def origin_ca(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The authority's public certificate, for `proxy.upstream_ca`."""
    path = tmp_path_factory.mktemp("origin-ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(scope="session")
def origin_tls(authority: trustme.CA) -> ssl.SSLContext:
    """What an origin at ADDRESS needs to speak TLS."""
    return server_tls(authority, ADDRESS)


@pytest.fixture(scope="session")
def _shared_proxy(
    tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer, origin_ca: Path
) -> Iterator[ProxyProcess]:
    home = tmp_path_factory.mktemp("shared-proxy") / "home"
    with ProxyProcess(home, proxy_redis.url, {"proxy.upstream_ca": str(origin_ca)}) as running:
        yield running


@pytest.fixture
def proxy(_shared_proxy: ProxyProcess) -> ProxyProcess:
    """The shared process, with default settings; it stops, and must end well, with the last test."""
    return _shared_proxy


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    """A plain origin that answers every path with a page of its own."""
    with RawOrigin(ADDRESS) as running:
        running.otherwise(_page_of_its_own)
        yield running


@pytest.fixture
def secure_origin(origin_tls: ssl.SSLContext) -> Iterator[RawOrigin]:
    """The same with TLS, and a certificate the proxies trust."""
    with RawOrigin(ADDRESS, tls=origin_tls) as running:
        running.otherwise(_page_of_its_own)
        yield running


@pytest.fixture
def claims(redis_url: str) -> Iterator[Claims]:
    with Claims(redis_url, claim_seconds=30, timeout_seconds=60) as mine:
        yield mine


@pytest.fixture
def others(redis_url: str) -> Iterator[Claims]:
    """Another process's claims on the same Redis."""
    with Claims(redis_url, claim_seconds=30, timeout_seconds=60) as theirs:
        yield theirs


@pytest.fixture
def keeper(settings: Settings, claims: Claims) -> Keeper:
    return Keeper(settings, claims)


@pytest.fixture
async def pool_of() -> AsyncIterator[MakePool]:
    """Pools with settings of the test's choice; their connections are closed at the end."""
    made: list[Pool] = []

    def make(**settings: Any) -> Pool:
        chosen = ProxySettings(allow_private=True, **settings)
        made.append(Pool(chosen, Opener(chosen, resolver_of(chosen))))
        return made[-1]

    yield make
    for pool in made:
        pool.close_idle(float("inf"))
    await asyncio.sleep(0)


@pytest.fixture
def busy() -> Iterator[RawOrigin]:
    """An origin that answers everything."""
    with RawOrigin(ADDRESS) as origin:
        origin.otherwise(lambda _: (Send(response(b"hello")),))
        yield origin


def _page_of_its_own(asked: bytes) -> Sequence[Step]:
    return (Send(response(page(asked.split(b" ", 2)[1]))),)
