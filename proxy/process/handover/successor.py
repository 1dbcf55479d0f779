"""The process that will take this one's place: gets everything when it asks, and is told of what is still under way."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

from proxy.handover import LINE_LIMIT, Heirloom, give, line

log = logging.getLogger(__name__)


class Retiring(Protocol):
    """What a successor asks of the process before it."""

    def hand_over(self) -> list[Heirloom]:
        """Listen no more, and give everything away."""

    async def said_of(self, verb: str, session: str, facts: dict[str, Any]) -> dict[str, Any]:
        """Do as told about a session, and report what was counted of it here."""


class Successor:
    """Our end of the link. Nothing happens on it until there is a successor, which is never for most processes."""

    def __init__(self, stream: socket.socket, process: Retiring) -> None:
        self._stream = stream
        self._raw = stream.dup()
        self._process = process
        self._writer: asyncio.StreamWriter | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen to it from now on."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._stream, limit=LINE_LIMIT)
        self._run(self._listen(reader))

    async def leave(self, reports: dict[str, dict[str, Any]]) -> None:
        """Everything here has ended: the last of what was counted, by session."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.write(line({"last_words": reports}))
                await self._writer.drain()
        self.close()

    def close(self) -> None:
        """Hear it no more."""
        for task in self._tasks:
            task.cancel()
        self._raw.close()
        if self._writer is not None:
            self._writer.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError, ValueError):
            while text := await reader.readline():
                asked = json.loads(text)
                if asked["do"] == "take":
                    await self._give(self._process.hand_over())
                else:
                    self._run(self._answer(asked))

    async def _give(self, heirlooms: Iterable[Heirloom]) -> None:
        everything = list(heirlooms)
        try:
            await asyncio.get_running_loop().run_in_executor(None, give, self._raw, everything)
        except OSError as error:
            log.error("the sessions could not be handed over: %s", error)
        finally:
            for heirloom in everything:
                if heirloom.listener is not None:
                    heirloom.listener.close()

    async def _answer(self, asked: dict[str, Any]) -> None:
        report = await self._process.said_of(asked["do"], asked["session"], asked)
        if self._writer is not None:
            self._writer.write(line({"n": asked["n"], "report": report}))

    def _run(self, steps: Any) -> None:
        task = asyncio.get_running_loop().create_task(steps)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
