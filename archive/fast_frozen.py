"""`fast_frozen` makes frozen dataclasses for objects that are created thousands of times in a second.

`@fast_frozen(frozen=True, slots=True)` is `@dataclass` with the same arguments, and type checkers treat its fields as
frozen. At run time there is no guard against assignment, because the guard makes each object four times as slow to
create.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as fast_frozen
else:
    from dataclasses import dataclass

    def fast_frozen(*, frozen: bool, slots: bool):
        """Make a dataclass that is equal and hashed by its fields, as a frozen dataclass is."""
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["fast_frozen"]
