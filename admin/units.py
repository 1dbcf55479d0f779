"""Format numbers with their units for people."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


def human_bytes(count: float) -> str:
    """Return `512 B`, `23.4 kB`, `1.2 GB`: decimal units."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `2 files`, `18,204 captures`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
