"""Alembic runs this module for each migration; `admin.models.database` gives it the connection."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from admin.models import capture_tables, curation_tables, job_tables, people_tables, qa_tables  # noqa: F401  all tables must be known
from admin.models.base import Base
from admin.models.database import VERSION_TABLE


def _migrate(connection: Connection) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    if is_sqlite:  # a table is changed by copying it; dropping the old one must not delete rows that point to it
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.commit()
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        version_table=VERSION_TABLE,
        render_as_batch=True,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()
        if is_sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()):
            raise RuntimeError(f"the migration leaves rows that point to nothing: {broken[:5]}")
    connection.commit()
    if is_sqlite:
        connection.exec_driver_sql("PRAGMA foreign_keys=ON")
        connection.commit()


_migrate(context.config.attributes["connection"])
