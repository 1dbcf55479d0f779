"""Links, cookies and API tokens are random texts; the database has their SHA-256 alone."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

_BYTES: Final = 32
_LONGEST: Final = 200
"""Characters; a longer text is none of ours."""


def new_token(prefix: str = "") -> str:
    """Return 256 random bits as text that URLs and headers can hold."""
    return prefix + secrets.token_urlsafe(_BYTES)


def token_hash(token: str) -> str:
    """Return what the database has of a token. A text that can't be a token has a hash that no token has."""
    if len(token) > _LONGEST or not token.isascii():
        return ""
    return hashlib.sha256(token.encode("ascii")).hexdigest()
