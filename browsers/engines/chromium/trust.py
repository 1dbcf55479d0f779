"""A browser trusts only certificates made with the proxy's own keys.

A proxy shows leaf certificates with a key of their own, and its CA's certificate is not sent with them; so a browser
that trusts by the hash of a key needs the hash of the leaf's key. Earlier releases used the CA's key for both, and a
proxy of such a release may still run: the hash of the CA's key is trusted as well.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from browsers.proxying.authority import authority_of, published
from browsers.visit import FleetUnavailable

_SPKI_HASH: Final = re.compile(rb"[A-Za-z0-9+/]{43}=")


def trusted_keys(home: Path, proxy: str) -> tuple[str, ...]:
    """Return the hashes of the keys whose certificates are to be trusted, as `spki_hash` makes them.

    Each comes from the home when the home has it, else from the proxy (host:port): the home may lie on another machine,
    or be of an earlier release. A proxy of an earlier release has no hash of a leaf's key. Raises FleetUnavailable when
    there is no CA certificate, or when an answer of the proxy can't be used.
    """
    authority, leaf = authority_of(home, proxy), published(home, proxy, "leaf.spki")
    try:
        ours = spki_hash(authority)
    except ValueError as error:
        raise FleetUnavailable("no-ca-certificate") from error
    if leaf is None:
        return (ours,)
    if not _SPKI_HASH.fullmatch(leaf.strip()):  # the hash becomes a part of the browser's command line
        raise FleetUnavailable("bad-leaf-key-hash")
    return (leaf.strip().decode("ascii"), ours)


def spki_hash(pem: bytes) -> str:
    """Return the base64 SHA-256 of a certificate's public key, as Chromium's list of trusted keys has it (RFC 7469)."""
    key = x509.load_pem_x509_certificate(pem).public_key()
    return base64.b64encode(
        hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    ).decode()
