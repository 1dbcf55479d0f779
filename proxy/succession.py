"""How a recording process is replaced while it serves: what it was given at its start, what it gives up at its end.

The new process gets ready, takes the sockets and sessions, and serves; the old one listens no more, ends what it has
under way, answers one more request on each connection that was idle, and leaves. Sessions stay the same: the new
process asks the old one what it still counts of them.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from dataclasses import replace
from typing import Any, Protocol

from proxy.control import CLOSE_SECONDS
from proxy.doors import Doors
from proxy.gate import Gate, Past, Session, SessionSpec
from proxy.handover import Heirloom, NotHandedOver, take
from proxy.predecessor import Predecessor
from proxy.refusal import Refused
from proxy.successor import Successor

log = logging.getLogger(__name__)


class Bequest(Protocol):
    """The process as its succession needs it."""

    gate: Gate

    def retire(self) -> None:
        """Serve no new connections; end when the last one has ended."""

    async def finish_files(self, session: Session) -> None:
        """Close the WARC files that the session wrote to."""


class Succession:
    """Both neighbours of a process in time. Without a supervisor there are none, and every method does nothing."""

    def __init__(
        self, process: Bequest, doors: Doors, *, before: socket.socket | None, after: socket.socket | None
    ) -> None:
        self.has_retired = False
        self._process = process
        self._doors = doors
        self._before = before
        self._predecessor = Predecessor(before) if before is not None else None
        self._successor = Successor(after, self) if after is not None else None

    async def begin(self) -> None:
        """Take what the predecessor has, if there is one that answers."""
        if self._before is not None and self._predecessor is not None:
            try:
                heirlooms = await asyncio.get_running_loop().run_in_executor(None, take, self._before)
            except NotHandedOver as error:
                log.warning("nothing was handed over: %s", error)
                self._predecessor = None
            else:
                await self._doors.inherit(heirlooms)
                self._before.setblocking(False)
                await self._predecessor.start()
        if self._successor is not None:
            await self._successor.start()

    @property
    def has_predecessor(self) -> bool:
        """Whether there still is a process before this one."""
        return self._predecessor is not None and self._predecessor.is_there

    async def tell(self, verb: str, session: Session, **facts: Any) -> None:
        """Let the predecessor do as told about a session, and learn what it has counted of it."""
        if self._predecessor is None:
            return
        seconds = CLOSE_SECONDS if verb == "finish" else 10.0
        said = await self._predecessor.ask(verb, session.id, seconds=seconds, **facts)
        session.past = Past.of(said) if said else replace(session.past, in_flight=0)

    async def end(self) -> None:
        """Say good-bye to both: everything here has ended."""
        if self._successor is not None:
            for session in self._process.gate.sessions.values():
                await self.tell("report", session)
            told = {session.id: session.told() for session in self._process.gate.sessions.values()}
            await self._successor.leave(told if self.has_retired else {})
        if self._predecessor is not None:
            self._predecessor.close()

    def hand_over(self) -> list[Heirloom]:
        """As `successor.Retiring` says."""
        if self.has_retired:
            raise OSError("everything was handed over before")
        self.has_retired = True
        heirlooms = self._doors.bequeath()
        self._process.retire()
        return heirlooms

    async def said_of(self, verb: str, session: str, facts: dict[str, Any]) -> dict[str, Any]:
        """As `successor.Retiring` says; asked of the process before this one as well."""
        gate = self._process.gate
        if verb == "open":
            try:
                self._doors.adopt(facts["given"], session, facts["token"])
            except Refused as error:  # by the settings of this process, which may be older
                log.warning("session %s is not served on connections of before: %s", session, error)
        found = gate.sessions.get(session)
        if found is None:
            return {}
        if verb == "change":
            found.given, found.spec = facts["given"], SessionSpec.from_json(facts["given"])
        more = {name: facts[name] for name in ("given", "token", "files") if name in facts}
        await self.tell(verb, found, **more)
        if verb == "finish":
            await found.until_idle(CLOSE_SECONDS)
            await self._doors.close_session(found)
            if facts.get("files"):
                await self._process.finish_files(found)
        return found.told()
