"""The garden site has certificates of an authority of its own, and a host with one that it signed itself."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

VALID = timedelta(days=30)
_SIGNS = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed certificate goes with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def pem(self) -> bytes:
        """Return key and certificate, as a server loads them."""
        key = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return key + self.public_pem()

    def public_pem(self) -> bytes:
        """Return the certificate alone, as a client trusts it."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def authority() -> Signed:
    """Return a new certificate authority."""
    return _sign("Garden test authority", [], issuer=None, is_ca=True)


def certificate(hosts: Sequence[str], issuer: Signed | None) -> Signed:
    """Return a server's certificate for `hosts`, signed by `issuer` or, without one, by itself."""
    return _sign(hosts[0], hosts, issuer, is_ca=False)


def server_context(signed: Signed, folder: Path) -> ssl.SSLContext:
    """Return the TLS context of a server. The PEM file that OpenSSL needs is written to `folder`."""
    path = folder / f"{signed.certificate.serial_number:x}.pem"
    path.touch(mode=0o600)
    path.write_bytes(signed.pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def _sign(common_name: str, hosts: Sequence[str], issuer: Signed | None, *, is_ca: bool) -> Signed:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.certificate.subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + VALID)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if issuer:
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()), critical=False
        )
    if is_ca:
        builder = builder.add_extension(_SIGNS, critical=True)  # Python 3.13 and later trust no authority without
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(h) for h in hosts]), critical=False)
    return Signed(builder.sign((issuer.key if issuer else key), hashes.SHA256()), key)
