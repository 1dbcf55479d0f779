"""What TLS said of an origin: used all the same, and flagged."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from support.origins.raw_origin import RawOrigin, Send, certificate_authority, response, server_tls
from support.proxy.proxy_process import ADDRESS
from support.proxy.upstream_pool import MakePool, ask, at


class TestTls:
    async def test_good_tls_is_described(self, pool_of: MakePool, origin_ca: Path, origin_tls: ssl.SSLContext) -> None:
        with RawOrigin(ADDRESS, tls=origin_tls) as origin:
            origin.otherwise(lambda _: (Send(response(b"hello")),))
            pool = pool_of(upstream_ca=str(origin_ca))

            upstream = await pool.connect(at(origin, tls=True))

            assert await ask(upstream) == response(b"hello")
            assert upstream.origin.protocols == ("http/1.1", "tls/1.3")
            assert upstream.origin.cipher_suite
            assert upstream.origin.certificate_error is None
            pool.drop(at(origin, tls=True), upstream)

    @pytest.mark.parametrize(
        ("context", "words"),
        [
            pytest.param(lambda authority: server_tls(certificate_authority(), ADDRESS), "certificate", id="stranger"),
            pytest.param(lambda authority: server_tls(authority, "other.example"), "match", id="another name"),
            pytest.param(lambda authority: old_protocol(authority), "not verified", id="an old protocol"),
        ],
    )
    async def test_bad_tls_is_flagged_and_used(
        self, pool_of: MakePool, authority: trustme.CA, origin_ca: Path, context: Any, words: str
    ) -> None:
        with RawOrigin(ADDRESS, tls=context(authority)) as origin:
            origin.otherwise(lambda _: (Send(response(b"hello")),))
            pool = pool_of(upstream_ca=str(origin_ca))

            upstream = await pool.connect(at(origin, tls=True))

            assert await ask(upstream) == response(b"hello")
            assert words in (upstream.origin.certificate_error or "")
            pool.drop(at(origin, tls=True), upstream)

    async def test_with_what_speaks_no_tls_is_an_error(self, pool_of: MakePool, busy: RawOrigin) -> None:
        with pytest.raises(OSError):  # noqa: PT011
            await pool_of(connect_seconds=0.3).connect(at(busy, tls=True))


def old_protocol(authority: trustme.CA) -> ssl.SSLContext:
    """An origin that stopped at TLS 1.1."""
    context = server_tls(authority, ADDRESS)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context
