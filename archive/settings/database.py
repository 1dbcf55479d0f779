"""The section `[database]` names the database of the capture index."""

from __future__ import annotations

from pydantic import Field

from archive.settings.values.base import Section


class DatabaseSettings(Section):
    """These settings control the database of the capture index and of the admin."""

    url: str = Field(
        "",
        description="SQLAlchemy URL of the database, such as `postgresql://…`. By default an"
        " SQLite file in the home is used.",
    )
    clock_file: str = Field(
        "",
        description="For tests only: a file with a number of seconds, which is added to the time of everything in the"
        " admin's database. It is read again for each transaction, so the clock moves when the file changes. All parts"
        " of an installation must name the same file.",
    )
