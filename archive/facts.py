"""Frozen dataclasses for what is made by the thousand in a second.

`@fact(frozen=True, slots=True)` is `@dataclass` with the same arguments, and type checkers hold its fields frozen. When
running, the guard against assignment is left out: filling each field through it takes four times as long, which for
one exchange's twenty objects added up to a twentieth of all its work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as fact
else:
    from dataclasses import dataclass

    def fact(*, frozen: bool, slots: bool):
        """Equal and hashed by its fields, as a frozen dataclass is."""
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["fact"]
