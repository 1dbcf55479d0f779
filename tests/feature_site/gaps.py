"""Features that are not captured by ghosts, or not replayed, each with the reason."""

from __future__ import annotations

from typing import Final

GAPS: Final[dict[str, str]] = {}
