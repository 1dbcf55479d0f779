"""The capture index of a home, which other processes fill behind the recording."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from archive.settings.load import load
from dedupdb.captures.schema import CAPTURES, open_engine, reading
from support.processes.waiting import until


def await_index(home: Path, url: str) -> None:
    """Wait until the index has the page: a process that is asked to end does not wait for the index for long."""
    engine = open_engine(load({"home": str(home)}, environment={}).database_url)

    def is_there() -> bool:
        with reading(engine) as connection:
            return connection.scalar(select(CAPTURES.c.id).where(CAPTURES.c.url == url).limit(1)) is not None

    until(is_there, what=f"{url} in the index", within=90)
    engine.dispose()
