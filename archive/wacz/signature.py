"""A signing key signs the checksum of a package's description, so that readers can tell who made the package.

The form is the anonymous one of the specification "WACZ Signing and Verification" (https://specs.webrecorder.net/
wacz-auth/0.1.0/): ECDSA over SHA-256, the public key beside the signature. ReplayWeb.page verifies keys of the curve
P-384 alone; other readers also take P-256.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final, Self

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from archive.files import write_once

_CURVES: Final = ("secp256r1", "secp384r1")
_MOST_BYTES: Final = 65_536


class SigningKeyError(ValueError):
    """The file is no key that can sign packages. The message names the file and the remedy."""


class SigningKey:
    """The key has signed nothing when it was made; `public` names it in packages, as SPKI in base64."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        spki = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.public: str = base64.b64encode(spki).decode()

    @classmethod
    def at(cls, path: Path) -> Self:
        """Return the key in a PEM file, which is made with a new key of the curve P-384 if it does not exist.

        Raises SigningKeyError for a file with anything else, and OSError.
        """
        fresh = ec.generate_private_key(ec.SECP384R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        if not path.exists():
            write_once(path, fresh)
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES)
        try:
            key = serialization.load_pem_private_key(text, password=None)
        except (ValueError, TypeError) as error:
            raise SigningKeyError(
                f"{path} is not a private key in PEM without a password; name a file that does not exist to make a key"
            ) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name not in _CURVES:
            raise SigningKeyError(
                f"{path} is not a key of the curve P-256 or P-384; WACZ packages are signed with these"
            )
        return cls(key)

    def sign(self, text: str) -> str:
        """Return the signature of a text: both numbers of ECDSA, one behind the other, in base64."""
        r, s = decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        size = (self._key.curve.key_size + 7) // 8
        return base64.b64encode(r.to_bytes(size, "big") + s.to_bytes(size, "big")).decode()
