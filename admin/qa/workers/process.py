"""The QA process works on the sessions and repairs that wait, one after another, until it is asked to end.

A process that was killed leaves its work behind as running. The next process takes the work over after half a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from admin.fleet.process import StartInterrupted
from admin.models.database import Database
from admin.models.errors import DatabaseRefused, UseCaseError
from admin.models.qa_tables import QaRepair, QaSession, QaState
from admin.qa import leases
from admin.qa.workers.execution import QaExecution
from admin.qa.workers.mending import Mending
from admin.qa.workers.tools import Tools, ToolsMissing, running_tools
from archive.settings.load import Settings

log = logging.getLogger(__name__)
type Wait = Callable[[float], bool]
"""A function that waits so many seconds at most, and returns True when the process is asked to end."""


class QaProcess:
    """The process has proxies and a browser only while there is work."""

    def __init__(self, settings: Settings, database: Database, note: Callable[[str], None]) -> None:
        """Start nothing yet. `note` is called with one line for each event that people should know."""
        self._settings, self._database, self._note = settings, database, note
        self.owner = leases.new_owner()

    def run(self, wait: Wait, asked_to_stop: Callable[[], bool]) -> None:
        """Work until the end is asked for."""
        while not asked_to_stop():
            try:
                has_worked = self._work_once(asked_to_stop)
            except DatabaseRefused as error:
                log.warning("the database does not answer: %s", error)
                has_worked = False
            if not has_worked and wait(self._settings.qa.process_seconds):
                return

    def work_on(self, session: int, asked_to_stop: Callable[[], bool]) -> QaState:
        """Work on one session until its end, and return its state.

        Raises UseCaseError, ToolsMissing, and StartInterrupted when the end is asked for while the proxies start.
        """
        taken = leases.take_work(self._database, QaSession, self.owner, session)
        if taken is None:
            with self._database.reading(leases.QA) as reading:
                return reading.session.get_one(QaSession, session).state
        with self._tools_for(QaSession, taken.id, asked_to_stop) as tools:
            return QaExecution(self._database, taken, self.owner, tools).run(asked_to_stop)

    def repair(self, repair: int, asked_to_stop: Callable[[], bool]) -> QaState:
        """Work on one repair until its end, and return its state. Raises UseCaseError and ToolsMissing."""
        taken = leases.take_work(self._database, QaRepair, self.owner, repair)
        if taken is None:
            with self._database.reading(leases.QA) as reading:
                return reading.session.get_one(QaRepair, repair).state
        with self._tools_for(QaRepair, taken.id, asked_to_stop) as tools:
            return Mending(self._database, taken, self.owner, tools).run(asked_to_stop)

    def _work_once(self, asked_to_stop: Callable[[], bool]) -> bool:
        """Work on what waits. Return False when nothing does."""
        with ExitStack() as stack:
            tools: Tools | None = None
            has_worked = False
            while not asked_to_stop():
                work = leases.take_work(self._database, QaRepair, self.owner) or leases.take_work(
                    self._database, QaSession, self.owner
                )
                if work is None:
                    return has_worked
                has_worked = True
                try:
                    if tools is None:
                        tools = stack.enter_context(self._tools_for(type(work), work.id, asked_to_stop))
                    if isinstance(work, QaRepair):
                        Mending(self._database, work, self.owner, tools).run(asked_to_stop)
                    else:
                        QaExecution(self._database, work, self.owner, tools).run(asked_to_stop)
                except (UseCaseError, ToolsMissing, StartInterrupted) as error:
                    log.error("QA of %s ended: %s", work.collection, error)
                    self._note(f"QA of {work.collection} ended: {error}")
                    if not isinstance(error, UseCaseError):
                        return True
            return has_worked

    @contextmanager
    def _tools_for(self, kind: leases.WorkKind, number: int, asked_to_stop: Callable[[], bool]) -> Iterator[Tools]:
        """Lend the tools. Work whose tools can't be started fails, with the reason."""

        def abandon() -> bool:
            if asked_to_stop():
                return True
            state = leases.present_state(self._database, kind, number, self.owner)
            return state is None or state is QaState.STOPPING

        try:
            with running_tools(self._settings, self._note, abandon, asked_to_stop) as tools:
                yield tools
        except StartInterrupted:
            leases.end_work(self._database, kind, number, self.owner, QaState.WAITING)
            raise
        except ToolsMissing as error:
            leases.end_work(self._database, kind, number, self.owner, QaState.FAILED, str(error))
            raise
