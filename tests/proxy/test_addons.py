"""The authority that signs what clients are shown: made once, kept secret, usable."""

from __future__ import annotations

import os
import ssl
import stat
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from mitmproxy import certs

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # pyparsing's, when mitmproxy's filters are made
    from proxy.addons import ensure_ca


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_its_key_is_for_the_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public = ensure_ca(tmp_path / "ca")
    finally:
        os.umask(before)

    assert mode(tmp_path / "ca") == 0o700
    assert mode(tmp_path / "ca" / "mitmproxy-ca.pem") == 0o600
    assert b"PRIVATE" not in public.read_bytes()


def test_its_certificate_is_an_authority_for_servers(tmp_path: Path) -> None:
    certificate = x509.load_pem_x509_certificate(ensure_ca(tmp_path / "ca").read_bytes())

    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert isinstance(certificate.public_key(), ec.EllipticCurvePublicKey)
    assert ssl.create_default_context(cadata=(tmp_path / "ca" / "ca.pem").read_text()).get_ca_certs()


def test_it_is_made_once(tmp_path: Path) -> None:
    first = ensure_ca(tmp_path / "ca").read_bytes()

    assert ensure_ca(tmp_path / "ca").read_bytes() == first


def test_a_lost_public_certificate_comes_back(tmp_path: Path) -> None:
    public = ensure_ca(tmp_path / "ca")
    first = public.read_bytes()
    public.unlink()

    assert ensure_ca(tmp_path / "ca").read_bytes() == first


def test_many_at_once_agree(tmp_path: Path) -> None:
    """As when all processes of a fleet start in a new home."""
    start = threading.Barrier(4)

    def make() -> bytes:
        start.wait()
        return ensure_ca(tmp_path / "ca").read_bytes()

    with ThreadPoolExecutor(4) as pool:
        found = {future.result() for future in [pool.submit(make) for _ in range(4)]}

    assert len(found) == 1
    names = {path.name for path in (tmp_path / "ca").iterdir()}
    assert names == {"ca.pem", "mitmproxy-ca.pem", "mitmproxy-dhparam.pem"}


def test_mitmproxy_signs_with_it(tmp_path: Path) -> None:
    public = ensure_ca(tmp_path / "ca")

    store = certs.CertStore.from_store(tmp_path / "ca", "mitmproxy", 2048)
    entry = store.get_cert("example.org", [x509.DNSName("example.org")])

    authority = x509.load_pem_x509_certificate(public.read_bytes())
    entry.cert.to_cryptography().verify_directly_issued_by(authority)
