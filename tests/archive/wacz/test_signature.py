"""Packages are signed with keys of the curves P-256 and P-384."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from support.archive.signatures import is_signed_by

from archive.wacz.signature import SigningKey, SigningKeyError


def pem(curve: ec.EllipticCurve) -> bytes:
    return ec.generate_private_key(curve).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1()], ids=lambda curve: curve.name)
def test_a_key_of_either_curve_signs(tmp_path: Path, curve: ec.EllipticCurve) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(pem(curve))
    key = SigningKey.at(path)
    signature = key.sign("sha256:00")

    assert is_signed_by("sha256:00", signature, key.public)
    assert not is_signed_by("sha256:01", signature, key.public)
    path.write_bytes(pem(curve))
    assert not is_signed_by("sha256:00", signature, SigningKey.at(path).public), "another key"


def test_a_key_that_is_made_has_the_curve_that_players_verify(tmp_path: Path) -> None:
    SigningKey.at(tmp_path / "key.pem")
    made = serialization.load_pem_private_key((tmp_path / "key.pem").read_bytes(), None)
    assert isinstance(made, ec.EllipticCurvePrivateKey)
    assert made.curve.name == "secp384r1"


def test_a_key_of_another_curve_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(pem(ec.SECP521R1()))
    with pytest.raises(SigningKeyError, match=r"P-256 or P-384"):
        SigningKey.at(tmp_path / "key.pem")
