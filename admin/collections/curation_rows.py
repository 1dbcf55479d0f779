"""A renaming moves the rows that curators wrote of a collection, and a deletion removes them.

Without this, the next change of the renamed collection would write its rules anew from no rows, and readers would see
what was excluded before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, create_engine, delete, inspect, select, update
from sqlalchemy.exc import SQLAlchemyError

from admin.collections.stores import has_index
from admin.models.curation_tables import CurationDescription, CurationExclusion
from archive.settings.load import Settings
from dedupdb.captures.schema import CapturesError

_TABLES: Final = (CurationDescription, CurationExclusion)


def move_rows(settings: Settings, old: str, new: str) -> None:
    """Give the rows of a renamed collection its new name. The function can be called again. Raises CapturesError."""
    with _connection(settings) as connection:
        if connection is None:
            return
        for table in _TABLES:
            if connection.scalar(select(table.id).where(table.collection == old).limit(1)) is not None:
                connection.execute(delete(table).where(table.collection == new))  # of a collection of earlier times
                connection.execute(update(table).where(table.collection == old).values(collection=new))


def drop_rows(settings: Settings, name: str) -> None:
    """Remove the rows of a deleted collection, so that a new one of its name begins anew. Raises CapturesError."""
    with _connection(settings) as connection:
        for table in _TABLES if connection is not None else ():
            assert connection is not None
            connection.execute(delete(table).where(table.collection == name))


@contextmanager
def _connection(settings: Settings) -> Iterator[Connection | None]:
    """Yield a connection in a transaction; None when the database has no tables of curation."""
    if not has_index(settings):
        yield None
        return
    engine = create_engine(settings.database_url)
    try:
        with engine.begin() as connection:
            yield connection if inspect(connection).has_table(CurationDescription.__tablename__) else None
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or type(error).__name__).partition("\n")[0]
        raise CapturesError(f"the rows of curation can't be changed: {said[:300]}") from error
    finally:
        engine.dispose()
