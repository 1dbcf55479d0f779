"""A recording process is replaced while it serves. This module holds what it got at its start and what it gives up at
its end.

The new process gets ready, takes the sockets and sessions, and serves. The old one stops listening, ends the exchanges
in progress, answers one more request on each connection that was idle, and ends. Sessions stay the same: the new
process asks the old one for its counts of them.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from dataclasses import replace
from typing import Protocol

from proxy.process.control import CLOSE_SECONDS
from proxy.process.handover.predecessor import Predecessor
from proxy.process.handover.successor import Successor
from proxy.process.handover_messages import HandedOver, NotHandedOver, SessionCommand, SessionVerb, receive_state
from proxy.process.listeners import ProcessListeners
from proxy.refusal import Refused
from proxy.sessions.gate import Gate
from proxy.sessions.session import Session, SessionReport
from proxy.sessions.spec import SessionSpec

log = logging.getLogger(__name__)


class RetiringProcess(Protocol):
    """Succession needs these methods of its process."""

    gate: Gate

    def retire(self) -> None:
        """Serve no new connections, and end the process when the last connection has ended."""

    async def finish_files(self, session: Session) -> None:
        """Close the WARC files that the session wrote to."""


class Succession:
    """A succession links a process to the one that it replaces and to the one that will replace it. Without a
    supervisor there are none, and every method does nothing.
    """

    def __init__(
        self,
        process: RetiringProcess,
        listeners: ProcessListeners,
        *,
        before: socket.socket | None,
        after: socket.socket | None,
    ) -> None:
        self.has_retired = False
        self._process = process
        self._listeners = listeners
        self._before = before
        self._predecessor = Predecessor(before) if before is not None else None
        self._successor = Successor(after, self) if after is not None else None

    async def begin(self) -> None:
        """Take over the predecessor's sockets and sessions, if there is a predecessor that answers."""
        if self._before is not None and self._predecessor is not None:
            try:
                items = await asyncio.get_running_loop().run_in_executor(None, receive_state, self._before)
            except NotHandedOver as error:
                log.warning("the previous process handed nothing over: %s", error)
                self._predecessor = None
            else:
                await self._listeners.import_state(items)
                self._before.setblocking(False)
                await self._predecessor.start()
        if self._successor is not None:
            await self._successor.start()

    @property
    def has_predecessor(self) -> bool:
        """Return whether the process before this one still runs."""
        return self._predecessor is not None and self._predecessor.is_there

    async def forward(self, command: SessionCommand, session: Session) -> None:
        """Let the predecessor carry the command out as well, and note what it has counted of the session."""
        if self._predecessor is None:
            return
        seconds = CLOSE_SECONDS if command.verb is SessionVerb.FINISH else 10.0
        report = await self._predecessor.ask(command, seconds=seconds)
        session.past = report if report is not None else replace(session.past, in_flight=0)

    async def refresh(self, session: Session) -> None:
        """Note what the predecessor has counted of the session until now."""
        await self.forward(SessionCommand(SessionVerb.REPORT, session.id), session)

    async def end(self) -> None:
        """Send the last reports, and close both links: all exchanges of this process have ended."""
        if self._successor is not None:
            for session in self._process.gate.sessions.values():
                await self.refresh(session)
            reports = {session.id: session.report() for session in self._process.gate.sessions.values()}
            await self._successor.send_final_reports(reports if self.has_retired else {})
        if self._predecessor is not None:
            self._predecessor.close()

    def export_state(self) -> list[HandedOver]:
        """Stop listening, and return everything, as `successor.Retiring` asks."""
        if self.has_retired:
            raise OSError("this process has already handed its state over")
        self.has_retired = True
        items = self._listeners.export_state()
        self._process.retire()
        return items

    async def execute(self, command: SessionCommand) -> SessionReport | None:
        """Carry out a command of the successor, as `successor.Retiring` asks, and forward it to the predecessor."""
        gate = self._process.gate
        if command.verb is SessionVerb.OPEN:
            assert command.request_json is not None
            assert command.token is not None
            try:
                self._listeners.adopt(command.request_json, command.session_id, command.token)
            except Refused as error:  # the settings of this process may be older
                text = "session %s is not served on the connections that this process still has: %s"
                log.warning(text, command.session_id, error)
        session = gate.sessions.get(command.session_id)
        if session is None:
            return None
        if command.verb is SessionVerb.CHANGE:
            assert command.request_json is not None
            session.request_json = command.request_json
            session.spec = SessionSpec.from_json(command.request_json)
        await self.forward(command, session)
        if command.verb is SessionVerb.FINISH:
            await session.until_idle(CLOSE_SECONDS)
            await self._listeners.close_session(session)
            if command.finish_files:
                await self._process.finish_files(session)
        return session.report()
