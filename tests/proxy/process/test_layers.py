"""The authority that signs what clients are shown: made once, kept secret, usable."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import os
import ssl
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from archive.settings.load import SettingsError
from proxy.process.layers import ensure_ca
from proxy.process.leaf_certificates import LeafStore, ensure_leaf_key
from proxy.protocol.mitmproxy_adapter import certs


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
    assert names == {"ca.pem", "leaf-key.pem", "leaf.spki", "mitmproxy-ca.pem", "mitmproxy-dhparam.pem"}


def test_mitmproxy_signs_with_it(tmp_path: Path) -> None:
    public = ensure_ca(tmp_path / "ca")

    store = certs.CertStore.from_store(tmp_path / "ca", "mitmproxy", 2048)
    entry = store.get_cert("example.org", [x509.DNSName("example.org")])

    authority = x509.load_pem_x509_certificate(public.read_bytes())
    entry.cert.to_cryptography().verify_directly_issued_by(authority)


def leaves(folder: Path) -> LeafStore:
    """Return a store as a recording process has it."""
    ensure_ca(folder)
    return LeafStore.beside(certs.CertStore.from_store(folder, "mitmproxy", 2048), ensure_leaf_key(folder))


def hash_of(key: ec.EllipticCurvePublicKey) -> str:
    """Return the base64 SHA-256 of the key's SubjectPublicKeyInfo."""
    info = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(info).digest()).decode()


def test_a_certificate_that_clients_are_shown_has_a_key_that_is_not_the_authority_s(tmp_path: Path) -> None:
    """The authority's key signs certificates, and takes no part in handshakes (T31)."""
    public = ensure_ca(tmp_path / "ca")
    entry = leaves(tmp_path / "ca").get_cert("example.org", [x509.DNSName("example.org")])

    authority, leaf = x509.load_pem_x509_certificate(public.read_bytes()), entry.cert.to_cryptography()
    assert leaf.public_key() != authority.public_key()
    assert leaf.public_key() == entry.privatekey.public_key()
    assert isinstance(entry.privatekey, ec.EllipticCurvePrivateKey)
    leaf.verify_directly_issued_by(authority)


@pytest.mark.parametrize("name", ["example.org", "192.0.2.1", "2001:db8::1", "x" * 63 + ".example.org"])
def test_a_strict_client_believes_it(tmp_path: Path, name: str) -> None:
    store = leaves(tmp_path / "ca")
    try:
        san: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        san = x509.DNSName(name)
    entry = store.get_cert(name, [san])
    pem = tmp_path / "leaf.pem"
    key = entry.privatekey.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem.write_bytes(entry.cert.to_pem() + key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client = ssl.create_default_context(cafile=str(tmp_path / "ca" / "ca.pem"))
    server.load_cert_chain(pem)
    client.verify_flags |= ssl.VERIFY_X509_STRICT

    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(into, out, server_hostname=name)
    answering = server.wrap_bio(out, into, server_side=True)
    is_done = [False, False]
    while not all(is_done):
        for at, end in enumerate((asking, answering)):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
                is_done[at] = True

    assert asking.getpeercert()


def test_the_same_name_gets_the_same_certificate_and_all_share_one_key(tmp_path: Path) -> None:
    store = leaves(tmp_path / "ca")
    first, again, other = (store.get_cert(name, [x509.DNSName(name)]) for name in ("a.test", "a.test", "b.test"))

    assert first is again
    assert first.cert != other.cert
    assert first.privatekey is other.privatekey


def test_the_key_of_leaves_is_private_and_its_hash_is_public(tmp_path: Path) -> None:
    folder = tmp_path / "ca"
    entry = leaves(folder).get_cert("a.test", [x509.DNSName("a.test")])

    assert mode(folder / "leaf-key.pem") == 0o600
    assert mode(folder / "leaf.spki") == 0o644
    assert (folder / "leaf.spki").read_text() == hash_of(entry.privatekey.public_key()) + "\n"
    assert {path.name for path in folder.iterdir()} == {
        "ca.pem", "leaf-key.pem", "leaf.spki", "mitmproxy-ca.pem", "mitmproxy-dhparam.pem",
    }  # fmt: skip


def test_processes_that_start_at_once_use_one_key_for_leaves(tmp_path: Path) -> None:
    """Whichever of them makes the key file, all of them and the file with the hash follow it."""
    start = threading.Barrier(4)

    def make() -> str:
        start.wait()
        return hash_of(ensure_leaf_key(tmp_path).public_key())

    with ThreadPoolExecutor(4) as pool:
        found = {future.result() for future in [pool.submit(make) for _ in range(4)]}

    assert found == {(tmp_path / "leaf.spki").read_text().strip()}
    assert {path.name for path in tmp_path.iterdir()} == {"leaf-key.pem", "leaf.spki"}


def test_the_key_of_leaves_is_kept_between_starts(tmp_path: Path) -> None:
    first = leaves(tmp_path / "ca").get_cert("a.test", [x509.DNSName("a.test")])
    again = leaves(tmp_path / "ca").get_cert("a.test", [x509.DNSName("a.test")])

    assert first.cert.to_cryptography().public_key() == again.cert.to_cryptography().public_key()


def test_a_home_of_an_earlier_release_gets_a_key_for_leaves_and_keeps_its_authority(tmp_path: Path) -> None:
    folder = tmp_path / "ca"
    ensure_ca(folder)
    for name in ("leaf-key.pem", "leaf.spki"):
        (folder / name).unlink()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    ensure_ca(folder)

    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert after.keys() - before.keys() == {"leaf-key.pem", "leaf.spki"}
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("left", [b"", None])
def test_a_lost_or_empty_key_of_leaves_is_made_anew_and_the_hash_follows(tmp_path: Path, left: bytes | None) -> None:
    old = hash_of(ensure_leaf_key(tmp_path).public_key())
    (tmp_path / "leaf-key.pem").unlink()
    if left is not None:
        (tmp_path / "leaf-key.pem").write_bytes(left)  # as a power cut leaves it

    new = hash_of(ensure_leaf_key(tmp_path).public_key())

    assert new != old
    assert (tmp_path / "leaf.spki").read_text().strip() == new
    assert mode(tmp_path / "leaf.spki") == 0o644
    assert {path.name for path in tmp_path.iterdir()} == {"leaf-key.pem", "leaf.spki"}


def test_a_damaged_key_of_leaves_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "leaf-key.pem").write_bytes(b"no key")

    with pytest.raises(SettingsError, match=r"leaf-key\.pem: .* remove it") as caught:
        ensure_leaf_key(tmp_path)

    assert "\n" not in str(caught.value)
