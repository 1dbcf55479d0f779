"""Text of people is made such here that every database takes it."""

from __future__ import annotations

from typing import Final

_LONGEST: Final = 1000
"""Characters; no name is longer."""


def comparable(text: str) -> str:
    """Return a text for comparing with names: PostgreSQL refuses NUL, and drivers refuse lone surrogates."""
    return text[:_LONGEST].replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
