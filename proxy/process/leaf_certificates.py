"""The certificates that clients are shown (leaf certificates), one for each name, with a key that is not the CA's.

All of them share one P-256 key, which the home keeps in its `ca` folder: a handshake costs as little as with the CA's
key, and the CA's key signs certificates and does nothing else. Chromium finds in a connection only the leaf's key,
because the proxy sends the leaf certificate alone; so the hash of that key stands in `leaf.spki` for those who pin it.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Self, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from archive.files import replace_durably, write_once
from archive.settings.load import SettingsError
from proxy.protocol.mitmproxy_adapter import TlsConfig, certs

_KEPT: Final = 5_000
"""Certificates kept: mitmproxy's 100 would make a crawl of many hosts sign all day."""
_LONGEST_COMMON_NAME: Final = 63

KEY_FILE: Final = "leaf-key.pem"
"""The private key, in the `ca` folder of the home."""
HASH_FILE: Final = "leaf.spki"
"""The hash of its public key: the base64 SHA-256 of the SubjectPublicKeyInfo (RFC 7469), and a line feed."""


def ensure_leaf_key(folder: Path) -> ec.EllipticCurvePrivateKey:
    """Return the key of this home's leaf certificates; make it, and the file with its hash, where they are missing.

    Several processes may do so at once: the key file that came first counts, and the hash is always taken from it.
    Raises SettingsError when the key file can't be used.
    """
    file = folder / KEY_FILE
    if not file.exists() or not file.stat().st_size:  # a power cut leaves an empty one
        made = ec.generate_private_key(ec.SECP256R1())
        write_once(
            file,
            made.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )
    key = _read_key(file)
    public, text = folder / HASH_FILE, spki_line(key)
    if not write_once(public, text, mode=0o644) and public.read_bytes() != text:
        _replace(public, text)  # the key file was replaced since the hash was written
    return key


def spki_line(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return what the file with the hash contains."""
    info = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(info).digest()) + b"\n"


def _replace(file: Path, text: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".") as folder:
        write_once(Path(folder, file.name), text, mode=0o644)
        replace_durably(Path(folder, file.name), file)


def _read_key(file: Path) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(file.read_bytes(), None)
    except (ValueError, TypeError) as error:  # a TypeError when a password is needed
        raise SettingsError(f"{file}: {_UNUSABLE} ({error})") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise SettingsError(f"{file}: {_UNUSABLE}")
    return key


_UNUSABLE: Final = "the file must be PEM with an elliptic-curve key and no password; remove it, and a new key is made"


class LeafStore(certs.CertStore):
    """mitmproxy's store, except that the certificates which it makes have a key of their own."""

    STORE_CAP = _KEPT

    @classmethod
    def beside(cls, store: certs.CertStore, key: ec.EllipticCurvePrivateKey) -> Self:
        """Return a store with the same CA, whose leaf certificates have `key`."""
        made = cls(
            store.default_privatekey, store.default_ca, store.default_chain_file, store.default_crl, store.dhparams
        )
        made._key = key
        return made

    _key: ec.EllipticCurvePrivateKey

    def get_cert(
        self,
        commonname: str | None,
        sans: Iterable[x509.GeneralName],
        organization: str | None = None,
        crl_url: str | None = None,
    ) -> certs.CertStoreEntry:
        """Return the certificate of these names, which is made at the first call.

        No certificate of an origin is imitated, so `organization` and `crl_url` are not used.
        """
        name = (commonname, x509.GeneralNames(sans))
        entry = self.certs.get(name)
        if entry is None:
            entry = certs.CertStoreEntry(
                cert=certs.Cert(self._signed(*name)),
                privatekey=cast(Any, self._key),  # mitmproxy's own annotation knows RSA only
                chain_file=self.default_chain_file,
                chain_certs=self.default_chain_certs,
            )
            self.certs[name] = entry
            self.expire(entry)
        return entry

    def _signed(self, common_name: str | None, names: x509.GeneralNames) -> x509.Certificate:
        authority, now = self.default_ca.to_cryptography(), datetime.datetime.now(datetime.UTC)
        fits = common_name is not None and 0 < len(common_name) <= _LONGEST_COMMON_NAME
        subject = [x509.NameAttribute(NameOID.COMMON_NAME, cast(str, common_name))] if fits else []
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name(subject))
            .issuer_name(authority.subject)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + certs.CERT_VALIDITY_OFFSET)
            .not_valid_after(now + certs.CERT_VALIDITY_OFFSET + certs.CERT_EXPIRY)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName(names), critical=not subject)  # RFC 5280 section 4.2.1.6
            .add_extension(_issuer_key(authority), critical=False)
            .sign(cast(Any, self.default_privatekey), hashes.SHA256())
        )


class LeafTlsConfig(TlsConfig):
    """mitmproxy's TlsConfig is changed so that it shows the certificates of a `LeafStore`."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        super().__init__()
        self._key = key

    def configure(self, updated: Any) -> None:
        """Put a LeafStore in place of mitmproxy's store, which the base class makes when the CA's folder changes."""
        super().configure(updated)  # type: ignore[no-untyped-call]
        if self.certstore is not None and not isinstance(self.certstore, LeafStore):
            self.certstore = LeafStore.beside(self.certstore, self._key)


def _issuer_key(authority: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Return the identifier of the CA's key, as the CA's certificate has it (RFC 5280 section 4.2.1.1)."""
    try:
        found = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(cast(Any, authority.public_key()))
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(found.value)
