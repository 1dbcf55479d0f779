"""`ghostfleet proxy` set up as warcprox's own tests set up theirs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.clients.brozzler_client import MetaClient
from support.origins.raw_origin import RawOrigin, certificate_authority, server_tls
from support.proxy.running_proxy import RunningProxy
from support.proxy.warcprox_stage import ADDRESS, Stage, payload


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One proxy for the tests of a module; their URLs and buckets don't meet."""
    folder = tmp_path_factory.mktemp("warcprox")
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    settings = {
        "proxy.methods": "GET,POST",
        "proxy.max_body_bytes": 200_000,
        "proxy.log_dir": folder / "logs",
        "proxy.upstream_ca": folder / "ca.pem",
        "proxy.resolve": f"localhost={ADDRESS},*.localhost={ADDRESS}",
        "proxy.via": "ghostfleet",
    }
    with (
        RawOrigin(ADDRESS) as plain,
        RawOrigin(ADDRESS, tls=server_tls(authority, "localhost", "*.localhost")) as secure,
        RunningProxy(folder / "home", settings) as proxy,
    ):
        for origin in (plain, secure):
            origin.otherwise(payload)
        yield Stage(proxy, MetaClient(proxy), plain, secure, folder / "logs")
