"""Signatures of packages are verified as readers of packages verify them."""

from __future__ import annotations

import base64

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature


def is_signed_by(text: str, signature: str, public: str) -> bool:
    """Return whether the owner of a public key signed the text; both are given as a package has them."""
    try:
        key = serialization.load_der_public_key(base64.b64decode(public, validate=True))
        raw = base64.b64decode(signature, validate=True)
        if not isinstance(key, ec.EllipticCurvePublicKey) or len(raw) % 2:
            return False
        half = len(raw) // 2
        pair = encode_dss_signature(int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big"))
        key.verify(pair, text.encode(), ec.ECDSA(hashes.SHA256()))
    except (ValueError, InvalidSignature):
        return False
    return True
