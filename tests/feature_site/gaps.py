"""Gaps are features that ghosts do not capture, or that are not replayed, each with the reason."""

from __future__ import annotations

from typing import Final

_REASONS: Final = {
    "A person types another word than the ghost did.": ("search-form", "search-typed"),
}
GAPS: Final = {name: reason for reason, names in _REASONS.items() for name in names}
