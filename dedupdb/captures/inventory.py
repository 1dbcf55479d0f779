"""The inventory counts what the capture index has of each collection. It serves people, and never a hot path."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from sqlalchemy import func, select

from archive.dates import Micros
from dedupdb.captures.schema import CAPTURES, open_engine, reading

_C: Final = CAPTURES.c


@dataclass(frozen=True, slots=True)
class Indexed:
    """An indexed collection has these numbers."""

    captures: int
    first: Micros
    last: Micros


class Inventory:
    """The inventory counts the index of all collections. Every call may raise CapturesError."""

    def __init__(self, database_url: str) -> None:
        self._engine = open_engine(database_url)

    def collections(self) -> dict[str, Indexed]:
        """Return every collection that has captures, by name."""
        query = select(_C.collection, func.count(), func.min(_C.date), func.max(_C.date)).group_by(_C.collection)
        with reading(self._engine) as connection:
            return {name: Indexed(count, first, last) for name, count, first, last in connection.execute(query)}

    def files(self, collection: str) -> dict[str, int]:
        """Return the number of captures in each file of the collection."""
        query = select(_C.filename, func.count()).where(_C.collection == collection).group_by(_C.filename)
        with reading(self._engine) as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def referring(self, collection: str) -> dict[str, int]:
        """Return the number of revisits in each other collection whose originals are in this one."""
        original = CAPTURES.alias()
        query = (
            select(_C.collection, func.count())
            .where(_C.collection != collection, _C.kind == "revisit", _C.refers_to_id != "")
            .where(
                select(original.c.id)
                .where(original.c.collection == collection, original.c.record_id == _C.refers_to_id)
                .exists()
            )
            .group_by(_C.collection)
        )
        with reading(self._engine) as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
