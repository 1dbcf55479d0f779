"""Passwords of domains are encrypted in the database; the key is in a file of the home that nobody else can read.

Whoever copies the database alone has no password. Each secret is bound to its domain, so that a secret that was moved
to another row is refused (AES-256-GCM with the domain's name as associated data).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from admin.models.errors import IllegalState
from archive.files import write_once

FILE_NAME: Final = "passwords.key"
_FORM: Final = b"\x01"
"""The first byte of a secret says how it was encrypted."""
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


def encrypted(home: Path, domain: str, secret: str) -> bytes:
    """Return the secret as the database keeps it; the key is made when there is none. Raises IllegalState."""
    nonce = os.urandom(_NONCE_BYTES)
    return _FORM + nonce + AESGCM(_key(home, make=True)).encrypt(nonce, secret.encode(), domain.encode())


def decrypted(home: Path, domain: str, kept: bytes) -> str:
    """Return the secret. Raises IllegalState when the key is missing or another one, which names the remedy."""
    form, nonce, text = kept[:1], kept[1 : 1 + _NONCE_BYTES], kept[1 + _NONCE_BYTES :]
    try:
        if form != _FORM:
            raise InvalidTag
        return AESGCM(_key(home, make=False)).decrypt(nonce, text, domain.encode()).decode()
    except (InvalidTag, ValueError):
        raise IllegalState(
            f"a password of {domain} can't be decrypted with the key in {home / FILE_NAME}; put the key back with which"
            " it was encrypted, or enter the password again"
        ) from None


def _key(home: Path, *, make: bool) -> bytes:
    path = home / FILE_NAME
    try:
        if make:
            home.mkdir(parents=True, exist_ok=True)
            write_once(path, os.urandom(_KEY_BYTES).hex().encode())
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise IllegalState(f"the key file {path} can be read by others; run `chmod 600 {path}`")
        key = bytes.fromhex(path.read_text("ascii").strip())
    except FileNotFoundError:
        raise IllegalState(f"the key file {path} is missing; put it back, or enter the passwords again") from None
    except (OSError, ValueError) as error:
        raise IllegalState(f"the key file {path} can't be used: {error}; put the right one back") from None
    if len(key) != _KEY_BYTES:
        raise IllegalState(f"the key file {path} does not hold a key of {_KEY_BYTES} bytes; put the right one back")
    return key
