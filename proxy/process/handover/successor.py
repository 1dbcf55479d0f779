"""The process that will replace this one asks for this process's state, then for reports about its sessions."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from proxy.process.handover_messages import (
    LINE_LIMIT,
    HandedOver,
    SessionCommand,
    asks_for_state,
    line,
    send_state,
)
from proxy.sessions.session import SessionReport

log = logging.getLogger(__name__)


class Retiring(Protocol):
    """A successor asks this of the process before it."""

    def export_state(self) -> list[HandedOver]:
        """Stop listening, and return all sessions and listening sockets."""

    async def execute(self, command: SessionCommand) -> SessionReport | None:
        """Carry the command out, and return what this process has counted of the session; None when it is unknown."""


class Successor:
    """This process's end of the link. Most processes are never replaced: nothing happens on their link."""

    def __init__(self, stream: socket.socket, process: Retiring) -> None:
        self._stream = stream
        self._raw = stream.dup()
        self._process = process
        self._writer: asyncio.StreamWriter | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Read the new process's messages from now on."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._stream, limit=LINE_LIMIT)
        self._run(self._listen(reader))

    async def send_final_reports(self, reports: Mapping[str, SessionReport]) -> None:
        """Send the last reports by session id, and close the link: all exchanges of this process have ended.

        The lists of exchanges are left out when they are too long for one line.
        """
        if self._writer is not None:
            message = _last_words(reports)
            if len(message) > LINE_LIMIT:
                short = {
                    name: replace(report, exchanges=report.exchanges.emptied()) for name, report in reports.items()
                }
                message = _last_words(short)
            with suppress(OSError):
                self._writer.write(message)
                await self._writer.drain()
        self.close()

    def close(self) -> None:
        """Close the link."""
        for task in self._tasks:
            task.cancel()
        self._raw.close()
        if self._writer is not None:
            self._writer.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError, ValueError):
            while text := await reader.readline():
                message = json.loads(text)
                if asks_for_state(message):
                    await self._send_state(self._process.export_state())
                else:
                    self._run(self._answer(message))

    async def _send_state(self, items: Iterable[HandedOver]) -> None:
        everything = list(items)
        try:
            await asyncio.get_running_loop().run_in_executor(None, send_state, self._raw, everything)
        except OSError as error:
            log.error("the sessions could not be handed over: %s", error)
        finally:
            for item in everything:
                if item.listener is not None:
                    item.listener.close()

    async def _answer(self, message: Mapping[str, Any]) -> None:
        report = await self._process.execute(SessionCommand.from_json(message))
        if self._writer is not None:
            value = report.handover_json() if report is not None else {}
            self._writer.write(line({"n": message["n"], "report": value}))

    def _run(self, steps: Any) -> None:
        task = asyncio.get_running_loop().create_task(steps)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _last_words(reports: Mapping[str, SessionReport]) -> bytes:
    return line({"last_words": {session: report.handover_json() for session, report in reports.items()}})
