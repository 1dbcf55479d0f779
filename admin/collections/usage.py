"""Find what uses a collection: processes that write to it, capture sessions, and imports that the site has taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import create_engine, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from admin.collections.tasks.task_folder import TaskKind, tasks_of
from admin.collections.writers import writers
from admin.models.capture_tables import CaptureSession, CaptureState
from admin.models.database import FILE_NAME, database_url
from archive.program_name import command
from archive.settings.load import Settings
from dedupdb.captures.schema import CapturesError


def users(settings: Settings, name: str, folder: Path | None = None) -> list[str]:
    """Return one line for each open capture session and unfinished import of the site, and for each writer.

    Sessions and imports may write to the collection at any moment. `folder` is where the collection is now, if that is
    not its usual place. Raises CapturesError.
    """
    return [*_sessions(settings, name), *_import_tasks(settings, name), *writers(folder or settings.collection(name))]


def _import_tasks(settings: Settings, name: str) -> Iterator[str]:
    for task in tasks_of(settings):
        order = task.order()
        if order is not None and order.kind is TaskKind.IMPORT and order.collection == name and not task.result():
            yield f"import {task.id} of an uploaded file is {task.state()}"


def _sessions(settings: Settings, name: str) -> list[str]:
    if not settings.database.url and not (settings.home / FILE_NAME).exists():
        return []
    query = select(CaptureSession.id, CaptureSession.owner).where(
        CaptureSession.collection == name, CaptureSession.state.in_((CaptureState.OPEN, CaptureState.PAUSED))
    )
    engine = create_engine(database_url(settings))
    try:
        with engine.connect() as connection:
            if not inspect(connection).has_table(CaptureSession.__tablename__):
                return []
            found = connection.execute(query.order_by(CaptureSession.id)).all()
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or type(error).__name__).partition("\n")[0]
        raise CapturesError(f"the database can't tell whether a capture session is open: {said[:300]}") from error
    finally:
        engine.dispose()
    return [
        f"capture session {id} of {owner} is open (`{command(f'session end {id}')}` ends it)" for id, owner in found
    ]
