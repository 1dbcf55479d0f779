"""Tunnels: HTTP over TLS with a certificate of ours, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from support.origins.hand_origin import HandOrigin
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import request
from support.stores.redis_server import RedisServer


def leaf_of(proxy: ProxyProcess, authority: str) -> x509.Certificate:
    """Return the certificate that the proxy shows a client for that host and port."""
    with proxy.tunnel(authority) as client:
        assert isinstance(client.stream, ssl.SSLSocket)
        return x509.load_der_x509_certificate(client.stream.getpeercert(binary_form=True) or b"")


def spki_of(certificate: x509.Certificate) -> bytes:
    """Return the base64 SHA-256 of the certificate's public key."""
    info = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(info).digest())


class TestTunnels:
    def test_carry_many_requests(self, proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
        with proxy.tunnel(secure_origin.authority) as client:
            client.send(b"".join(request("connect", secure_origin.url(f"/t/{n}")) for n in range(20)))
            bodies = [client.read_reply().body for _ in range(20)]

        assert bodies == [page(b"/t/%d" % n) for n in range(20)]
        (record, *_) = proxy.records().of(secure_origin.url("/t/0"), "response")
        protocols = [value for name, value in record.fields if name == "WARC-Protocol"]
        assert protocols == ["http/1.1", "tls/1.3"]
        assert record.field("WARC-TLS-Verification") is None

    def test_carry_bodies_both_ways(self, proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
        body = os.urandom(2_000_000)
        secure_origin.script("/both", Send(response(body)))
        with proxy.tunnel(secure_origin.authority) as client:
            reply = client.ask(request("connect", secure_origin.url("/both"), method="POST", body=body))

        assert reply.body == body
        assert secure_origin.received("/both").endswith(body)

    def test_show_a_key_that_is_not_the_authority_s(self, proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
        """A home has one key for all its leaf certificates; the authority's key takes no part in handshakes (T31)."""
        authority = x509.load_pem_x509_certificate((proxy.home / "ca" / "ca.pem").read_bytes())
        shown = [leaf_of(proxy, name) for name in (secure_origin.authority, "another.example:443")]

        assert shown[0] != shown[1]
        assert shown[0].public_key() == shown[1].public_key()
        assert shown[0].public_key() != authority.public_key()
        assert spki_of(shown[0]) == (proxy.home / "ca" / "leaf.spki").read_bytes().strip()

    def test_in_a_home_of_an_earlier_release_show_a_new_key(self, tmp_path: Path, proxy_redis: RedisServer) -> None:
        """The clients of such a home go on trusting its authority, and browsers learn the new key from the proxy."""
        home = tmp_path / "home"
        with ProxyProcess(home, proxy_redis.url):
            authority = (home / "ca" / "ca.pem").read_bytes()
        for name in ("leaf-key.pem", "leaf.spki"):
            (home / "ca" / name).unlink()

        with ProxyProcess(home, proxy_redis.url) as proxy:
            leaf = leaf_of(proxy, "old.example:443")
            with proxy.connect() as client:
                told = client.ask(b"GET /leaf.spki HTTP/1.1\r\n\r\n")

        assert (home / "ca" / "ca.pem").read_bytes() == authority
        assert leaf.public_key() != x509.load_pem_x509_certificate(authority).public_key()
        assert told.body.strip() == spki_of(leaf)

    def test_without_tls_carry_plain_http(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        with proxy.connect() as client:
            client.send(f"CONNECT {origin.authority} HTTP/1.1\r\n\r\n".encode())
            assert client.read_reply("CONNECT").status == 200

            assert client.ask(request("connect", origin.url("/plain"))).body == page(b"/plain")
        assert len(proxy.records().of(origin.url("/plain"), "response")) == 1

    def test_carry_nothing_that_is_no_http(self, proxy: ProxyProcess) -> None:
        with HandOrigin() as origin, proxy.connect() as client:
            client.send(f"CONNECT {origin.authority} HTTP/1.1\r\n\r\n".encode())
            assert client.read_reply("CONNECT").status == 200
            client.send(b"PING\r\n\r\n")

            assert client.read_reply().status == 400
            assert client.is_closed_by_proxy()
            assert not origin.was_called()

    def test_lead_nowhere_from_within_a_tunnel(self, proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
        with proxy.tunnel(secure_origin.authority) as client:
            assert client.ask(b"CONNECT elsewhere.example:443 HTTP/1.1\r\n\r\n").status == 400
        assert secure_origin.visits == []

    @pytest.mark.parametrize("target", ["", "host:0", "host:99999", "a b:443", "a..b:443", "host:x", "host"])
    def test_need_an_authority(self, proxy: ProxyProcess, target: str) -> None:
        with proxy.connect() as client:
            assert client.ask(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode()).status == 400

    def test_show_a_certificate_for_the_name_asked_for(self, proxy: ProxyProcess) -> None:
        with socket.create_connection(proxy.address, 30) as stream:
            stream.sendall(b"CONNECT www.example.org:443 HTTP/1.1\r\n\r\n")
            assert stream.recv(1000).startswith(b"HTTP/1.1 200 ")
            with proxy.trusting().wrap_socket(stream, server_hostname="www.example.org") as tls:
                certificate = tls.getpeercert()

        assert certificate is not None
        assert ("DNS", "www.example.org") in certificate["subjectAltName"]

    def test_break_when_the_client_trusts_nobody(self, proxy: ProxyProcess) -> None:
        with socket.create_connection(proxy.address, 30) as stream:
            stream.sendall(b"CONNECT www.example.org:443 HTTP/1.1\r\n\r\n")
            stream.recv(1000)
            with pytest.raises(ssl.SSLCertVerificationError):
                ssl.create_default_context().wrap_socket(stream, server_hostname="www.example.org")
        assert proxy.get("http://127.0.1.62:1/").status == 502
