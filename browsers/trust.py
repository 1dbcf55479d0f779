"""Which certificates a ghost trusts: only those made with the proxy's own key."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import httpx
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from browsers.visit import FleetUnavailable


def spki_hash(pem: bytes) -> str:
    """Base64 SHA-256 of the certificate's public key, as Chromium's list of exempted keys wants it (RFC 7469).

    The proxy signs with one key and uses it for the certificates it makes, too, so this one hash covers them all.
    """
    key = x509.load_pem_x509_certificate(pem).public_key()
    return base64.b64encode(
        hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    ).decode()


def authority(home: Path, proxy: str) -> bytes:
    """The proxy's CA certificate in PEM: of the home, else asked of the proxy. Raises FleetUnavailable."""
    file = home / "ca" / "ca.pem"
    if file.is_file():
        return file.read_bytes()
    try:
        answer = httpx.get(f"http://{proxy}/ca.pem", trust_env=False, timeout=10)
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise FleetUnavailable("no-ca-certificate") from error
    return answer.content
