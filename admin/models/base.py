"""All tables of the admin's database share this base class, its names for constraints, and its column types.

Times are microseconds since 1970, UTC (`archive.dates.Micros`). Limits are -1 for "no limit", as NetarchiveSuite has
them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from sqlalchemy import JSON, BigInteger, Enum, Integer, MetaData, String, Text
from sqlalchemy.orm import DeclarativeBase, mapped_column

from archive.dates import Micros

NO_LIMIT: Final = -1
_ID: Final = BigInteger().with_variant(Integer(), "sqlite")

Key = Annotated[int, mapped_column(_ID, primary_key=True, autoincrement=True)]
"""A number that the database gives; it is never given twice."""
Moment = Annotated[Micros, mapped_column(BigInteger)]
Name = Annotated[str, mapped_column(String(255))]
AsciiName = Annotated[str, mapped_column(String(255).with_variant(String(255, collation="C"), "postgresql"))]
"""A name in ASCII. PostgreSQL sorts it by its bytes, as SQLite does, and finds its beginning by the index."""
Words = Annotated[str, mapped_column(Text, default="")]
"""Free text of a person."""
Number = Annotated[int, mapped_column(BigInteger)]
Limit = Annotated[int, mapped_column(BigInteger, default=NO_LIMIT)]
Edition = Annotated[int, mapped_column(Integer, default=1)]
"""The number of times that the row was written. Two people who edit the same row are told apart by this number."""
Document = Annotated[Any, mapped_column(JSON(none_as_null=True))]


def chosen(kinds: type[StrEnum]) -> Enum:
    """Return the type of a column that holds one of these values; it is text in the database."""
    return Enum(kinds, native_enum=False, length=32, values_callable=lambda members: [each.value for each in members])


class Base(DeclarativeBase):
    """Every constraint has a name, so that a migration can drop the constraint."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
