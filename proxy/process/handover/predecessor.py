"""The process that this one replaced finishes its exchanges. This process asks it about sessions that both serve."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from proxy.process.handover_messages import LINE_LIMIT, SessionCommand, line
from proxy.sessions.session import SessionReport

log = logging.getLogger(__name__)

_ANSWER_SECONDS: Final = 10.0


class Predecessor:
    """The link to the old process carries commands about sessions and the old process's reports."""

    def __init__(self, stream: socket.socket) -> None:
        self.is_there = True
        """The old process still has exchanges in progress."""
        self.final_reports: Mapping[str, SessionReport] = {}
        """The counts of the old process when it ended, by session id."""
        self._stream = stream
        self._writer: asyncio.StreamWriter | None = None
        self._answers: dict[int, asyncio.Future[SessionReport | None]] = {}
        self._numbers = itertools.count()
        self._listening: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the old process's messages from now on."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._stream, limit=LINE_LIMIT)
        self._listening = asyncio.get_running_loop().create_task(self._listen(reader))

    async def ask(self, command: SessionCommand, *, seconds: float = _ANSWER_SECONDS) -> SessionReport | None:
        """Return the report of the old process after it has carried out the command.

        None when the old process has ended without a report, does not answer, or never knew the session.
        """
        if not self.is_there or self._writer is None:
            return self.final_reports.get(command.session_id)
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._writer.write(line({"n": number, **command.to_json()}))
        try:
            return await asyncio.wait_for(answer, seconds) or self.final_reports.get(command.session_id)
        except TimeoutError:
            text = "the previous process did not answer about session %s within %.0f s"
            log.warning(text, command.session_id, seconds)
            return None
        finally:
            self._answers.pop(number, None)

    def close(self) -> None:
        """Close the link."""
        if self._listening is not None:
            self._listening.cancel()
        if self._writer is not None:
            self._writer.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError, ValueError):
            while text := await reader.readline():
                message = json.loads(text)
                if "last_words" in message:
                    reports = message["last_words"].items()
                    self.final_reports = {session: SessionReport.from_json(report) for session, report in reports}
                elif (answer := self._answers.get(message["n"])) is not None and not answer.done():
                    report = message["report"]
                    answer.set_result(SessionReport.from_json(report) if report else None)
        self.is_there = False
        for answer in self._answers.values():
            if not answer.done():
                answer.set_result(None)
