"""TLS towards origins: old servers, certificates of our own, sessions resumed, chains told."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import trustme
from support.origins.raw_origin import server_tls
from support.proxy.proxy_process import ADDRESS

from archive.settings import ProxySettings
from archive.settings.load import SettingsError
from proxy.origins.tls import TlsContexts, chain_of, keep_session

OLD_HELLO = b"\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03" + bytes(32) + b"\x00\xc0\x2f\x00"
"""A TLS 1.2 ServerHello without extensions: of a server that never heard of RFC 5746."""


def shake_hands_with_old_server(context: ssl.SSLContext) -> None:
    """As far as the old server's hello. Raises SSLError when that is not accepted, else SSLWantReadError."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="old.example")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    incoming.write(OLD_HELLO)
    tls.do_handshake()


def test_a_server_without_secure_renegotiation_is_not_trusted_unless_allowed() -> None:
    def context(*, verify: bool, legacy: bool) -> ssl.SSLContext:
        return TlsContexts(ProxySettings(legacy_renegotiation=legacy)).context(
            "old.example", 443, verify=verify, resume=True
        )

    with pytest.raises(ssl.SSLError, match=r"(?i)unsafe.legacy.renegotiation"):
        shake_hands_with_old_server(context(verify=True, legacy=False))
    for accepting in (context(verify=True, legacy=True), context(verify=False, legacy=False)):
        with pytest.raises(ssl.SSLWantReadError):
            shake_hands_with_old_server(accepting)


@pytest.mark.parametrize("setting", ["upstream_ca", "client_certificates"])
def test_a_file_that_can_not_be_used_is_named(tmp_path: Path, setting: str) -> None:
    path = tmp_path / "broken.pem"
    path.write_text("no certificate")
    value = {"a.example": str(path)} if setting == "client_certificates" else str(path)

    with pytest.raises(SettingsError, match=rf"proxy\.{setting}.*broken\.pem"):
        TlsContexts(ProxySettings.model_validate({setting: value}))


def exchange(client: ssl.SSLContext, server: ssl.SSLContext) -> ssl.SSLObject:
    """A handshake in memory, and a byte from the server, behind which its tickets have come."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(down, up, server_hostname=ADDRESS)
    theirs = server.wrap_bio(up, down, server_side=True)
    for side in (ours, theirs, ours, theirs, ours):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    theirs.write(b"x")
    assert ours.read() == b"x"
    return ours


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_sessions_are_resumed_and_keep_their_chain(
    authority: trustme.CA, origin_ca: Path, version: ssl.TLSVersion
) -> None:
    server = server_tls(authority, ADDRESS)
    server.maximum_version = version
    trust = TlsContexts(ProxySettings(upstream_ca=str(origin_ca)))
    context = trust.context(ADDRESS, 443, verify=True, resume=True)

    first = exchange(context, server)
    chain = chain_of(first)
    keep_session(first)
    second = exchange(context, server)

    assert [bool(first.session_reused), bool(second.session_reused)] == [False, True]
    assert chain_of(second) == chain
    assert chain[0] == first.getpeercert(binary_form=True)


def test_sessions_are_not_resumed_through_an_egress(authority: trustme.CA, origin_ca: Path) -> None:
    server = server_tls(authority, ADDRESS)
    trust = TlsContexts(ProxySettings(upstream_ca=str(origin_ca)))
    context = trust.context(ADDRESS, 443, verify=True, resume=False)

    keep_session(exchange(context, server))

    assert not exchange(context, server).session_reused


def test_the_whole_chain_is_told() -> None:
    root = trustme.CA(key_type=trustme.KeyType.ECDSA)
    middle = root.create_child_ca(key_type=trustme.KeyType.ECDSA)
    context = TlsContexts(ProxySettings()).context(ADDRESS, 443, verify=False, resume=True)

    assert len(chain_of(exchange(context, server_tls(middle, ADDRESS)))) == 2


def test_a_certificate_of_ours_is_for_its_host_only(tmp_path: Path, authority: trustme.CA) -> None:
    path = tmp_path / "client.pem"
    authority.issue_cert("client.example", key_type=trustme.KeyType.ECDSA).private_key_and_cert_chain_pem.write_to_path(
        str(path)
    )
    trust = TlsContexts(ProxySettings(client_certificates={"*.members.example": str(path)}))

    ours = trust.context("a.members.example", 443, verify=True, resume=True)

    assert ours is trust.context("b.members.example", 443, verify=True, resume=True)
    assert ours is not trust.context("example", 443, verify=True, resume=True)
