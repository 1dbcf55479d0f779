"""A role that works on the database of the admin opens the database first, or tells its parent why it can't serve."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import click

from admin.options import InputError

if TYPE_CHECKING:
    from admin.fleet.child import ParentLink
    from admin.models.database import Database
    from archive.settings.load import Settings


class WaitingWork(Protocol):
    """The work of a role waits in the database, and is done piece by piece."""

    def run(self, wait: Callable[[float | None], bool], asked_to_stop: Callable[[], bool]) -> None:
        """Work until the end is asked for."""


def begin_on_database(settings: Settings, given: Mapping[str, Any], title: str) -> tuple[ParentLink, Database]:
    """Attach this process to its parent, and open the database. Raises InputError.

    `given` has the options of a child; `title` is the title of this process when the parent gives none.
    """
    from admin.fleet.child import ParentLink
    from admin.fleet.logs import to_stderr
    from admin.models.database import open_database
    from admin.models.errors import DatabaseRefused

    parent = ParentLink.attach(given["title"] or title, given["ready_fd"], given["lifeline_fd"], given["held_fds"])
    to_stderr(settings.logs)
    try:
        return parent, open_database(settings)
    except DatabaseRefused as error:
        parent.report_unfit(str(error))
        raise InputError(str(error)) from error


def work_until_signal(
    settings: Settings,
    given: Mapping[str, Any],
    title: str,
    work: Callable[[Settings, Database, Callable[[str], None]], WaitingWork],
) -> None:
    """Do the work that `work` makes of settings, database and a function for notes, until a signal comes."""
    from admin.jobs.interrupts import Interrupts

    parent, database = begin_on_database(settings, given, title)
    with Interrupts() as interrupts:
        parent.report_ready()
        if parent.is_absent:
            click.echo(json.dumps({"ready": True}))
        try:
            work(settings, database, lambda line: click.echo(line, err=True)).run(
                interrupts.wait, lambda: interrupts.asked_to_stop
            )
        finally:
            database.close()
