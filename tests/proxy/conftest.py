"""One recording process for all tests of the room that need no settings of their own, and origins for it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from origin import RawOrigin, certificate_authority, server_tls
from proxy_process import ADDRESS, ProxyProcess
from redis_server import RedisServer


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
    """A plain origin."""
    with RawOrigin(ADDRESS) as running:
        yield running


@pytest.fixture
def secure_origin(origin_tls: ssl.SSLContext) -> Iterator[RawOrigin]:
    """An origin with TLS and a certificate the proxies trust."""
    with RawOrigin(ADDRESS, tls=origin_tls) as running:
        yield running
